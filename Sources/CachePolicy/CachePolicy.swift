// CachePolicy: to come.
