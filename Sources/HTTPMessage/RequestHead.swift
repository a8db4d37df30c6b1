// The head of a request (RFC 9112 §3).

/// Method, target, version and header fields of a request. An object and not a value, since a request's head goes
/// through many hands and never changes: to hand it on costs one reference.
public final class RequestHead: Sendable {
  public let method: Method
  public let target: RequestTarget
  public let version: HTTPVersion
  public let fields: Fields

  public init(method: Method, target: RequestTarget, version: HTTPVersion = .http11, fields: Fields = Fields()) {
    self.method = method
    self.target = target
    self.version = version
    self.fields = fields
  }
}

extension RequestHead: Equatable {
  public static func == (left: RequestHead, right: RequestHead) -> Bool {
    left.method == right.method && left.target == right.target && left.version == right.version
      && left.fields == right.fields
  }
}
