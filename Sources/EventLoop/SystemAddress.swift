// Addresses as the system calls take and give them.

import CLibevent
import Glibc

extension SocketAddress {
  var family: Int32 { isIPv6 ? AF_INET6 : AF_INET }

  /// Reads a `sockaddr` of the size its family has; nil for families other than IPv4 and IPv6.
  init?(system raw: UnsafePointer<sockaddr>) {
    let raw = UnsafeRawPointer(raw)
    switch Int32(raw.loadUnaligned(as: sockaddr.self).sa_family) {
    case AF_INET:
      let address = raw.loadUnaligned(as: sockaddr_in.self)
      let bytes = withUnsafeBytes(of: address.sin_addr) { Array($0) }
      self.init(bytes: bytes, port: UInt16(bigEndian: address.sin_port))
    case AF_INET6:
      let address = raw.loadUnaligned(as: sockaddr_in6.self)
      let bytes = withUnsafeBytes(of: address.sin6_addr) { Array($0) }
      self.init(bytes: bytes, port: UInt16(bigEndian: address.sin6_port), scope: address.sin6_scope_id)
    default: return nil
    }
  }

  /// The address a socket is bound to; nil where the call fails.
  init?(ofSocket descriptor: Int32) {
    let read = Self.reading { getsockname(descriptor, $0, $1) == 0 }
    guard let read else { return nil }
    self = read
  }

  /// The address that a system call writes; nil where `call` returns false.
  static func reading(
    _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool
  ) -> SocketAddress? {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        call(raw, &size) ? SocketAddress(system: raw) : nil
      }
    }
  }

  func withSystemAddress<Value>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
    if isIPv6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      address.sin6_scope_id = scope
      withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: addressBytes) }
      return withRebound(&address, body)
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: addressBytes) }
    return withRebound(&address, body)
  }

  private func withRebound<Address, Value>(
    _ address: inout Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
  ) -> Value {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<Address>.size)) }
    }
  }
}
