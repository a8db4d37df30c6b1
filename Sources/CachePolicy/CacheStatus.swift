// How this cache handled a request, as a member of the Cache-Status field (RFC 9211).
public import HTTPMessage

/// Why a request went forward (RFC 9211 §2.2).
public enum ForwardReason: String, CaseIterable, Sendable {
  /// The cache is configured not to handle such requests.
  case bypass = "bypass"
  /// The method has to go forward.
  case method = "method"
  /// Nothing is stored under the URI.
  case uriMiss = "uri-miss"
  /// Something is stored under the URI, but Vary does not let it answer this request.
  case varyMiss = "vary-miss"
  /// Nothing usable is stored, and it is not known which of the two it is.
  case miss = "miss"
  /// A fresh response is stored, but the request does not allow its use.
  case request = "request"
  /// A response is stored, but it is stale.
  case stale = "stale"
  /// A response is stored, but not all of what was asked.
  case partial = "partial"
}

/// One member of Cache-Status. Parameters that only mean something beside `fwd` cannot be set without it.
public struct CacheStatus: Equatable, Sendable {
  public enum Handling: Equatable, Sendable {
    /// Answered from the cache without going forward (§2.1).
    case hit
    /// Gone forward. `status` is the next hop's where it differs from the one sent (§2.3); `stored` whether the
    /// response was stored (§2.5); `collapsed` is nil where nobody tried (§2.6).
    case forwarded(ForwardReason, status: Int? = nil, stored: Bool = false, collapsed: Bool? = nil)
    /// Answered by this proxy itself: neither from the cache nor by the next hop (an error, a refusal).
    case local
  }

  public var handling: Handling
  /// Remaining freshness in seconds; negative when stale (§2.4).
  public var ttl: Int64?
  /// The cache key (§2.7).
  public var key: String?
  /// One of our named reasons (§2.8).
  public var detail: String?

  /// Why the request was forwarded; nil where it was not.
  public var forwardReason: ForwardReason? {
    switch handling {
    case .forwarded(let reason, _, _, _): reason
    case .hit, .local: nil
    }
  }

  public init(_ handling: Handling, ttl: Int64? = nil, key: String? = nil, detail: String? = nil) {
    self.handling = handling
    self.ttl = ttl
    self.key = key
    self.detail = detail
  }

  /// Without the next hop's status where it is the one that is sent (§2.3).
  public func sent(as status: Int) -> CacheStatus {
    guard case .forwarded(let reason, .some(status), let stored, let collapsed) = handling else { return self }
    var result = self
    result.handling = .forwarded(reason, status: nil, stored: stored, collapsed: collapsed)
    return result
  }

  /// The member, with the name of this cache.
  public func fieldValue(cache name: CacheName) -> FieldValue {
    var text = StructuredText(name.spelled)
    switch handling {
    case .local:
      break
    case .hit:
      text.append("; hit")
    case .forwarded(let reason, let status, let stored, let collapsed):
      text.append("; fwd=")
      text.append(reason.rawValue)
      if let status { text.append("; fwd-status=", status) }
      if let collapsed { text.append(collapsed ? "; collapsed" : "; collapsed=?0") }
      if stored { text.append("; stored") }
    }
    if let ttl { text.append("; ttl=", ttl) }
    if let key {
      text.append("; key=")
      text.appendString(key)
    }
    if let detail {
      text.append("; detail=")
      text.appendTokenOrString(detail)
    }
    // Structured text is visible ASCII and single spaces only: it is always a field value.
    return FieldValue(checked: text.bytes[...])
  }
}

/// What a cache calls itself in its members (§2), spelled once.
public struct CacheName: Sendable {
  fileprivate let spelled: [UInt8]

  public init(_ name: String) {
    var text = StructuredText([])
    text.appendTokenOrString(name)
    spelled = text.bytes
  }
}

/// Parameters of structured fields (RFC 8941 §4.1), written straight to octets: every response has one of these.
private struct StructuredText {
  private(set) var bytes: [UInt8] = []

  init(_ beginning: [UInt8]) {
    bytes.reserveCapacity(128)
    bytes += beginning
  }

  mutating func append(_ text: String) { bytes += text.utf8 }

  mutating func append(_ name: String, _ number: some FixedWidthInteger) {
    append(name)
    bytes.append(decimal: number)
  }

  mutating func appendTokenOrString(_ text: String) {
    if StructuredText.isToken(text) { append(text) } else { appendString(text) }
  }

  /// Octets that a string cannot hold become "?".
  mutating func appendString(_ text: String) {
    bytes.append(ASCII.quote)
    for byte in text.utf8 {
      if byte == ASCII.quote || byte == ASCII.backslash { bytes.append(ASCII.backslash) }
      bytes.append(byte >= ASCII.space && byte < 0x7F ? byte : UInt8(ascii: "?"))
    }
    bytes.append(ASCII.quote)
  }

  private static func isToken(_ text: String) -> Bool {
    guard let first = text.utf8.first, ASCII.isLetter(first) || first == UInt8(ascii: "*") else { return false }
    return text.utf8.allSatisfy { ASCII.isToken($0) || $0 == ASCII.colon || $0 == UInt8(ascii: "/") }
  }
}
