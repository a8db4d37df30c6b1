// Two streams joined: what comes from one goes to the other, each direction to its own end.

import Configuration
import Diagnostics
import EventLoop

/// A tunnel in progress (RFC 9110 §9.3.6). Bound to its worker's loop.
final class Tunnel {
  private let parts: WorkerParts
  private let client: ByteStream
  private let server: ByteStream
  private let idle: Double
  /// When a byte last moved in either direction: the other direction may be still all the while.
  private var lastMoved = ContinuousClock.now
  private(set) var toClient: UInt64 = 0

  init(parts: WorkerParts, client: ByteStream, server: ByteStream) {
    self.parts = parts
    self.client = client
    self.server = server
    idle = parts.context.settings.tunnels.idleTimeout.inSeconds
  }

  /// Runs until both directions have ended, or nothing has moved for too long. Both streams are closed then.
  func run() async {
    parts.context.counters.tunnels.add()
    // A tunnel has its own bound, and its protocol its own pace.
    client.leastSendRate = 0
    let upward = parts.spawn { await self.copy(from: self.client, to: self.server) { _ in } }
    await copy(from: server, to: client) { self.toClient += $0 }
    await upward.value
    client.close()
    server.close()
  }

  /// Copies one direction; its end is passed on as a half-close, its failure ends both.
  private func copy(from source: ByteStream, to sink: ByteStream, count: (UInt64) -> Void) async {
    do {
      while true {
        let more: Bool
        do {
          more = try await source.read(deadline: .after(seconds: idle)) { input in
            sink.queue(input)
            count(UInt64(input.byteCount))
            return input.byteCount
          }
        } catch StreamError.timedOut where (ContinuousClock.now - lastMoved).inSeconds < idle {
          continue
        }
        lastMoved = .now
        guard more else { break }
        try await sink.flush(stall: idle)
        lastMoved = .now
      }
      sink.shutdownWrite()
    } catch {
      if case StreamError.timedOut = error { parts.context.counters.limits.add(.tunnelIdleTimeout) }
      source.abort()
      sink.abort()
    }
  }
}
