// Whether a port is free: SO_REUSEPORT would let two servers share one without a word.

import CLibevent
import Glibc

extension Listener {
  /// Throws `StreamError.system` where `address` cannot be bound by a server that would have it for itself.
  public static func checkUnused(_ address: SocketAddress) throws {
    let descriptor = try makeSocket(address.family)
    defer { Glibc.close(descriptor) }
    setOption(descriptor, Int(SOL_SOCKET), SO_REUSEADDR, 1)
    if address.isIPv6 { setOption(descriptor, Int(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
    guard address.withSystemAddress({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, 1) == 0 else {
      throw StreamError(code: errno)
    }
  }
}
