// Fill: to come.
