// A blocking TCP socket with bounds on every wait, and a buffered reader over it.
internal import Glibc

/// What one receive brought.
public enum Received: Sendable {
  case bytes([UInt8])
  /// The peer closed in order (FIN).
  case end
  /// The peer reset the connection (RST).
  case reset
}

/// A connected TCP socket. One thread reads and writes; `interrupt` may come from any.
public final class Socket: Sendable {
  private let descriptor: Int32
  private let isClosed = Monitor(false)

  init(descriptor: Int32) {
    self.descriptor = descriptor
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit {
    close()
  }

  /// Connects to a port of 127.0.0.1. A small receive buffer makes backpressure felt early.
  public static func connect(port: UInt16, receiveBuffer: Int32? = nil) throws -> Socket {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw HarnessError.system("socket") }
    let made = Socket(descriptor: descriptor)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    let failure = withLoopback(port) { Glibc.connect(descriptor, $0, $1) }
    guard failure == 0 else { throw HarnessError.system("connect to 127.0.0.1:\(port)") }
    return made
  }

  /// Sends all bytes.
  public func send(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try send($0) }
  }

  public func send(_ text: String) throws {
    try send(Array(text.utf8))
  }

  func send(_ bytes: UnsafeRawBufferPointer) throws {
    var done = 0
    if isClosed.withLock({ $0 }) { throw HarnessError("this end has closed the connection") }
    while done < bytes.count {
      let count = Glibc.send(
        descriptor, bytes.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      if count > 0 {
        done += count
      } else if errno == EAGAIN {
        try waitUntil(POLLOUT, "room to send")
      } else if errno != EINTR {
        throw HarnessError.system("send after \(done) of \(bytes.count) bytes")
      }
    }
  }

  /// Receives what is there, waiting for the first byte.
  public func receive(atMost limit: Int = 256 << 10) throws -> Received {
    while true {
      try waitUntil(POLLIN, "bytes from the peer")
      var outcome = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        outcome = recv(descriptor, buffer.baseAddress, limit, Int32(MSG_DONTWAIT))
        count = max(0, outcome)
      }
      if outcome > 0 { return .bytes(bytes) }
      if outcome == 0 { return .end }
      if errno == ECONNRESET || errno == EPIPE { return .reset }
      if errno != EAGAIN && errno != EINTR { throw HarnessError.system("recv") }
    }
  }

  /// Ends the sending direction in order (FIN); what was sent still arrives.
  public func finish() {
    isClosed.withLock { if !$0 { shutdown(descriptor, Int32(SHUT_WR)) } }
  }

  /// Waits until the peer's system has acknowledged all that was sent.
  public func waitForAcknowledgement() throws {
    let limit = monotonicSeconds() + Patience.seconds
    while true {
      var unacknowledged: Int32 = 0
      guard unsentBytes(descriptor, &unacknowledged) else { throw HarnessError.system("SIOCOUTQ") }
      if unacknowledged == 0 { return }
      guard monotonicSeconds() < limit else { throw HarnessError("the peer never acknowledged what was sent") }
      sched_yield()
    }
  }

  /// Ends the connection with a reset (RST); what is still on the way is lost.
  ///
  /// The descriptor stays: another thread may be waiting on it, and its number must not become someone else's.
  public func reset() {
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    isClosed.withLock { closed in
      if !closed { Glibc.connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size)) }
    }
  }

  /// Reads and drops until the peer ends the connection.
  public func drain() {
    while case .bytes = (try? receive()) ?? .end {}
  }

  public func close() {
    let first = isClosed.withLock { closed in
      defer { closed = true }
      return !closed
    }
    if first { Glibc.close(descriptor) }
  }

  /// Wakes a thread that waits on this socket; it then sees the end.
  func interrupt() {
    isClosed.withLock { if !$0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  private func waitUntil(_ event: Int32, _ what: String) throws {
    if isClosed.withLock({ $0 }) { throw HarnessError("this end has closed the connection") }
    var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    let ready = poll(&entry, 1, Int32(Patience.seconds * 1000))
    if ready == 0 { throw HarnessError("waited \(Patience.seconds) s in vain for \(what)") }
    if ready < 0 && errno != EINTR { throw HarnessError.system("poll") }
  }
}

/// A listening socket on 127.0.0.1 with a port given by the system.
public final class ListeningSocket: Sendable {
  let descriptor: Int32
  public let port: UInt16

  /// With `listens: false` the port is taken and refuses connections.
  public init(listens: Bool = true) throws {
    let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard made >= 0 else { throw HarnessError.system("socket") }
    descriptor = made
    var one: Int32 = 1
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound =
      withLoopback(0) { bind(made, $0, $1) } == 0 && (!listens || listen(made, 512) == 0)
      && withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(made, $0, &length) }
      } == 0
    port = UInt16(bigEndian: address.sin_port)
    if !isBound { throw HarnessError.system("bind or listen") }
  }

  /// Waits for a connection; nil once the listener was interrupted.
  func accept() -> Socket? {
    while true {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      poll(&entry, 1, -1)
      let accepted = descriptorsAreBeingMade.withLock { _ in
        let accepted = Glibc.accept(descriptor, nil, nil)
        if accepted >= 0 { _ = fcntl(accepted, F_SETFD, FD_CLOEXEC) }
        return accepted
      }
      if accepted >= 0 { return Socket(descriptor: accepted) }
      if errno != EINTR && errno != ECONNABORTED && errno != EAGAIN { return nil }
    }
  }

  /// Wakes a thread that waits in `accept`, and refuses connections from now on.
  public func interrupt() {
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  deinit {
    close(descriptor)
  }
}

private func withLoopback<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
  }
}

private func unsentBytes(_ descriptor: Int32, _ count: inout Int32) -> Bool {
  let siocoutq: UInt = 0x5411  // SIOCOUTQ is TIOCOUTQ; the header's macro is not imported
  return ioctl(descriptor, siocoutq, &count) == 0
}
