// Admin: to come.
