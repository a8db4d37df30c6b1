// Request methods (RFC 9110 §9).

/// A method: a token, compared with regard to case.
public struct Method: Hashable, Sendable {
  /// The method as a request line spells it.
  public let name: String

  /// Nil unless the text is a token (RFC 9110 §5.6.2).
  public init?(_ token: String) {
    guard !token.isEmpty, token.utf8.allSatisfy(ASCII.isToken) else { return nil }
    name = token
  }

  /// The same for octets.
  public init?(_ token: RawSpan) {
    // Nearly every request is a GET.
    if token.byteCount == 3, token.byte(at: 0) == UInt8(ascii: "G"), token.byte(at: 1) == UInt8(ascii: "E"),
      token.byte(at: 2) == UInt8(ascii: "T")
    {
      self = .get
    } else {
      self.init(token.text(0..<token.byteCount))
    }
  }

  private init(known name: String) { self.name = name }

  public static let get = Method(known: "GET")
  public static let head = Method(known: "HEAD")
  public static let post = Method(known: "POST")
  public static let put = Method(known: "PUT")
  public static let delete = Method(known: "DELETE")
  public static let connect = Method(known: "CONNECT")
  public static let options = Method(known: "OPTIONS")
  public static let trace = Method(known: "TRACE")
  public static let patch = Method(known: "PATCH")

  /// RFC 9110 §9.2.1: the request asks for no change. Methods we don't know count as unsafe.
  public var isSafe: Bool {
    self == .get || self == .head || self == .options || self == .trace
  }

  /// RFC 9110 §9.2.2: repeating the request has the effect of sending it once.
  public var isIdempotent: Bool {
    isSafe || self == .put || self == .delete
  }
}

extension Method: CustomStringConvertible {
  public var description: String { name }
}
