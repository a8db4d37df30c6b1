// A relay that keeps what was sent through it, and a client that says its piece and listens to the end.

/// A relay from a port of its own to `target` that records what goes there.
public final class RecordingRelay: Sendable {
  public let port: UInt16
  private let listener: ListeningSocket
  private let state = Monitor(State())

  private struct State {
    var sockets: [Socket] = []
    var sent: [UInt8] = []
  }

  public init(to target: UInt16) throws {
    listener = try ListeningSocket()
    port = listener.port
    startThread { [listener, self] in
      while let client = listener.accept() {
        guard let server = try? Socket.connect(port: target) else {
          client.reset()
          continue
        }
        state.withLock { $0.sockets += [client, server] }
        startThread {
          self.copy(client, to: server) { bytes in self.state.withLock { $0.sent += bytes } }
        }
        startThread { self.copy(server, to: client) { _ in } }
      }
    }
  }

  /// What was sent through since this was asked last.
  public func takeSent() -> [UInt8] {
    state.withLock { state in
      defer { state.sent = [] }
      return state.sent
    }
  }

  public func stop() {
    listener.interrupt()
    for socket in state.withLock({ $0.sockets }) { socket.interrupt() }
  }

  private func copy(_ source: Socket, to sink: Socket, _ record: ([UInt8]) -> Void) {
    while case .bytes(let bytes) = (try? source.receive()) ?? .end {
      record(bytes)
      if (try? sink.send(bytes)) == nil { break }
    }
    sink.finish()
  }
}

/// Sends bytes to a server and returns all that comes back. A server that has said nothing for `silence` seconds waits
/// for more, which never comes: it is told so by the end of the connection.
public func converse(port: UInt16, _ bytes: [UInt8], silence: Double) throws -> [UInt8] {
  let socket = try Socket.connect(port: port)
  defer { socket.close() }
  // It may refuse the beginning and close before the rest.
  try? socket.send(bytes)
  let heard = Monitor((bytes: [UInt8](), isOver: false))
  startThread {
    while case .bytes(let bytes) = (try? socket.receive()) ?? .end { heard.withLock { $0.bytes += bytes } }
    heard.withLock { $0.isOver = true }
  }
  while true {
    let before = heard.withLock { $0.bytes.count }
    let wait: Void? = try? heard.wait(for: "more", seconds: silence) { $0.isOver || $0.bytes.count > before ? () : nil }
    if wait == nil || heard.withLock({ $0.isOver }) { break }
  }
  socket.finish()
  try heard.wait(for: "the end of the connection to port \(port)") { $0.isOver ? () : nil }
  return heard.withLock { $0.bytes }
}
