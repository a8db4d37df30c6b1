// Upstream: origins, the pool of connections to them, and exchanges of one request and its response.

public import Diagnostics

/// Counters of what upstream was asked and what it sent, shared by all workers.

public final class UpstreamCounters: Sendable {
  /// Connections made.
  public let connections = Counter()
  /// Requests written, repeated ones included.
  public let requests = Counter()
  /// Body bytes received, after the transfer coding was taken off.
  public let bodyBytes = Counter()
  /// Requests sent again because a kept connection had died.
  public let repeatedRequests = Counter()
  /// Exchanges that ended without a complete response.
  public let failures = Counter()

  /// Responses refused because too many interim ones came before them.
  public let excessiveInterims = Counter()

  public init() {}
}
