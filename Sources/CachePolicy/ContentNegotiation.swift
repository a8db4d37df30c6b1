// Which form of a stored response a client gets: as it is stored, with the gzip coding taken off, or with it put on.
public import HTTPMessage

/// What the owner of the cache wants of content codings.
public struct CodingRules: Equatable, Sendable {
  /// Whether text that is stored without a coding is gzip-coded for those who accept it.
  public var encodes: Bool
  /// The least length of such a text, in bytes.
  public var minimum: UInt64

  public init(encodes: Bool = false, minimum: UInt64 = 1 << 10) {
    self.encodes = encodes
    self.minimum = minimum
  }
}

/// The form in which a stored response is served. Decoding and encoding are transformations (RFC 9110 §7.7), which
/// `no-transform` forbids in the response and in the request.
public enum ServedForm: Equatable, Sendable {
  /// As it is stored.
  case stored
  /// As it is stored, while others may get it encoded.
  case negotiated
  /// With the gzip coding taken off.
  case decoded
  /// With the gzip coding put on.
  case encoded

  /// Whether the content is another than what is stored: then there are no ranges of it.
  public var isTransformed: Bool {
    switch self {
    case .stored, .negotiated: false
    case .decoded, .encoded: true
    }
  }
}

/// The form in which a stored response that the request selects (RFC 9111 §4.1) is served.
///
/// - Parameter isComplete: whether all of it is present.
/// - Parameter length: its length in bytes, if that is known.
/// - Parameter cacheRules: says where the response's directives are looked for.
public func servedForm(
  of stored: StoredResponse, for request: RequestHead, isComplete: @autoclosure () -> Bool,
  length: @autoclosure () -> UInt64?, rules: CodingRules,
  cacheRules: CacheRules = .standard
) -> ServedForm {
  guard stored.fields.contains(.contentEncoding) else {
    guard rules.encodes else { return .stored }
    return encodedForm(of: stored, for: request, isComplete: isComplete(), length: length(), rules, cacheRules)
  }
  guard stored.isGzipCoded, stored.status != 204, let accepted = AcceptedCodings(request.fields),
    accepted.gzip == 0, accepted.identity != 0,
    // RFC 9111 §4.1: it is for requests with the same Accept-Encoding then, which its origin knows how to answer.
    !stored.fields.hasListMember(.vary, "Accept-Encoding"),
    // Who names the stored representation means that and no other.
    !request.fields.contains(.ifMatch), !isGzipFile(stored, request.target),
    !stored.forbidsTransformation(cacheRules), !RequestCacheControl(request.fields).noTransform
  else { return .stored }
  return .decoded
}

private func encodedForm(
  of stored: StoredResponse, for request: RequestHead, isComplete: Bool, length: UInt64?, _ rules: CodingRules,
  _ cacheRules: CacheRules
) -> ServedForm {
  guard stored.status == 200, length.map({ $0 >= rules.minimum }) ?? true, isText(stored.fields),
    !stored.forbidsTransformation(cacheRules)
  else { return .stored }
  guard isComplete, let accepted = AcceptedCodings(request.fields), accepted.gzip > 0,
    accepted.gzip >= accepted.identity ?? 0, !RequestCacheControl(request.fields).noTransform,
    !asksForStored(request, stored)
  else { return .negotiated }
  return .encoded
}

/// Whether a request is about the representation that is stored, by its tag or by its bytes.
private func asksForStored(_ request: RequestHead, _ stored: StoredResponse) -> Bool {
  if request.fields.contains(.ifMatch) { return true }
  // RFC 9110 §14.2: Range is for GET only.
  if request.method == .get, request.fields.contains(.range) { return true }
  guard let tag = entityTag(of: stored.fields) else { return false }
  switch EntityTagList.parse(request.fields, .ifNoneMatch) {
  case .tags(let tags): return tags.contains { $0.weakMatches(tag) }
  case .any, nil: return false
  }
}

