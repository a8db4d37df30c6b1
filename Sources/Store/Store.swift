// Store: to come.
