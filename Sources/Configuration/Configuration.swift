// Configuration: to come.