/// Whether the file itself is a gzip file, which servers of files often send as if gzip were a coding of it: clients
/// that refuse the coding (wget, pip) want exactly that file.
private func isGzipFile(_ stored: StoredResponse, _ target: RequestTarget) -> Bool {
  if let type = mediaType(of: stored.fields), gzipTypes.contains(type) { return true }
  let path =
    switch target {
    case .absolute(let uri): uri.pathAndQuery.prefix { $0 != "?" }.lowercased()
    case .origin(let text): text.prefix { $0 != "?" }.lowercased()
    case .authority, .asterisk: ""
    }
  return gzipSuffixes.contains { path.hasSuffix($0) }
}

private let gzipSuffixes = [".gz", ".tgz", ".taz", ".svgz"]
private let gzipTypes: Set<String> = [
  "application/gzip", "application/x-gzip", "application/x-tar", "application/x-gtar", "application/x-tgz",
  "application/x-compressed", "application/x-compressed-tar",
]

/// Whether the content is text that gzip makes much smaller.
private func isText(_ fields: Fields) -> Bool {
  guard let type = mediaType(of: fields) else { return false }
  // An event stream is to be read while it comes.
  if type.hasPrefix("text/") { return type != "text/event-stream" }
  return textTypes.contains(type) || type.hasSuffix("+json") || type.hasSuffix("+xml")
}

private let textTypes: Set<String> = [
  "application/json", "application/javascript", "application/x-javascript", "application/ecmascript",
  "application/xml", "application/xml-dtd", "application/yaml", "application/x-yaml", "application/sql",
  "application/toml", "application/x-sh", "application/rtf", "application/x-ndjson", "application/jsonl",
]

/// The media type without its parameters, in lower case; nil where there is not exactly one.
private func mediaType(of fields: Fields) -> String? {
  guard fields.count(of: .contentType) == 1, let value = fields.first(.contentType) else { return nil }
  return String(decoding: ASCII.trimmed(value.bytes.prefix { $0 != UInt8(ascii: ";") }), as: UTF8.self).lowercased()
}

extension StoredResponse {
  /// Whether gzip is its one and only coding.
  fileprivate var isGzipCoded: Bool {
    let codings = fields.listMemberBytes(.contentEncoding)
    return codings.count == 1 && AcceptedCodings.isGzip(codings[0])
  }

  /// RFC 9111 §5.2.2.6. Wherever it is written: a field for caches of one kind does not lift it.
  fileprivate func forbidsTransformation(_ rules: CacheRules) -> Bool {
    ResponseCacheControl(fields).noTransform || ResponseCacheControl(fields, rules).noTransform
  }

  /// The response with the fields that belong to a form of it.
  ///
  /// A transformed one has a weak tag of its own, made from the stored one; it has no length and no digest, which were
  /// of other bytes (RFC 9110 §8.8.1, RFC 9530 §3), and no ranges. Where the form depends on Accept-Encoding, Vary says so.
  public func served(as form: ServedForm) -> StoredResponse {
    var result = self
    switch form {
    case .stored: return self
    case .negotiated: break
    case .decoded:
      result.becomeOther("identity")
      result.fields.remove(.contentEncoding)
    case .encoded:
      result.becomeOther("gzip")
      result.fields.set(.contentEncoding, "gzip")
    }
    // RFC 9110 §12.5.5.
    if !fields.hasListMember(.vary, "Accept-Encoding"), !fields.hasListMember(.vary, "*") {
      let nominated = fields.listMembers(.vary) + ["Accept-Encoding"]
      result.fields.set(.vary, FieldValue(nominated.joined(separator: ", ")) ?? "Accept-Encoding")
    }
    return result
  }

  private mutating func becomeOther(_ coding: String) {
    let tag = entityTag(of: fields)
    let lost: [FieldName] = [
      .contentLength, .contentMD5, .digest, .reprDigest, .contentDigest, .etag,
    ]
    fields.removeAll { name, _ in lost.contains(name) }
    if let tag = tag.flatMap({ EntityTag(isWeak: true, opaque: $0.opaque + ";" + coding) }) {
      fields.set(.etag, tag.fieldValue)
    }
    fields.set(.acceptRanges, "none")
  }
}
