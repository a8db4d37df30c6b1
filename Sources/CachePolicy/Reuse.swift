// Whether a stored response may answer a request without asking the origin.
public import HTTPMessage

/// What to do with a stored response whose key and nominated fields fit a request (RFC 9111 §4).
public enum ReuseDecision: Equatable, Sendable {
  /// Serve it with this Age. `ttl` is 0 or less for a stale response that the client accepts.
  case serve(age: Int64, ttl: Int64)
  /// Ask the origin whether it still holds.
  case validate(ValidationReason)
  /// Do not use it at all: the method has no use for it.
  case forward(ForwardReason)
  /// Answer 504: the client wants no request to go upstream (RFC 9111 §5.2.1.7).
  case onlyIfCachedUnsatisfied
}

/// Why a stored response is validated before use.
public enum ValidationReason: String, CaseIterable, Sendable {
  case stale = "stale"
  /// The response says no-cache.
  case noCache = "no-cache"
  /// The request says no-cache, or Pragma does.
  case requestNoCache = "request-no-cache"
  case requestMaxAge = "request-max-age"
  case requestMinFresh = "request-min-fresh"

  /// How Cache-Status spells it (RFC 9211 §2.2): whether the response or the request is the cause.
  public var forwardReason: ForwardReason {
    switch self {
    case .stale, .noCache: .stale
    case .requestNoCache, .requestMaxAge, .requestMinFresh: .request
    }
  }
}

/// Decides whether a stored response that `selectVariant` chose, and that says this of its reuse, may answer the
/// request at `now`.
public func reuse(_ terms: ReuseTerms, for request: RequestHead, now: Timestamp) -> ReuseDecision {
  guard request.method == .get || request.method == .head else { return .forward(.method) }
  let asked = RequestCacheControl(request.fields)
  let state = terms.freshness(at: now)
  guard let reason = validationReason(terms.control, asked, state) else {
    return .serve(age: state.age, ttl: state.timeToLive)
  }
  return asked.onlyIfCached ? .onlyIfCachedUnsatisfied : .validate(reason)
}

private func validationReason(
  _ control: ResponseCacheControl, _ asked: RequestCacheControl, _ state: Freshness
) -> ValidationReason? {
  if control.requiresValidation { return .noCache }
  if asked.noCache { return .requestNoCache }
  // RFC 8246 §2: while fresh, an immutable response is validated only where the client says no-cache.
  let isImmutable = control.immutable && state.isFresh
  // §5.2.1.1. Zero is how clients ask for validation, so that a response of age 0 is not spared.
  if let maxAge = asked.maxAge, state.age > maxAge || maxAge == 0, !isImmutable { return .requestMaxAge }
  if let minFresh = asked.minFresh, state.timeToLive < minFresh { return .requestMinFresh }
  if state.isFresh || isAccepted(staleBy: -state.timeToLive, asked.maxStale, control) { return nil }
  return .stale
}

/// RFC 9111 §5.2.1.2, within §4.2.4.
private func isAccepted(
  staleBy seconds: Int64, _ maxStale: RequestCacheControl.MaxStale?, _ control: ResponseCacheControl
) -> Bool {
  if control.forbidsStaleReuse { return false }
  switch maxStale {
  case .any: return true
  case .seconds(let limit): return seconds <= limit
  case nil: return false
  }
}
