// Where a request goes: one host and port, spoken to over plain HTTP.

public import HTTPMessage

/// An origin server as the pool tells them apart (RFC 9110 §4.3.1).
public struct Origin: Hashable, Sendable, CustomStringConvertible {
  /// The host in lower case; an IPv6 literal without brackets.
  public let host: String
  /// The TCP port.
  public let port: UInt16

  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// The origin of a target URI.
  public init(_ target: TargetURI) {
    self.init(host: target.host, port: target.port)
  }

  public var description: String {
    host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
