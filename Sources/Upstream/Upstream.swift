// Upstream: to come.
