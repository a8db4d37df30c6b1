// HTTPMessage: to come.
