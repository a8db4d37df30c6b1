// The connections one worker keeps to origins: taken from the idle ones or made, bounded per origin.

public import Configuration
import Diagnostics
public import EventLoop
import HTTPWire

/// One connection to an origin, used by one exchange at a time.
final class UpstreamConnection {
  fileprivate unowned let host: UpstreamHost
  let stream: ByteStream
  var parser: ResponseHeadParser
  /// Whether an exchange was completed on it before: only then may it have died unnoticed.
  var isReused = false

  fileprivate init(host: UpstreamHost, stream: ByteStream, limits: HeadLimits) {
    self.host = host
    self.stream = stream
    parser = ResponseHeadParser(limits: limits)
  }
}

/// The idle connections of one origin, how many are in use, and who waits for one.
private final class UpstreamHost {
  var idle: [(connection: UpstreamConnection, since: Deadline)] = []
  var inUse = 0
  var waiting: [UpstreamWaiter] = []
}

private final class UpstreamWaiter {
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

/// Why an address must not be connected to, in words; nil where it may.
public typealias DestinationCheck = @Sendable (SocketAddress) -> String?

/// The upstream connections of one worker. Bound to that worker's loop.
public final class ConnectionPool {
  public let loop: EventLoop
  public let settings: Settings
  let times: UpstreamTimes
  public let counters: UpstreamCounters
  private let resolver: Resolver
  private let check: DestinationCheck
  private var hosts: [Origin: UpstreamHost] = [:]

  public init(
    loop: EventLoop, resolver: Resolver, settings: Settings, counters: UpstreamCounters,
    check: @escaping DestinationCheck
  ) {
    self.loop = loop
    self.resolver = resolver
    self.settings = settings
    times = UpstreamTimes(settings.upstream)
    self.counters = counters
    self.check = check
  }

  /// A kept connection that still looks alive, else a new one.
  ///
  /// - Parameter fresh: asks for a new connection, after a kept one has died.
  func take(_ origin: Origin, fresh: Bool) async throws(UpstreamError) -> UpstreamConnection {
    let host = host(origin)
    if !fresh, let kept = takeIdle(host) { return kept }
    try await admit(to: host, origin)
    do {
      let stream = try await connect(origin)
      counters.connections.add()
      return UpstreamConnection(host: host, stream: stream, limits: settings.headLimits)
    } catch {
      leave(host)
      throw error
    }
  }

  /// Gives a connection back after a complete exchange; it is kept for the next one.
  func give(back connection: UpstreamConnection) {
    connection.isReused = true
    let host = connection.host
    leave(host)
    guard host.idle.count < settings.upstream.idlePerHost else {
      connection.stream.close()
      return
    }
    host.idle.append((connection, .after(seconds: times.idle)))
  }

  /// Ends a connection whose exchange was not completed.
  func drop(_ connection: UpstreamConnection) {
    connection.stream.close()
    leave(connection.host)
  }

  /// Closes idle connections whose time is over; all of them when the worker shuts down.
  public func closeIdle(all: Bool = false) {
    let now = Deadline.now
    for host in hosts.values {
      host.idle.removeAll { kept in
        guard all || kept.since < now || !kept.connection.stream.isIdleClean() else { return false }
        kept.connection.stream.close()
        return true
      }
    }
    hosts = hosts.filter { !$0.value.idle.isEmpty || $0.value.inUse > 0 || !$0.value.waiting.isEmpty }
  }

  /// Whether exchanges that could be done without may have so many connections now: nobody waits for one, and at least
  /// half of those allowed to the origin stay for others.
  public func canSpare(_ count: Int, for origin: Origin) -> Bool {
    guard let host = hosts[origin] else { return count <= settings.upstream.connectionsPerHost / 2 }
    return host.waiting.isEmpty && host.inUse + count <= settings.upstream.connectionsPerHost / 2
  }

  /// Whether somebody waits for a connection to the origin.
  public func isCrowded(_ origin: Origin) -> Bool { hosts[origin]?.waiting.isEmpty == false }

  private func host(_ origin: Origin) -> UpstreamHost {
    if let known = hosts[origin] { return known }
    let new = UpstreamHost()
    hosts[origin] = new
    return new
  }

  private func takeIdle(_ host: UpstreamHost) -> UpstreamConnection? {
    while let kept = host.idle.popLast() {
      if kept.connection.stream.isIdleClean() {
        host.inUse += 1
        return kept.connection
      }
      kept.connection.stream.close()
    }
    return nil
  }

  /// Waits for one of the connections allowed to this origin.
  private func admit(to host: UpstreamHost, _ origin: Origin) async throws(UpstreamError) {
    if take(host) { return }
    let waiter = UpstreamWaiter()
    let granted = await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
      // Looked at again: one may have become free while this task was on its way to wait.
      if take(host) { return continuation.resume(returning: true) }
      waiter.continuation = continuation
      host.waiting.append(waiter)
      let carried = LoopConfined(waiter)
      waiter.timer = loop.timer(at: .after(seconds: times.head)) {
        _ = carried.value.resume(false)
      }
    }
    guard granted else {
      host.waiting.removeAll { $0 === waiter }
      throw .busy(origin)
    }
  }

  private func take(_ host: UpstreamHost) -> Bool {
    guard host.inUse < settings.upstream.connectionsPerHost else { return false }
    host.inUse += 1
    return true
  }

  /// One connection less in use: the first in the queue takes its place.
  private func leave(_ host: UpstreamHost) {
    while let waiter = host.waiting.first {
      host.waiting.removeFirst()
      if waiter.resume(true) { return }
    }
    host.inUse -= 1
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
