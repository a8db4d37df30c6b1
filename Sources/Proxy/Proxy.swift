// Proxy: to come.
