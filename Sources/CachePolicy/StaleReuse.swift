// When a stale response may be served because asking the origin fails or takes its time.
public import HTTPMessage

/// What speaks for serving a stale response.
public enum StaleOccasion: Equatable, Sendable {
  /// The origin answered 500, 502, 503 or 504, or the request failed (RFC 5861 §4).
  case error
  /// A validation of it is under way for others (RFC 5861 §3).
  case revalidating
  /// The operator has declared the cache disconnected (RFC 9111 §4.2.4).
  case disconnected

  /// Whether a status counts as an error of the origin (RFC 5861 §4).
  public static func isFailure(_ status: Int) -> Bool {
    switch status {
    case 500, 502, 503, 504: true
    default: false
    }
  }
}

/// Whether a stale stored response that says this of its reuse may answer the request on this occasion.
///
/// Never against `must-revalidate`, `proxy-revalidate`, `s-maxage` or `no-cache` (RFC 9111 §4.2.4). What the request
/// demands counts unless the cache is disconnected: then there is nobody whom it could be asked of (§5.2.1 makes it
/// advice).
public func mayServeStale(
  _ terms: ReuseTerms, for request: RequestHead, on occasion: StaleOccasion, now: Timestamp
) -> Bool {
  let control = terms.control
  let asked = RequestCacheControl(request.fields)
  let state = terms.freshness(at: now)
  if control.forbidsStaleReuse { return false }
  let isDemanding = asked.noCache || asked.minFresh != nil || asked.maxAge.map { state.age > $0 } == true
  let staleness = -state.timeToLive
  switch occasion {
  case .error:
    let unsaid = terms.rules.staleIfError > 0 ? terms.rules.staleIfError : nil
    let limits = control.staleIfError.map { [$0, asked.staleIfError] } ?? [unsaid, asked.staleIfError]
    return !isDemanding && limits.contains { limit in limit.map { staleness <= $0 } == true }
  case .revalidating:
    return !isDemanding && control.staleWhileRevalidate.map { staleness <= $0 } == true
  case .disconnected:
    return true
  }
}
