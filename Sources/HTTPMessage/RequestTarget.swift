// The four forms of a request target (RFC 9112 §3.2).

/// What stands between method and version in a request line.
public enum RequestTarget: Hashable, Sendable {
  /// A whole URI: how a client talks to a proxy.
  case absolute(TargetURI)
  /// Path and query, beginning with "/": how a client talks to the server itself.
  case origin(String)
  /// Only of CONNECT.
  case authority(host: String, port: UInt16)
  /// "*", only of OPTIONS.
  case asterisk

  /// Reads the target of a request with this method; each method takes only its own forms.
  public static func parse(_ bytes: RawSpan, method: Method) throws(TargetError) -> RequestTarget {
    guard bytes.byteCount > 0 else { throw .wrongForm("an empty target") }
    if method == .connect {
      let authority = try Authority.parse(bytes)
      guard let port = authority.port else { throw .wrongForm("CONNECT without a port") }
      return .authority(host: authority.host, port: port)
    }
    switch bytes.byte(at: 0) {
    case UInt8(ascii: "/"): return .origin(try TargetURI.pathAndQuery(bytes))
    case UInt8(ascii: "*") where bytes.byteCount == 1:
      guard method == .options else { throw .wrongForm("target '*' with \(method.name) (only OPTIONS has it)") }
      return .asterisk
    default: return .absolute(try TargetURI.parse(bytes))
    }
  }

  /// The target as a request line spells it.
  public var text: String {
    switch self {
    case .absolute(let target): target.absolute
    case .origin(let pathAndQuery): pathAndQuery
    case .authority(let host, let port): host.utf8.contains(ASCII.colon) ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .asterisk: "*"
    }
  }
}
