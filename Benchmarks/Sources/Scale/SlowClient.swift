// A client that holds many connections and uses none of them as it should.
import Glibc
import TestSupport

/// Many connections from one address, each of which sends an octet of a request head or takes a few of a response in
/// every second.
final class SlowClient {
  /// What it is slow at.
  enum Kind: String, CaseIterable {
    case heldHeads = "that send heads slowly"
    case heldBodies = "that take bodies slowly"
    case heads = "that send heads slowly and are opened anew"
    case bodies = "that take bodies slowly and are opened anew"

    /// Whether its connections take responses slowly; else they send requests slowly.
    var takesBodies: Bool {
      switch self {
      case .heldHeads, .heads: false
      case .heldBodies, .bodies: true
      }
    }

    /// Whether a connection that was ended is opened again.
    var opensAnew: Bool {
      switch self {
      case .heldHeads, .heldBodies: false
      case .heads, .bodies: true
      }
    }
  }

  /// What it did until it was stopped.
  struct Account {
    /// Connections that were ended by the other side.
    var ended = 0
    /// How many times each connection has had its turn.
    var turns = 0
  }

  private let shared: Monitor<(isOver: Bool, account: Account)>
  private let thread: Background

  /// Begins to open `count` connections to a port from 127.0.0.2: to the server this is another client than the load.
  ///
  /// - Parameter url: what those that read ask for; it must be larger than what the system keeps for a socket.
  init(_ kind: Kind, port: UInt16, count: Int, url: String) {
    let shared = Monitor((isOver: false, account: Account()))
    self.shared = shared
    thread = Background("slow client") {
      var connections = (0..<count).map { _ in SlowConnection(port: port, url: url, kind: kind) }
      defer { for index in connections.indices { connections[index].close() } }
      while !shared.withLock({ $0.isOver }) {
        let began = monotonicSeconds()
        for tick in 0..<Self.ticks {
          if shared.withLock({ $0.isOver }) { return }
          var ended = 0
          for index in stride(from: tick, to: count, by: Self.ticks) where !connections[index].step() { ended += 1 }
          shared.withLock { $0.account.ended += ended }
          let rest = began + Double(tick + 1) / Double(Self.ticks) - monotonicSeconds()
          if rest > 0 { usleep(UInt32(rest * 1e6)) }
        }
        shared.withLock { $0.account.turns += 1 }
      }
    }
  }

  /// Waits until every connection has had so many turns, one in a second.
  func waitForTurns(_ count: Int) throws {
    try shared.wait(for: "the slow client's connections", seconds: Patience.seconds * 4) {
      $0.account.turns >= count ? () : nil
    }
  }

  /// Ends all connections.
  func stop() throws -> Account {
    shared.withLock { $0.isOver = true }
    try thread.join()
    return shared.withLock { $0.account }
  }

  /// A second is divided into so many parts, each for another share of the connections.
  private static let ticks = 100
}

/// One of them.
private struct SlowConnection {
  let port: UInt16
  let url: String
  let kind: SlowClient.Kind
  private var descriptor: Int32 = -1
  private var wasOpened = false

  init(port: UInt16, url: String, kind: SlowClient.Kind) {
    (self.port, self.url, self.kind) = (port, url, kind)
  }

  /// Does what it does in a turn; false where the other side had ended it.
  mutating func step() -> Bool {
    guard descriptor >= 0 else {
      if !wasOpened || kind.opensAnew { open() }
      wasOpened = true
      return true
    }
    if kind.takesBodies ? take() : send("a") { return true }
    close()
    return false
  }

  mutating func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  private mutating func open() {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    var size: Int32 = 4096
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    guard Self.with(host: 0x7F00_0002, port: 0, { bind(descriptor, $0, $1) }) == 0,
      Self.with(host: 0x7F00_0001, port: port, { connect(descriptor, $0, $1) }) == 0
    else { return close() }
    _ = send("GET \(url) HTTP/1.1\r\nHost: a\r\n" + (kind.takesBodies ? "\r\n" : "X-Slow: "))
  }

  /// False where the connection has been ended.
  private func send(_ text: String) -> Bool {
    var text = text
    let sent = text.withUTF8 {
      Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
    return sent >= 0 || errno == EAGAIN
  }

  /// False where the connection has been ended.
  private func take() -> Bool {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    return count > 0 || count < 0 && errno == EAGAIN
  }

  private static func with(
    host: UInt32, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = host.bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}
