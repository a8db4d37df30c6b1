// Diagnostics: to come.
