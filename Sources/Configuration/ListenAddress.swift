// An address that a listener binds to.

/// An IP address and a port to listen on; port 0 lets the system choose.
public struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
  /// 4 or 16 bytes, in network order.
  public let addressBytes: [UInt8]
  public let port: UInt16

  /// 127.0.0.1 with a port.
  public init(loopbackPort port: UInt16) {
    addressBytes = [127, 0, 0, 1]
    self.port = port
  }

  /// Reads `127.0.0.1:3128`, `[::1]:3128` or `localhost:3128`, which is 127.0.0.1.
  ///
  /// Other names are not taken: what a listener binds to decides what is safe, so it must not depend on a resolver.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = SettingText.port(text[text.index(after: colon)...]) else {
      return nil
    }
    var host = text[..<colon]
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = host.dropFirst().dropLast() }
    guard let bytes = host == "localhost" && !isBracketed ? [127, 0, 0, 1] : IPLiteral.parse(host) else { return nil }
    // RFC 3986 §3.2.2: brackets are for IPv6 literals, which need them to tell address from port.
    guard isBracketed == (bytes.count == 16) else { return nil }
    addressBytes = bytes
    self.port = port
  }

  /// The address without brackets.
  public var host: String { IPLiteral.format(addressBytes) }

  /// Whether only this machine can reach it.
  public var isLoopback: Bool {
    AddressBlock.loopback.contains { $0.contains(addressBytes) }
  }

  /// Whether it stands for every address of this machine.
  public var isUnspecified: Bool {
    addressBytes.allSatisfy { $0 == 0 }
  }

  /// `host:port`, with brackets where they are due.
  public var description: String {
    addressBytes.count == 16 ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
