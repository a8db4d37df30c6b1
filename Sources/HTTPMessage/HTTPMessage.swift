// HTTPMessage: the words of HTTP as values (fields, methods, targets, dates, validators, ranges), without any I/O.

/// The protocol versions this program speaks on a byte stream (RFC 9112 §2.3).
public enum HTTPVersion: Hashable, Sendable {
  case http10
  case http11

  /// The version as a start line spells it.
  public var text: String {
    switch self {
    case .http10: "HTTP/1.0"
    case .http11: "HTTP/1.1"
    }
  }
}

/// The URI schemes whose resources HTTP can address (RFC 9110 §4.2).
public enum Scheme: String, Hashable, Sendable {
  case http
  case https

  /// The port that an authority without one means.
  public var defaultPort: UInt16 {
    switch self {
    case .http: 80
    case .https: 443
    }
  }
}
