// A TCP relay that breaks connections on their way, below HTTP.

/// What a relay does to the bytes that come back from its target on one connection.
public enum RelayFault: Sendable {
  case none
  /// Passes so many bytes, then closes in order once they are acknowledged.
  case finish(after: Int)
  /// Passes so many bytes, lets them arrive, then resets.
  case reset(after: Int)
  /// Passes so many bytes, then waits for the gate.
  case stall(after: Int, ManualGate)
}

/// A relay from a port of its own to a port of the target.
public final class FaultRelay: Sendable {
  public let port: UInt16
  private let listener: ListeningSocket
  private let state = Monitor(State())

  private struct State {
    var sockets: [Socket] = []
    var connections = 0
    var relayed = 0
  }

  /// `fault` is asked once for each connection, with its number from 0.
  public init(to target: UInt16, _ fault: @escaping @Sendable (Int) -> RelayFault) throws {
    listener = try ListeningSocket()
    port = listener.port
    startThread { [listener, self] in
      while let client = listener.accept() {
        guard let server = try? Socket.connect(port: target) else {
          client.reset()
          continue
        }
        let number = state.withLock { state in
          state.sockets += [client, server]
          state.connections += 1
          return state.connections - 1
        }
        let chosen = fault(number)
        startThread { self.forward(client, to: server) }
        startThread { self.back(server, to: client, chosen) }
      }
    }
  }

  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// The number of connections so far.
  public var connections: Int { state.withLock { $0.connections } }

  /// Bytes passed on toward the client so far, heads included.
  public var bytesRelayed: Int { state.withLock { $0.relayed } }

  public func stop() {
    listener.interrupt()
    for socket in state.withLock({ $0.sockets }) { socket.interrupt() }
  }

  private func forward(_ client: Socket, to server: Socket) {
    while case .bytes(let bytes) = (try? client.receive()) ?? .end {
      if (try? server.send(bytes)) == nil { break }
    }
    server.finish()
  }

  private func back(_ server: Socket, to client: Socket, _ fault: RelayFault) {
    var left: Int =
      switch fault {
      case .none: Int.max
      case .finish(let count), .reset(let count), .stall(let count, _): count
      }
    defer {
      server.interrupt()
      client.interrupt()
    }
    while true {
      if left == 0 {
        switch fault {
        case .none: break
        case .finish:
          client.finish()
          _ = try? client.waitForAcknowledgement()
          return
        case .reset:
          _ = try? client.waitForAcknowledgement()
          return client.reset()
        case .stall(_, let gate):
          if (try? gate.pass()) == nil { return }
          left = Int.max
        }
      }
      guard case .bytes(let bytes) = (try? server.receive(atMost: min(left, 64 << 10))) ?? .end else {
        client.finish()
        return
      }
      left -= left == Int.max ? 0 : bytes.count
      state.withLock { $0.relayed += bytes.count }
      if (try? client.send(bytes)) == nil { return }
    }
  }
}
