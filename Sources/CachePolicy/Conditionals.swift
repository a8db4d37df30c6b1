// What a client's own conditions come to when the answer comes from the store.
public import HTTPMessage

/// The outcome of a request's preconditions against the stored response that would answer it.
public enum ConditionalOutcome: Equatable, Sendable {
  /// No condition stands against serving the stored response.
  case serve
  /// Answer 304 with `notModifiedFields`.
  case notModified
  /// Send the request up as it is and relay the answer: only the origin may judge this condition.
  case passUntouched
}

/// Evaluates preconditions in the order of RFC 9110 §13.2.2, as far as they apply to a cache (RFC 9111 §4.3.2).
public func evaluateConditionals(
  of request: RequestHead, against stored: @autoclosure () -> StoredResponse, now: Timestamp
) -> ConditionalOutcome {
  let fields = request.fields
  guard fields.contains(anyOf: conditions) else { return .serve }
  let stored = stored()
  // Steps 1 and 2 are the origin's. Where If-Match holds for the stored response, its condition is met by serving
  // that; where it does not, the answer may be 412, and a cache never makes one up.
  if fields.contains(.ifMatch) {
    guard holds(EntityTagList.parse(fields, .ifMatch), for: stored) else { return .passUntouched }
  } else if fields.contains(.ifUnmodifiedSince) {
    return .passUntouched
  }
  // §13.2.1: conditions do not apply to a response that is not a success; and only GET and HEAD get here.
  guard (200..<300).contains(stored.status) else { return .serve }
  // Step 3.
  if fields.contains(.ifNoneMatch) {
    return isListed(stored, in: EntityTagList.parse(fields, .ifNoneMatch)) ? .notModified : .serve
  }
  // Step 4.
  if let since = modifiedSince(fields, now: now) {
    let modified = lastModified(of: stored.fields, now: stored.responseTime) ?? stored.date
    return modified <= since ? .notModified : .serve
  }
  return .serve
}

private let conditions = FieldNameSet([
  .ifMatch, .ifUnmodifiedSince, .ifNoneMatch, .ifModifiedSince,
])

/// If-Match: strong comparison (RFC 9110 §13.1.1).
private func holds(_ list: EntityTagList?, for stored: StoredResponse) -> Bool {
  guard let list, (200..<300).contains(stored.status) else { return false }
  switch list {
  case .any: return true
  case .tags: return entityTag(of: stored.fields).map(list.strongMatches) == true
  }
}

/// If-None-Match: weak comparison (RFC 9110 §13.1.2). A list that cannot be read matches nothing.
private func isListed(_ stored: StoredResponse, in list: EntityTagList?) -> Bool {
  switch list {
  case .any: true
  case .tags(let tags): entityTag(of: stored.fields).map { tag in tags.contains { $0.weakMatches(tag) } } == true
  case nil: false
  }
}

/// The value of If-Modified-Since; nil unless there is one and it is a date (RFC 9110 §13.1.3).
private func modifiedSince(_ fields: Fields, now: Timestamp) -> Timestamp? {
  guard fields.count(of: .ifModifiedSince) == 1, let value = fields.first(.ifModifiedSince) else { return nil }
  return HTTPDate.parse(value, now: now)
}

/// The stored fields that go into a 304: all but representation metadata that a 304 should not have (RFC 9110 §15.4.5).
///
/// Last-Modified stays where there is no ETag. Age is the caller's, as for every response from the store.
public func notModifiedFields(of stored: StoredResponse) -> Fields {
  var fields = stored.fields
  let hasTag = fields.contains(.etag)
  fields.removeAll { name, _ in omittedFromNotModified.contains(name) || (hasTag && name == .lastModified) }
  return fields
}

private let omittedFromNotModified: Set<FieldName> = [
  .contentType, .contentLength, .contentEncoding, .contentLanguage, .contentRange, .contentMD5, .contentDisposition,
  .contentDigest, .digest, .reprDigest, .acceptRanges,
]
