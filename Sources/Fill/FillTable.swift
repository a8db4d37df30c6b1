// The traffic of every representation that is read or filled right now, and what all fills share.

public import Configuration
public import Diagnostics
public import HTTPMessage
public import Store
import Synchronization

/// Counters of fills, shared by all workers.
public final class FillCounters: Sendable {
  /// Fills begun.
  public let begun = Counter()
  /// Upstream exchanges that continued a fill after it was cut off.
  public let resumptions = Counter()
  /// Present bytes that were fetched again to bridge two gaps.
  public let bridgedBytes = Counter()
  /// Bytes received that were present already, or beyond the claim.
  public let skippedBytes = Counter()
  /// Answers refused because they did not fit what was asked.
  public let wrongAnswers = Counter()
  /// Representations superseded because the origin had changed.
  public let superseded = Counter()
  /// Fills that ended because nobody read any more.
  public let cancelled = Counter()
  /// Fills whose bytes the store could not take.
  public let storageFailures = Counter()
  /// Fills begun beside a slow one, to bring part of what it had claimed.
  public let helpers = Counter()
  /// Requests that joined a fill already under way.
  public let follows = Counter()

  public init() {}
}

/// All fills of the process. Shared by all workers.
public final class FillTable: Sendable {
  public let store: Store
  public let settings: Settings
  public let log: Log
  public let counters = FillCounters()
  /// The comparison of what fills have completed with what origins stated.
  public let digests: DigestCheck
  /// How many connections for one object origins take.
  let origins = OriginLimits()
  private let limits: FillLimits
  private let traffics = Mutex<[UInt64: WeakTraffic]>([:])

  private struct WeakTraffic {
    weak var traffic: Traffic?
  }

  private let clock: Clock

  public init(store: Store, settings: Settings, clock: Clock, log: Log) {
    self.store = store
    self.settings = settings
    self.clock = clock
    self.log = log
    digests = DigestCheck(store: store, settings: settings, log: log)
    limits = FillLimits(
      readAhead: settings.fills.readAhead, finishIfMissing: settings.fills.finishIfMissing,
      finishIfDone: settings.fills.finishIfDone)
  }

  /// The wall clock's time.
  public func now() -> Timestamp { Timestamp(seconds: clock.now()) }

  /// The traffic of a representation; it lives as long as somebody holds it.
  public func traffic(of representation: Representation) -> Traffic {
    traffics.withLock { table in
      if let known = table[representation.id]?.traffic { return known }
      let traffic = Traffic(limits: limits) { [weak representation] from, to in
        guard let representation else { return (.max, 0) }
        guard let total = representation.total, total > 0 else { return (to == .max ? .max : to - min(from, to), 0) }
        let missing = total - min(total, representation.presentBytes)
        let end = min(to, total)
        return (min(missing, end - min(from, end)), 1 - Double(missing) / Double(total))
      }
      table[representation.id] = WeakTraffic(traffic: traffic)
      // Dead entries are swept when the table has doubled, so that a look-up stays cheap.
      if table.count > 1024, table.count.nonzeroBitCount == 1 { table = table.filter { $0.value.traffic != nil } }
      return traffic
    }
  }
}
