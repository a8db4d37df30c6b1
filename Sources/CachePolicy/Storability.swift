// Whether a response may be stored, and if not, why.
public import HTTPMessage

/// Why a response is not stored, as `Cache-Status` details, the access log and metrics spell it.
public enum RefusalReason: String, CaseIterable, Sendable {
  /// The method is not GET.
  case method = "method"
  /// A GET with content, which may mean anything (RFC 9110 §9.3.1).
  case requestBody = "request-body"
  /// The client forbids it (RFC 9111 §5.2.1.5).
  case requestNoStore = "request-no-store"
  /// The status code is never stored.
  case status = "status"
  /// A 206 without one readable Content-Range, multipart/byteranges among them.
  case partialUnreadable = "partial-unreadable"
  /// A 206 to a request without Range.
  case partialUnasked = "partial-unasked"
  /// `must-understand` with a status code whose rules are not implemented (RFC 9111 §5.2.2.3).
  case mustUnderstand = "must-understand"
  case noStore = "no-store"
  case isPrivate = "private"
  /// The request had Authorization, and nothing in the response allows sharing (RFC 9111 §3.5).
  case authorization = "authorization"
  /// `Vary: *` never matches a second request (RFC 9111 §4.1).
  case varyStar = "vary-star"
  /// Vary has a member that is no field name, so that it is not known what the response depends on.
  case varyUnreadable = "vary-unreadable"
  /// Nothing says that the status may be stored: no explicit freshness, and not heuristically cacheable.
  case noFreshness = "no-freshness"
  /// It sets a cookie, and the settings say that such a response is its client's alone.
  case setCookie = "set-cookie"
  /// It could never be reused: no freshness lifetime, and no validator.
  case notReusable = "not-reusable"
  /// A quote in Cache-Control delimits no argument, so that directives cannot be told from text.
  case cacheControlUnreadable = "cache-control-unreadable"
}

/// Whether a response may be stored by this shared cache (RFC 9111 §3).
public enum StoringDecision: Sendable {
  /// What to keep, and what it says of its reuse.
  case store(StoredResponse, ReuseTerms)
  case refuse(RefusalReason)
}

/// Decides whether a response may be stored, and makes what is stored of it: a response is read once.
///
/// - Parameter request: the one that went upstream, with the Range that a fill added.
/// - Parameter responseTime: when the head was received.
public func storing(
  _ response: ResponseHead, to request: RequestHead, requestTime: Timestamp, responseTime: Timestamp,
  rules: CacheRules = .standard
) -> StoringDecision {
  if let reason = refusal(of: request) { return .refuse(reason) }
  let control = ResponseCacheControl(response.fields, rules)
  if let reason = refusal(of: response, control, to: request, rules) { return .refuse(reason) }
  let stored = StoredResponse(
    storing: response, control, to: request, requestTime: requestTime, responseTime: responseTime)
  guard isMarkedCacheable(response, control) else { return .refuse(.noFreshness) }
  // What has come stale may be asked for as it is, by a client that accepts it or where the origin fails (§4.2.4).
  let terms = ReuseTerms(stored, control, rules: rules)
  let state = terms.freshness(at: responseTime)
  let outlives = [control.staleWhileRevalidate, control.staleIfError].contains { $0.map { $0 > 0 } == true }
  let isReusable = (state.lifetime > 0 || outlives) && !control.requiresValidation
  // RFC 9111 §3, last note: what can be neither served nor validated is not worth storing.
  guard isReusable || validator(of: stored.fields, responseTime: responseTime) != .none else {
    return .refuse(.notReusable)
  }
  return .store(stored, terms)
}

private func refusal(of request: RequestHead) -> RefusalReason? {
  guard request.method == .get else { return .method }
  let hasContent =
    request.fields.contains(.transferEncoding)
    || request.fields.all(.contentLength).contains { $0.decimal != 0 }
  if hasContent { return .requestBody }
  return RequestCacheControl(request.fields).noStore ? .requestNoStore : nil
}

private func refusal(
  of response: ResponseHead, _ control: ResponseCacheControl, to request: RequestHead, _ rules: CacheRules
) -> RefusalReason? {
  if StatusRules.isNeverStored(response.status) { return .status }
  if response.status == 206, let reason = refusal(ofPartial: response, to: request) { return reason }
  if control.isUnreadable { return .cacheControlUnreadable }
  if control.mustUnderstand {
    // §5.2.2.3: no-store is only for caches that do not know this directive.
    guard StatusRules.isUnderstood(response.status) else { return .mustUnderstand }
  } else if control.noStore {
    return .noStore
  }
  if control.forbidsSharedStoring { return .isPrivate }
  if request.fields.contains(.authorization), !allowsSharing(control) { return .authorization }
  if !rules.storesSetCookie, response.fields.contains(.setCookie) { return .setCookie }
  let nominations = response.fields.listMembers(.vary)
  if nominations.contains("*") { return .varyStar }
  return nominations.contains { FieldName($0) == nil } ? .varyUnreadable : nil
}

private func refusal(ofPartial response: ResponseHead, to request: RequestHead) -> RefusalReason? {
  // RFC 9110 §15.3.7: a 206 answers a range request; one that does not cannot be trusted.
  guard request.fields.contains(.range) else { return .partialUnasked }
  guard response.fields.count(of: .contentRange) == 1, let value = response.fields.first(.contentRange),
    case .satisfied = ContentRange.parse(value)
  else { return .partialUnreadable }
  return nil
}

/// Whether a response to POST may answer later requests for its target: it has explicit freshness, and names the target
/// as what it is a representation of (RFC 9110 §9.3.3). `storing` decides the rest, as for a response to GET.
public func answersLaterGet(
  _ response: ResponseHead, to method: Method, target: TargetURI, rules: CacheRules = .standard
) -> Bool {
  guard method == .post, response.status == 200, response.fields.count(of: .contentLocation) == 1,
    let location = response.fields.first(.contentLocation).flatMap({ target.resolving($0.string) }),
    CacheKey(location) == CacheKey(target)
  else { return false }
  return hasExplicitFreshness(response, ResponseCacheControl(response.fields, rules))
}

/// RFC 9111 §3.5.
private func allowsSharing(_ control: ResponseCacheControl) -> Bool {
  control.isPublic || control.mustRevalidate || control.sMaxAge != nil
}

/// RFC 9111 §3, last requirement.
private func isMarkedCacheable(_ response: ResponseHead, _ control: ResponseCacheControl) -> Bool {
  control.isPublic || hasExplicitFreshness(response, control)
    || StatusRules.isHeuristicallyCacheable(response.status)
}

/// Whether the response itself states how long it is fresh (RFC 9111 §4.2).
private func hasExplicitFreshness(_ response: ResponseHead, _ control: ResponseCacheControl) -> Bool {
  control.maxAge != nil || control.sMaxAge != nil || (response.fields.contains(.expires) && !control.isTargeted)
}
