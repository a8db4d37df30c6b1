// How often each bound of the settings was reached: every limit has a counter (design: rule 6).

import Diagnostics
public import HTTPWire

/// The bounds of the settings beside those on the octets of a message (`WireLimit`), each named as its setting is.
public enum ReachedLimit: String, CaseIterable, Sendable {
  case ranges = "ranges"
  case headTimeout = "clients_head_timeout"
  case idleTimeout = "clients_idle_timeout"
  /// A request's body stood still, or came slower than `clients.minimum_rate`.
  case bodyTimeout = "clients_body_timeout"
  /// A client took nothing, or less than `clients.minimum_rate`.
  case sendTimeout = "clients_send_timeout"
  /// A client had ended its direction, and its response had not begun in time.
  case halfClosedTimeout = "clients_half_closed_timeout"
  case connections = "clients_connections"
  case connectionsPerAddress = "clients_connections_per_address"
  case requestsPerConnection = "clients_requests_per_connection"
  case tunnelIdleTimeout = "tunnels_idle_timeout"
}

/// One counter for each bound.
public final class LimitCounters: Sendable {
  private final class Box: Sendable {
    let counter = Counter()
  }

  private let wire = Dictionary(uniqueKeysWithValues: WireLimit.allCases.map { ($0, Box()) })
  private let other = Dictionary(uniqueKeysWithValues: ReachedLimit.allCases.map { ($0, Box()) })

  public init() {}

  public func add(_ limit: WireLimit) { wire[limit]?.counter.add() }
  public func add(_ limit: ReachedLimit) { other[limit]?.counter.add() }

  /// What was counted, by the names of the limits.
  public var values: [(name: String, value: UInt64)] {
    WireLimit.allCases.map { ($0.rawValue, wire[$0]?.counter.value ?? 0) }
      + ReachedLimit.allCases.map { ($0.rawValue, other[$0]?.counter.value ?? 0) }
  }
}

extension ProxyCounters {
  /// Counts the bound that a message ran into, if it was one.
  func count(_ error: WireError) {
    if let limit = error.limit { limits.add(limit) }
  }
}
