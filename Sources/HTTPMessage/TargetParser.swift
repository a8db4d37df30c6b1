// Reads the targets of the requests that come over one connection.

/// Remembers the target it has read last: most requests of a connection name the same authority, and then only path and
/// query are read; those of a player that seeks name the same resource. What it gives is what `RequestTarget.parse` would.
public struct TargetParser: Sendable {
  private var last: TargetURI?
  /// How many octets of the whole URI of `last` are scheme and authority.
  private var originCount = 0

  public init() {}

  /// Reads the target of a request with this method; each method takes only its own forms.
  public mutating func parse(_ bytes: RawSpan, method: Method) throws(TargetError) -> RequestTarget {
    if method != .connect, let last, let target = try repeated(bytes, last) { return .absolute(target) }
    let target = try RequestTarget.parse(bytes, method: method)
    if case .absolute(let uri) = target {
      last = uri
      originCount = uri.absolute.utf8.count - uri.pathAndQuery.utf8.count
    }
    return target
  }

  /// The target that has scheme and authority of `last`, spelled in normal form; nil where it has not.
  private mutating func repeated(_ bytes: RawSpan, _ last: TargetURI) throws(TargetError) -> TargetURI? {
    let spelled = last.absolute.utf8Span.span.bytes
    if !last.isPathEmpty, bytes.isEqual(to: spelled) { return last }
    guard bytes.byteCount > originCount, bytes.byte(at: originCount) == UInt8(ascii: "/"),
      bytes.extracting(0..<originCount).isEqual(to: spelled.extracting(0..<originCount))
    else { return nil }
    let path = try TargetURI.pathAndQuery(bytes.extracting(originCount..<bytes.byteCount))
    let target = TargetURI(sameOriginAs: last, pathAndQuery: path, absolute: bytes.text(0..<bytes.byteCount))
    self.last = target
    return target
  }
}
