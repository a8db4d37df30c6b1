// Whether a response may be stored, and if not, why.
public import HTTPMessage

/// Whether a response may be stored by this shared cache (RFC 9111 §3).
public enum Storability: Equatable, Sendable {
  case store
  case refuse(RefusalReason)
}

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
  /// It could never be reused: no freshness left on arrival, and no validator.
  case notReusable = "not-reusable"
  /// A quote in Cache-Control delimits no argument, so that directives cannot be told from text.
  case cacheControlUnreadable = "cache-control-unreadable"
}

/// Decides whether the response to a request may be stored. `request` is the one that went upstream (with the Range
/// that a fill added), and `now` is when the response head was received.
public func storability(
  of response: ResponseHead, to request: RequestHead, now: Timestamp, rules: FreshnessRules = .standard
) -> Storability {
  if let reason = refusal(of: request) { return .refuse(reason) }
  if let reason = refusal(of: response, to: request) { return .refuse(reason) }
  let stored = StoredResponse(storing: response, to: request, requestTime: now, responseTime: now)
  let control = ResponseCacheControl(response.fields)
  guard isMarkedCacheable(response, control) else { return .refuse(.noFreshness) }
  let isReusable = freshness(of: stored, control, now: now, rules: rules).isFresh && !control.requiresValidation
  // RFC 9111 §3, last note: what can be neither served nor validated is not worth storing.
  guard isReusable || validator(of: stored.fields, responseTime: now) != .none else { return .refuse(.notReusable) }
  return .store
}

private func refusal(of request: RequestHead) -> RefusalReason? {
  guard request.method == .get else { return .method }
  let hasContent =
    request.fields.contains(.transferEncoding)
    || request.fields.all(.contentLength).contains { $0.decimal != 0 }
  if hasContent { return .requestBody }
  return RequestCacheControl(request.fields).noStore ? .requestNoStore : nil
}

private func refusal(of response: ResponseHead, to request: RequestHead) -> RefusalReason? {
  if StatusRules.isNeverStored(response.status) { return .status }
  if response.status == 206, let reason = refusal(ofPartial: response, to: request) { return reason }
  let control = ResponseCacheControl(response.fields)
  if control.isUnreadable { return .cacheControlUnreadable }
  if control.mustUnderstand {
    // §5.2.2.3: no-store is only for caches that do not know this directive.
    guard StatusRules.isUnderstood(response.status) else { return .mustUnderstand }
  } else if control.noStore {
    return .noStore
  }
  if control.forbidsSharedStoring { return .isPrivate }
  if request.fields.contains(.authorization), !allowsSharing(control) { return .authorization }
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

/// RFC 9111 §3.5.
private func allowsSharing(_ control: ResponseCacheControl) -> Bool {
  control.isPublic || control.mustRevalidate || control.sMaxAge != nil
}

/// RFC 9111 §3, last requirement.
private func isMarkedCacheable(_ response: ResponseHead, _ control: ResponseCacheControl) -> Bool {
  control.isPublic || control.maxAge != nil || control.sMaxAge != nil || response.fields.contains(.expires)
    || StatusRules.isHeuristicallyCacheable(response.status)
}
