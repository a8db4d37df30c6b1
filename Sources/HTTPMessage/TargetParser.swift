// Reads the targets of the requests that come over one connection.

/// Remembers the authority it has read last: most requests of a connection name the same one, and then only path and
/// query are read. What it gives is what `RequestTarget.parse` would.
public struct TargetParser: Sendable {
  private var last: TargetURI?
  /// Scheme and authority of `last` as a target spells them.
  private var spelled: [UInt8] = []

  public init() {}

  /// Reads the target of a request with this method; each method takes only its own forms.
  public mutating func parse(_ bytes: RawSpan, method: Method) throws(TargetError) -> RequestTarget {
    let count = spelled.count
    if let last, bytes.byteCount > count, bytes.byte(at: count) == UInt8(ascii: "/"), method != .connect,
      bytes.extracting(0..<count).isEqual(to: spelled.span.bytes)
    {
      let rest = bytes.extracting(count..<bytes.byteCount)
      return .absolute(TargetURI(sameOriginAs: last, pathAndQuery: try TargetURI.pathAndQuery(rest)))
    }
    let target = try RequestTarget.parse(bytes, method: method)
    if case .absolute(let uri) = target {
      last = uri
      spelled = Array((uri.scheme.rawValue + "://" + uri.authority).utf8)
    }
    return target
  }
}
