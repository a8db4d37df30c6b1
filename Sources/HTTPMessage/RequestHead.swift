// The head of a request (RFC 9112 §3).

/// Method, target, version and header fields of a request.
public struct RequestHead: Equatable, Sendable {
  public var method: Method
  public var target: RequestTarget
  public var version: HTTPVersion
  public var fields: Fields

  public init(method: Method, target: RequestTarget, version: HTTPVersion = .http11, fields: Fields = Fields()) {
    self.method = method
    self.target = target
    self.version = version
    self.fields = fields
  }
}
