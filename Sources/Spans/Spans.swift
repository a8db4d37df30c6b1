// Spans: to come.
