// Proxy: client connections, the handling of requests, responses from the store, passes, tunnels, access control.

import Configuration
import Diagnostics
public import EventLoop
import Synchronization

/// The running proxy: its workers and what they listen on.
public final class ProxyServer: Sendable {
  private let context: ProxyContext
  private let workers: [Worker]
  private let loops: [EventLoop]
  private let isStopped = Atomic<Bool>(false)
  /// Where clients can connect; a port of 0 in the settings has become a real one.
  public let addresses: [SocketAddress]

  /// Starts one worker for each of `settings.workers`, and listens.
  ///
  /// - Throws: `ProxyStartError` where an address cannot be listened on; nothing is left running then.
  public static func start(_ context: ProxyContext) async throws -> ProxyServer {
    var loops: [EventLoop] = []
    var workers: [Worker] = []
    do {
      for index in 0..<max(1, context.settings.workers) {
        let loop = try EventLoop.start(name: "worker-\(index)")
        loops.append(loop)
        workers.append(Worker(loop: loop, context: context))
      }
      var addresses: [SocketAddress] = []
      for wanted in context.settings.listen {
        guard var address = SocketAddress(ip: wanted.host, port: wanted.port) else {
          throw ProxyStartError(address: wanted.description, reason: "not an IP address")
        }
        try Self.checkUnused(address)
        for worker in workers {
          do {
            address = try await worker.listen(on: address)
          } catch let error as StreamError {
            throw ProxyStartError(address: wanted.description, reason: error.explanation)
          }
        }
        addresses.append(address)
      }
      return ProxyServer(context: context, workers: workers, loops: loops, addresses: addresses)
    } catch {
      for worker in workers { await worker.stop() }
      for loop in loops { loop.stop() }
      throw error
    }
  }

  private init(context: ProxyContext, workers: [Worker], loops: [EventLoop], addresses: [SocketAddress]) {
    self.context = context
    self.workers = workers
    self.loops = loops
    self.addresses = addresses
  }

  /// SO_REUSEPORT would let a second Larder share the port unseen: a first bind without it finds out.
  private static func checkUnused(_ address: SocketAddress) throws {
    guard address.port != 0 else { return }
    do {
      try Listener.checkUnused(address)
    } catch let error as StreamError {
      throw ProxyStartError(address: address.description, reason: error.explanation)
    }
  }

  /// No new connections; returns when the responses under way have ended.
  public func drain() async {
    context.beginDraining()
    await withTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { await worker.drain() } }
    }
  }

  /// Ends all connections and the workers' loops. Later calls do nothing: a loop that has ended runs nothing more.
  public func stop() async {
    guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
    context.beginDraining()
    for worker in workers { await worker.stop() }
    for loop in loops { loop.stop() }
  }
}

/// Why the proxy could not start.
public struct ProxyStartError: Error, Sendable {
  /// The address as configured.
  public let address: String
  /// The reason in words.
  public let reason: String
}
