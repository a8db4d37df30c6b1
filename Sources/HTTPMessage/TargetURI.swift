// The URI a request is about (RFC 9110 §7.1).

/// Why a target, or the authority in it, was refused.
public enum TargetError: Error, Equatable, Sendable {
  case unsupportedScheme(String)
  case noAuthority
  case userinfo
  case fragment
  case badHost(String)
  case badPort(String)
  case badByte(UInt8)
  /// A form that this method does not take (RFC 9112 §3.2).
  case wrongForm(String)

  /// The finding in words.
  public var explanation: String {
    switch self {
    case .unsupportedScheme(let scheme): "scheme '\(scheme)' (http and https are understood)"
    case .noAuthority: "no authority in the target URI"
    case .userinfo: "user information ('@') in the authority"
    case .fragment: "a fragment ('#') in the target"
    case .badHost(let what): what
    case .badPort(let what): what
    case .badByte(let byte): "\(ASCII.description(byte)) in the target (percent-encode it)"
    case .wrongForm(let what): what
    }
  }
}

/// An http or https URI without fragment and user information. Path and query are kept as they came.
///
/// A class, as many hold the target of one request: a copy of its texts would be counted for each.
public final class TargetURI: Sendable {
  public let scheme: Scheme
  /// In lower case; an IPv6 address stands without brackets.
  public let host: String
  /// The scheme's default is filled in.
  public let port: UInt16
  /// Begins with "/".
  public let pathAndQuery: String
  /// True when the URI had neither path nor query: OPTIONS then means the server itself (RFC 9112 §3.2.4).
  public let isPathEmpty: Bool
  /// host[:port] as a Host field has it: IPv6 in brackets, the default port left out.
  public let authority: String
  /// The whole URI.
  public let absolute: String

  /// `pathAndQuery` must be one that `parse` or an origin-form target gave.
  public init(scheme: Scheme, host: String, port: UInt16, pathAndQuery: String, isPathEmpty: Bool = false) {
    self.scheme = scheme
    self.host = host
    self.port = port
    self.pathAndQuery = pathAndQuery
    self.isPathEmpty = isPathEmpty
    let bracketed = host.utf8.contains(ASCII.colon) ? "[\(host)]" : host
    authority = port == scheme.defaultPort ? bracketed : bracketed + ":" + String(port)
    absolute = scheme.rawValue + "://" + authority + pathAndQuery
  }

  /// Another resource of the same origin; `pathAndQuery` must be one that `parse` gave.
  init(sameOriginAs other: TargetURI, pathAndQuery: String, absolute: String) {
    self.absolute = absolute
    scheme = other.scheme
    host = other.host
    port = other.port
    authority = other.authority
    self.pathAndQuery = pathAndQuery
    isPathEmpty = false
  }

  /// Reads an absolute http or https URI. Octets of path and query are kept as they are, but only visible ASCII is
  /// taken.
  public static func parse(_ text: String) throws(TargetError) -> TargetURI {
    try parse(Array(text.utf8).span.bytes)
  }

  /// The same for octets.
  public static func parse(_ bytes: RawSpan) throws(TargetError) -> TargetURI {
    let count = bytes.byteCount
    var end = 0
    while end < count, ASCII.isLetter(bytes.byte(at: end)) || (end > 0 && isSchemeByte(bytes.byte(at: end))) {
      end += 1
    }
    guard end > 0, end < count, bytes.byte(at: end) == ASCII.colon else { throw .wrongForm("not an absolute URI") }
    let name = bytes.text(0..<end)
    guard let scheme = Scheme(rawValue: name) ?? Scheme(rawValue: name.lowercased()) else {
      throw .unsupportedScheme(name)
    }
    let start = end + 3
    guard start <= count, bytes.byte(at: end + 1) == UInt8(ascii: "/"), bytes.byte(at: end + 2) == UInt8(ascii: "/")
    else { throw .noAuthority }
    end = start
    while end < count {
      let byte = bytes.byte(at: end)
      if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
      end += 1
    }
    guard end > start else { throw .noAuthority }
    let authority = try Authority.parse(bytes.extracting(start..<end))
    return TargetURI(
      scheme: scheme, host: authority.host, port: authority.port ?? scheme.defaultPort,
      pathAndQuery: try pathAndQuery(bytes.extracting(end..<count)), isPathEmpty: end == count)
  }

  private static func isSchemeByte(_ byte: UInt8) -> Bool {
    ASCII.isDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
  }

  /// Checks the rest of a target, and begins it with "/".
  static func pathAndQuery(_ bytes: RawSpan) throws(TargetError) -> String {
    for offset in 0..<bytes.byteCount {
      let byte = bytes.byte(at: offset)
      if byte == UInt8(ascii: "#") { throw .fragment }
      guard byte > ASCII.space, byte < 0x7F else { throw .badByte(byte) }
    }
    let text = bytes.text(0..<bytes.byteCount)
    return text.utf8.first == UInt8(ascii: "/") ? text : "/" + text
  }

  /// This URI with another path and query, resolved as a reference in a Location field would be (RFC 3986 §5.2),
  /// without the fragment; nil when the reference is not http(s) or is malformed.
  public func resolving(_ reference: String) -> TargetURI? {
    let text = String(reference.prefix { $0 != "#" })
    if let whole = try? TargetURI.parse(text) { return whole }
    if text.hasPrefix("//") { return try? TargetURI.parse("\(scheme.rawValue):\(text)") }
    let beforeColon = text.prefix { $0 != "/" && $0 != "?" }
    guard !beforeColon.contains(":") else { return nil }
    let path = String(pathAndQuery.prefix { $0 != "?" })
    let merged: String
    if text.isEmpty {
      merged = pathAndQuery
    } else if text.hasPrefix("?") {
      merged = path + text
    } else if text.hasPrefix("/") {
      merged = TargetURI.removingDotSegments(text)
    } else {
      merged = TargetURI.removingDotSegments(path[...(path.lastIndex(of: "/") ?? path.startIndex)] + text)
    }
    return try? TargetURI.parse("\(scheme.rawValue)://\(authority)\(merged)")
  }

  /// RFC 3986 §5.2.4 for a path that begins with "/"; the query is left alone.
  public static func removingDotSegments(_ pathAndQuery: String) -> String {
    let path = pathAndQuery.prefix { $0 != "?" }
    let query = pathAndQuery[path.endIndex...]
    guard path.contains("/.") else { return pathAndQuery }
    var kept: [Substring] = []
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".": if isLast { kept.append("") }
      case "..":
        _ = kept.popLast()
        if isLast { kept.append("") }
      default: kept.append(segment)
      }
    }
    return "/" + kept.joined(separator: "/") + query
  }
}

extension TargetURI: Hashable {
  public static func == (left: TargetURI, right: TargetURI) -> Bool {
    left.scheme == right.scheme && left.port == right.port && left.host == right.host
      && left.pathAndQuery == right.pathAndQuery
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(scheme)
    hasher.combine(host)
    hasher.combine(port)
    hasher.combine(pathAndQuery)
  }
}

extension TargetURI: CustomStringConvertible {
  public var description: String { absolute }
}
