// Spans: the arithmetic of byte ranges: what is present, what a request asks, and whether a partial answer may be kept.
