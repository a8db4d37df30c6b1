// What the proxy counts, shared by all workers.

public import Diagnostics
public import Synchronization

/// Counters of client connections, requests and refusals since the start.
public final class ProxyCounters: Sendable {
  public let connections = Counter()
  /// Open now; a gauge.
  public let openConnections = Atomic<Int>(0)
  public let requests = Counter()
  /// Requests answered wholly from the store.
  public let hits = Counter()
  /// Requests answered in part from the store.
  public let partialHits = Counter()
  public let misses = Counter()
  public let passes = Counter()
  public let tunnels = Counter()
  /// Stale responses that were validated while they were being served.
  public let backgroundValidations = Counter()
  public let bodyBytes = Counter()
  public let bodyBytesFromCache = Counter()
  public let bodyBytesFromUpstream = Counter()
  /// Requests refused because they were malformed.
  public let malformedRequests = Counter()
  /// Requests refused by the access rules.
  public let forbidden = Counter()
  /// Connections closed at once because there were too many.
  public let shedConnections = Counter()
  /// Responses cut off because what was missing could not be had.
  public let abortedResponses = Counter()
  /// Responses that the client did not take to the end.
  public let clientsGone = Counter()
  /// Stored responses served with their gzip coding taken off.
  public let decodedResponses = Counter()
  /// Stored responses served with a gzip coding put on.
  public let encodedResponses = Counter()

  /// How often each limit was reached.
  public let limits = LimitCounters()

  public init() {}
}
