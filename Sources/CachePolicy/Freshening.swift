// What a later response changes in a stored one.
public import HTTPMessage

/// Which of the stored responses a 304 is about (RFC 9111 §4.3.4).
///
/// `stored` are those that the validation request named and that could have been chosen for it. A 304 without any
/// validator, in answer to a condition about one stored response, is about that one: it can be about nothing else,
/// and common servers leave the validators out.
public func freshened(by notModified: ResponseHead, among stored: [StoredResponse], now: Timestamp) -> [Int] {
  let new = validator(of: notModified.fields, responseTime: now)
  func mostRecent(_ matching: [Int]) -> [Int] {
    matching.max { stored[$1].isMoreRecent(than: stored[$0]) }.map { [$0] } ?? []
  }
  switch new {
  case .strongTag(let tag):
    return stored.indices.filter { entityTag(of: stored[$0].fields)?.strongMatches(tag) == true }
  case .strongDate(let date):
    return stored.indices.filter { lastModified(of: stored[$0].fields, now: now) == date }
  case .weakTag(let tag):
    return mostRecent(stored.indices.filter { entityTag(of: stored[$0].fields)?.weakMatches(tag) == true })
  case .weakDate(let date):
    return mostRecent(stored.indices.filter { lastModified(of: stored[$0].fields, now: now) == date })
  case .none:
    return stored.count == 1 ? [0] : []
  }
}

/// A stored response updated by a 304, or by a 206 that was found to be part of it (RFC 9111 §3.2, §3.4, §4.3.4).
///
/// Every field of the new response replaces the stored lines of its name, except
/// - those that may not be stored (§3.1),
/// - Content-Length (§3.2), Content-Range, and what describes the octets that are stored: Content-Encoding, and of a
///   206 also Content-Type, which may be multipart/byteranges,
/// - ETag and Last-Modified: they name the octets that are stored, and only the response that brought these may.
///
/// The age begins anew: without an Age in the new response the stored one goes, and without a Date the time of
/// receipt is put in. Fields that Vary nominates newly are taken from `request`, which the new response answers.
public func updated(
  _ stored: StoredResponse, with response: ResponseHead, to request: RequestHead, requestTime: Timestamp,
  responseTime: Timestamp, rules: CacheRules = .standard
) -> StoredResponse {
  var incoming = StoredResponse.storableFields(of: response.fields, ResponseCacheControl(response.fields, rules))
  incoming.removeAll { name, _ in
    neverUpdated.contains(name) || (response.status == 206 && (name == .contentType || name.isOfPartsOnly))
  }
  if !incoming.contains(.date) { incoming.append(.date, HTTPDate.format(responseTime)) }
  var result = stored
  result.requestTime = requestTime
  result.responseTime = responseTime
  let replaced = Set(incoming.map(\.name)).union([.age])
  result.fields.removeAll { name, _ in replaced.contains(name) }
  result.fields.append(contentsOf: incoming)
  // What the new response forbids to store goes, wherever it came from.
  result.fields = StoredResponse.storableFields(of: result.fields, ResponseCacheControl(result.fields, rules))
  let known = Dictionary(stored.nominated.map { ($0.name, $0) }) { first, _ in first }
  result.nominated = NominatedField.nominated(by: result.fields, in: request.fields).map { known[$0.name] ?? $0 }
  return result
}

/// A stored response as the one that answers `request` too: the origin has chosen it for that by a 304 (RFC 9111 §4.1,
/// §4.3.4), so that the request selects it from now on.
public func chosen(_ stored: StoredResponse, for request: RequestHead) -> StoredResponse {
  var result = stored
  result.nominated = NominatedField.nominated(by: stored.fields, in: request.fields)
  return result
}

/// Whether a stored response may still be stored after a later one has updated it: that may have said `no-store`,
/// `private`, or `Vary: *` (RFC 9111 §3).
public func mayStayStored(_ updated: StoredResponse, rules: CacheRules = .standard) -> Bool {
  let control = ResponseCacheControl(updated.fields, rules)
  return !control.forbidsStoring && !control.forbidsSharedStoring && !control.isUnreadable
    && !updated.fields.hasListMember(.vary, "*")
}

/// Whether a response that is not stored says that a stored one, on account of which the origin was asked, is out of date
/// (RFC 9111 §4.3.3): a full response does. A part is none, and does so only where it states another validator or another
/// length of the whole.
///
/// - Parameter total: the length of what is stored; nil while unknown.
public func outdates(_ stored: StoredResponse, total: UInt64?, by response: ResponseHead) -> Bool {
  guard response.status == 206 else { return response.status < 300 }
  if let value = response.fields.first(.contentRange),
    case .satisfied(_, _, .some(let stated)) = ContentRange.parse(value), let total, stated != total
  {
    return true
  }
  if let tag = entityTag(of: response.fields), let storedTag = entityTag(of: stored.fields) {
    return !tag.weakMatches(storedTag)
  }
  guard let modified = onlyValue(response.fields, .lastModified),
    let storedModified = onlyValue(stored.fields, .lastModified)
  else { return false }
  return modified != storedModified
}

/// The digests among them are of the content that came with them, which is not what is stored (RFC 9530 §2).
private let neverUpdated: Set<FieldName> = [
  .contentLength, .contentRange, .contentEncoding, .contentDigest, .contentMD5, .etag, .lastModified,
]

/// What the response to a HEAD says about a stored response to GET.
public enum HeadUpdate: Equatable, Sendable {
  /// It still holds, with these fields.
  case updated(StoredResponse)
  /// The representation has changed, or so it seems: the stored response is out of date from now on, and its next
  /// validation tells.
  case outdated(StoredResponse)
  /// It still holds, and must not stay stored.
  case forbidden
  /// The response is not a 200 and says nothing.
  case unaffected
}

/// Compares a response to HEAD with a stored response that the same request could have chosen (RFC 9111 §4.3.5).
public func updated(
  _ stored: StoredResponse, withHead response: ResponseHead, to request: RequestHead, requestTime: Timestamp,
  responseTime: Timestamp, rules: CacheRules = .standard
) -> HeadUpdate {
  guard response.status == 200, stored.status == 200 else { return .unaffected }
  let received: [FieldName] = [.etag, .lastModified, .contentLength]
  // A stored response that came in chunks has no length to compare: a strong tag says more than that anyway.
  let (tag, storedTag) = (entityTag(of: response.fields), entityTag(of: stored.fields))
  let hasSameTag = tag.map { storedTag?.strongMatches($0) == true } == true
  let isSame = received.allSatisfy { name in
    !response.fields.contains(name) || Set(response.fields.all(name)) == Set(stored.fields.all(name))
      || (name == .contentLength && !stored.fields.contains(name) && hasSameTag)
  }
  guard isSame else { return .outdated(outdated(stored, now: responseTime, rules: rules)) }
  let result = updated(
    stored, with: response, to: request, requestTime: requestTime, responseTime: responseTime, rules: rules)
  return mayStayStored(result, rules: rules) ? .updated(result) : .forbidden
}

/// A stored response that is no longer fresh, whatever it says itself. It keeps its validators and octets: those that
/// answer HEAD otherwise than GET are many, and a 304 makes it fresh again. Its Age says as much as its lifetime.
private func outdated(_ stored: StoredResponse, now: Timestamp, rules: CacheRules) -> StoredResponse {
  let found = ReuseTerms(stored, rules: rules).freshness(at: now)
  guard found.isFresh else { return stored }
  var result = stored
  result.fields.set(.age, FieldValue(found.lifetime))
  return result
}
