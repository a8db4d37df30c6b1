// Addresses of IPv4 and IPv6 with a port, and what kind of place they name.

import CLibevent
import Glibc

/// An IP address and a port. An IPv4 address that came mapped into IPv6 is held as IPv4.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
  /// The address, big-endian: 4 bytes for IPv4, 16 for IPv6.
  public let addressBytes: [UInt8]
  public let port: UInt16
  /// The interface a link-local IPv6 address belongs to; 0 where none is named.
  let scope: UInt32

  init(bytes: [UInt8], port: UInt16, scope: UInt32 = 0) {
    let isMapped =
      bytes.count == 16 && bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    addressBytes = isMapped ? Array(bytes[12...]) : bytes
    self.port = port
    self.scope = isMapped ? 0 : scope
  }

  /// An address in its text form, IPv6 without brackets and with an optional `%interface`; nil where it is none.
  public init?(ip: String, port: UInt16) {
    var four = in_addr()
    if inet_pton(AF_INET, ip, &four) == 1 {
      self.init(bytes: withUnsafeBytes(of: four) { Array($0) }, port: port)
      return
    }
    let parts = ip.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    var scope: UInt32 = 0
    if parts.count == 2 {
      scope = UInt32(parts[1]) ?? if_nametoindex(String(parts[1]))
      guard scope != 0 else { return nil }
    }
    var six = in6_addr()
    guard inet_pton(AF_INET6, String(parts[0]), &six) == 1 else { return nil }
    self.init(bytes: withUnsafeBytes(of: six) { Array($0) }, port: port, scope: scope)
  }

  /// An address with its port: `192.0.2.1:80`, `[2001:db8::1]:80`. Nil where it is none.
  public static func parse(_ text: String) -> SocketAddress? {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let digits = text[text.index(after: colon)...]
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else { return nil }
    let host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      let ip = String(host.dropFirst().dropLast())
      return ip.contains(":") ? SocketAddress(ip: ip, port: port) : nil
    }
    return host.contains(":") ? nil : SocketAddress(ip: String(host), port: port)
  }

  static let unspecified = SocketAddress(bytes: [0, 0, 0, 0], port: 0)

  /// The same address with another port.
  public func with(port: UInt16) -> SocketAddress { SocketAddress(bytes: addressBytes, port: port, scope: scope) }

  public var isIPv6: Bool { addressBytes.count == 16 }

  /// The address in its text form, without port and brackets.
  public var ip: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let isWritten = addressBytes.withUnsafeBytes {
      inet_ntop(family, $0.baseAddress, &text, socklen_t(text.count)) != nil
    }
    guard isWritten else { return "?" }
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let plain = String(decoding: bytes, as: UTF8.self)
    return scope == 0 ? plain : "\(plain)%\(scope)"
  }

  /// The address with its port, as `parse` reads it.
  public var description: String { isIPv6 ? "[\(ip)]:\(port)" : "\(ip):\(port)" }

  // MARK: Kinds

  /// 127.0.0.0/8, ::1.
  public var isLoopback: Bool {
    isIPv6 ? addressBytes.prefix(15).allSatisfy { $0 == 0 } && addressBytes[15] == 1 : addressBytes[0] == 127
  }

  /// 169.254.0.0/16, fe80::/10.
  public var isLinkLocal: Bool {
    isIPv6
      ? addressBytes[0] == 0xFE && addressBytes[1] & 0xC0 == 0x80 : addressBytes[0] == 169 && addressBytes[1] == 254
  }

  /// 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 (RFC 1918), 100.64.0.0/10 (RFC 6598), fc00::/7 (RFC 4193).
  public var isPrivate: Bool {
    if isIPv6 { return addressBytes[0] & 0xFE == 0xFC }
    switch addressBytes[0] {
    case 10: return true
    case 172: return addressBytes[1] & 0xF0 == 16
    case 192: return addressBytes[1] == 168
    case 100: return addressBytes[1] & 0xC0 == 64
    default: return false
    }
  }

  /// 0.0.0.0/8, which means this host (RFC 1122 §3.2.1.3), and ::.
  public var isUnspecified: Bool { isIPv6 ? addressBytes.allSatisfy { $0 == 0 } : addressBytes[0] == 0 }

  /// 224.0.0.0/4, ff00::/8, and the broadcast address 255.255.255.255.
  public var isMulticast: Bool {
    isIPv6 ? addressBytes[0] == 0xFF : addressBytes[0] & 0xF0 == 224 || addressBytes.allSatisfy { $0 == 255 }
  }

  /// The addresses of this machine's interfaces, with port 0; empty where they cannot be read.
  public static func ownAddresses() -> [SocketAddress] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    var found: [SocketAddress] = []
    var next = first
    while let entry = next {
      if let raw = entry.pointee.ifa_addr, let address = SocketAddress(system: raw) {
        found.append(address.with(port: 0))
      }
      next = entry.pointee.ifa_next
    }
    return found
  }
}
