// The connections one worker keeps to origins: taken from the idle ones or made, bounded per origin.

public import Configuration
import Diagnostics
public import EventLoop
import HTTPWire

/// One connection to an origin, used by one exchange at a time.
final class UpstreamConnection {
  let origin: Origin
  let stream: ByteStream
  var parser: ResponseHeadParser
  /// Whether an exchange was completed on it before: only then may it have died unnoticed.
  var isReused = false

  init(origin: Origin, stream: ByteStream, limits: HeadLimits) {
    self.origin = origin
    self.stream = stream
    parser = ResponseHeadParser(limits: limits)
  }
}

/// Why an address must not be connected to, in words; nil where it may.
public typealias DestinationCheck = @Sendable (SocketAddress) -> String?

/// The upstream connections of one worker. Bound to that worker's loop.
public final class ConnectionPool {
  public let loop: EventLoop
  public let settings: Settings
  public let counters: UpstreamCounters
  private let resolver: Resolver
  private let check: DestinationCheck
  private var hosts: [Origin: Host] = [:]

  /// The idle connections of one origin, how many are in use, and who waits for one.
  private struct Host {
    var idle: [(connection: UpstreamConnection, since: Deadline)] = []
    var inUse = 0
    var waiting: [Waiter] = []
  }

  private final class Waiter {
    var continuation: UnsafeContinuation<Bool, Never>?
    var timer: LoopTimer?

    func resume(_ granted: Bool) -> Bool {
      guard let continuation else { return false }
      self.continuation = nil
      timer?.cancel()
      continuation.resume(returning: granted)
      return true
    }
  }

  public init(
    loop: EventLoop, resolver: Resolver, settings: Settings, counters: UpstreamCounters,
    check: @escaping DestinationCheck
  ) {
    self.loop = loop
    self.resolver = resolver
    self.settings = settings
    self.counters = counters
    self.check = check
  }

  /// A kept connection that still looks alive, else a new one.
  ///
  /// - Parameter fresh: asks for a new connection, after a kept one has died.
  func take(_ origin: Origin, fresh: Bool) async throws(UpstreamError) -> UpstreamConnection {
    if !fresh, let kept = takeIdle(origin) { return kept }
    try await admit(origin)
    do {
      let stream = try await connect(origin)
      counters.connections.add()
      return UpstreamConnection(origin: origin, stream: stream, limits: settings.headLimits)
    } catch {
      leave(origin)
      throw error
    }
  }

  /// Gives a connection back after a complete exchange; it is kept for the next one.
  func give(back connection: UpstreamConnection) {
    connection.isReused = true
    let origin = connection.origin
    leave(origin)
    guard hosts[origin, default: Host()].idle.count < settings.upstream.idlePerHost else {
      connection.stream.close()
      return
    }
    hosts[origin, default: Host()].idle.append((connection, .after(seconds: settings.upstream.idleTimeout.inSeconds)))
  }

  /// Ends a connection whose exchange was not completed.
  func drop(_ connection: UpstreamConnection) {
    connection.stream.close()
    leave(connection.origin)
  }

  /// Closes idle connections whose time is over; all of them when the worker shuts down.
  public func closeIdle(all: Bool = false) {
    let now = Deadline.after(seconds: 0)
    for origin in Array(hosts.keys) {
      hosts[origin]?.idle.removeAll { kept in
        guard all || kept.since < now || !kept.connection.stream.isIdleClean() else { return false }
        kept.connection.stream.close()
        return true
      }
      if let host = hosts[origin], host.idle.isEmpty, host.inUse == 0, host.waiting.isEmpty { hosts[origin] = nil }
    }
  }

  /// Whether exchanges that could be done without may have so many connections now: nobody waits for one, and at least
  /// half of those allowed to the origin stay for others.
  public func canSpare(_ count: Int, for origin: Origin) -> Bool {
    guard let host = hosts[origin] else { return count <= settings.upstream.connectionsPerHost / 2 }
    return host.waiting.isEmpty && host.inUse + count <= settings.upstream.connectionsPerHost / 2
  }

  /// Whether somebody waits for a connection to the origin.
  public func isCrowded(_ origin: Origin) -> Bool { hosts[origin]?.waiting.isEmpty == false }

  private func takeIdle(_ origin: Origin) -> UpstreamConnection? {
    while let kept = hosts[origin]?.idle.popLast() {
      if kept.connection.stream.isIdleClean() {
        hosts[origin, default: Host()].inUse += 1
        return kept.connection
      }
      kept.connection.stream.close()
    }
    return nil
  }

  /// Waits for one of the connections allowed to this origin.
  private func admit(_ origin: Origin) async throws(UpstreamError) {
    if hosts[origin, default: Host()].inUse < settings.upstream.connectionsPerHost {
      hosts[origin, default: Host()].inUse += 1
      return
    }
    let waiter = Waiter()
    let granted = await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
      waiter.continuation = continuation
      hosts[origin, default: Host()].waiting.append(waiter)
      let carried = LoopConfined(waiter)
      waiter.timer = loop.timer(at: .after(seconds: settings.upstream.headTimeout.inSeconds)) {
        _ = carried.value.resume(false)
      }
    }
    guard granted else {
      hosts[origin]?.waiting.removeAll { $0 === waiter }
      throw .busy(origin)
    }
  }

  /// One connection less in use: the first in the queue takes its place.
  private func leave(_ origin: Origin) {
    while let waiter = hosts[origin]?.waiting.first {
      hosts[origin]?.waiting.removeFirst()
      if waiter.resume(true) { return }
    }
    hosts[origin, default: Host()].inUse -= 1
  }

  /// A connection for a tunnel: neither kept nor counted against the origin's limit.
  public func connectDirectly(to origin: Origin) async throws(UpstreamError) -> ByteStream {
    let stream = try await connect(origin)
    counters.connections.add()
    return stream
  }

  /// Tries the addresses of the origin in turn; the access rules see each one after resolution.
  private func connect(_ origin: Origin) async throws(UpstreamError) -> ByteStream {
    let addresses: [SocketAddress]
    do {
      addresses = try await resolver.resolve(origin.host, port: origin.port)
    } catch {
      throw .unresolvable(host: origin.host, reason: error.explanation)
    }
    let limit = settings.upstream.connectTimeout.inSeconds
    let deadline = Deadline.after(seconds: limit)
    var failure = UpstreamError.unresolvable(host: origin.host, reason: "it has no address")
    for (index, address) in addresses.enumerated() {
      if let reason = check(address) {
        failure = .forbidden(origin, reason: reason)
        continue
      }
      // An address that does not answer may not use up the time of those after it.
      let isLast = index == addresses.count - 1
      let attempt = isLast ? deadline : min(deadline, .after(seconds: limit / 2))
      do {
        return try await ByteStream.connect(to: address, on: loop, deadline: attempt)
      } catch let error as StreamError {
        switch error {
        case .cancelled: throw .cancelled
        case .timedOut: failure = .silent(origin, seconds: limit)
        case .reset, .closed, .system: failure = .unreachable(origin, error)
        }
      } catch {
        failure = .unreachable(origin, .closed)
      }
    }
    throw failure
  }
}
