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

  /// The member, with the name of this cache.
  public func fieldValue(cache name: CacheName) -> FieldValue {
    FieldValue(checked: [UInt8](capacity: most(cache: name)) { write(to: &$0, cache: name) }[...])
  }

  /// The most octets that the member takes.
  package func most(cache name: CacheName) -> Int {
    name.spelled.count + 120 + 2 * ((key?.utf8.count ?? 0) + (detail?.utf8.count ?? 0))
  }

  /// Adds the member to octets, in the form of a field value: visible ASCII and single spaces only.
  ///
  /// - Parameter sent: the status that is sent: the next hop's is told only where it differs (§2.3).
  package func write(to output: inout OutputSpan<UInt8>, cache name: CacheName, sent: Int? = nil) {
    output.append(name.spelled.span.bytes)
    switch handling {
    case .local:
      break
    case .hit:
      output.append("; hit")
    case .forwarded(let reason, let status, let stored, let collapsed):
      output.append("; fwd=")
      output.append(text: reason.rawValue)
      if let status, status != sent {
        output.append("; fwd-status=")
        output.append(decimal: status)
      }
      switch collapsed {
      case true: output.append("; collapsed")
      case false: output.append("; collapsed=?0")
      case nil: break
      }
      if stored { output.append("; stored") }
    }
    if let ttl {
      output.append("; ttl=")
      output.append(decimal: ttl)
    }
    if let key {
      output.append("; key=")
      output.append(string: key)
    }
    if let detail {
      output.append("; detail=")
      output.append(tokenOrString: detail)
    }
  }
}

/// What a cache calls itself in its members (§2), spelled once.
public struct CacheName: Sendable {
  fileprivate let spelled: [UInt8]

  public init(_ name: String) {
    spelled = [UInt8](capacity: 2 + 2 * name.utf8.count) { $0.append(tokenOrString: name) }
  }
}

/// Values of structured fields (RFC 8941 §4.1), written straight to octets: every response has one of these.
extension OutputSpan<UInt8> {
  fileprivate mutating func append(tokenOrString text: String) {
    if Self.isToken(text) { append(text: text) } else { append(string: text) }
  }

  /// Octets that a string cannot hold become "?". Takes at most two for each, and two.
  fileprivate mutating func append(string text: String) {
    append(ASCII.quote)
    for byte in text.utf8 {
      if byte == ASCII.quote || byte == ASCII.backslash { append(ASCII.backslash) }
      append(byte >= ASCII.space && byte < 0x7F ? byte : UInt8(ascii: "?"))
    }
    append(ASCII.quote)
  }

  private static func isToken(_ text: String) -> Bool {
    guard let first = text.utf8.first, ASCII.isLetter(first) || first == UInt8(ascii: "*") else { return false }
    return text.utf8.allSatisfy { ASCII.isToken($0) || $0 == ASCII.colon || $0 == UInt8(ascii: "/") }
  }
}
