// The system calls that streams and listeners share.

import CLibevent
import Glibc

/// A non-blocking TCP socket of an address family.
///
/// - Throws: `StreamError.system`.
func makeSocket(_ family: Int32) throws -> Int32 {
  let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
  let descriptor = socket(family, type, 0)
  guard descriptor >= 0 else { throw StreamError(code: errno) }
  return descriptor
}

func setOption(_ descriptor: Int32, _ level: Int, _ name: Int32, _ value: Int32) {
  var value = value
  setsockopt(descriptor, Int32(level), name, &value, socklen_t(MemoryLayout<Int32>.size))
}

/// The socket's close will be a reset.
func resetWhenClosed(_ descriptor: Int32) {
  var option = linger(l_onoff: 1, l_linger: 0)
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
}

/// The error that the socket has waiting, which is then gone; 0 where there is none.
func socketError(_ descriptor: Int32) -> Int32 {
  var code: Int32 = 0
  var size = socklen_t(MemoryLayout<Int32>.size)
  return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
}

/// Has the connections that a listener takes from this machine send at once, whatever congestion control the machine uses
/// for its network: one that paces (bbr) spends a timer on every 64 KiB, and between two programs of one machine nothing is
/// lost that pacing would save. Set before they are made: pacing, once begun, stays. Where the system does not allow it,
/// nothing changes.
func acceptUnpaced(_ listener: Int32) {
  let name: StaticString = "reno"
  setsockopt(listener, Int32(IPPROTO_TCP), TCP_CONGESTION, name.utf8Start, socklen_t(name.utf8CodeUnitCount))
}
