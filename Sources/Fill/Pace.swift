// How many connections the body of one object is worth: a pure value, the time is passed in.

/// Decides by what arrives when to add connections, and whether those that were added paid.
///
/// One connection is watched first. Where it is slow, and stays slow, connections are doubled step by step; a step
/// that does not raise the total by a worthwhile share is taken back, and that was the last.
struct Pace: Sendable {
  enum Step: Equatable, Sendable {
    case stay
    /// More connections may pay. `grew(to:)` says that there are more now; else it is proposed again.
    case grow(to: Int)
    /// The last ones did not pay.
    case shrink(to: Int)
  }

  private enum Phase: Sendable {
    /// Intervals in a row that were slow.
    case watching(slow: Int)
    /// There are more than `count` now, which brought `rate` together; `misses` intervals were no better.
    case judging(count: Int, rate: Double, misses: Int)
    case settled
  }

  /// The most connections there may be.
  let most: Int
  /// How many there are to be.
  private(set) var connections = 1
  /// How many there are to be in the end, as far as can be told.
  var expected: Int {
    switch phase {
    case .watching, .judging: most
    case .settled: connections
    }
  }
  private var phase = Phase.watching(slow: 0)
  /// The bytes per second that the next step is compared with.
  private var baseline = 0.0
  /// What is gone back to where a step does not pay, if that is not the count before it.
  private var proven: Int?
  private var throughput = Throughput(interval: Self.interval)
  /// What this count of connections has brought, and since when: over a longer time bursts even out.
  private var level: (began: Double, bytes: UInt64)?

  init(most: Int) { self.most = most }

  /// The bytes per second of all connections together; nil before they are known.
  var rate: Double? { throughput.average }

  /// Bytes have arrived on any of the connections.
  ///
  /// - Parameter isSteady: false while a connection that was added has not brought its first byte.
  mutating func received(_ count: UInt64, at now: Double, isSteady: Bool) -> Step {
    guard isSteady else {
      throughput.interrupt()
      return .stay
    }
    defer { level = (level?.began ?? now, (level?.bytes ?? 0) + count) }
    guard let rate = throughput.received(count, at: now) else { return .stay }
    switch phase {
    case .settled: return .stay
    case .watching(let slow):
      phase = .watching(slow: rate < Self.fast ? slow + 1 : 0)
      baseline = mean(at: now).map { min($0, throughput.average ?? $0) } ?? rate
      return rate < Self.fast && slow + 1 >= Self.patience ? .grow(to: min(most, connections * 2)) : .stay
    case .judging(let before, let rateBefore, let misses):
      let growth = Double(connections) / Double(before) - 1
      let mean = mean(at: now) ?? rate
      if max(rate, mean) >= rateBefore * (1 + growth * Self.worthwhile) {
        proven = nil
        return goOn(at: mean)
      }
      guard misses + 1 >= Self.doubts else {
        phase = .judging(count: before, rate: rateBefore, misses: misses + 1)
        return .stay
      }
      if mean < rateBefore * Self.burst, proven == nil, connections < most {
        // Less than fewer have brought: that was a burst, and no measure. The next step is compared with this one.
        proven = before
        return goOn(at: mean)
      }
      let kept = proven ?? before
      settle(at: kept)
      return .shrink(to: kept)
    }
  }

  private mutating func goOn(at rate: Double) -> Step {
    baseline = rate
    phase = connections < most ? .watching(slow: Self.patience) : .settled
    return connections < most && rate < Self.fast ? .grow(to: min(most, connections * 2)) : .stay
  }

  /// There are more connections now.
  mutating func grew(to count: Int) {
    guard count > connections else { return }
    phase = .judging(count: connections, rate: baseline, misses: 0)
    connections = count
    throughput = Throughput(interval: Self.interval)
    level = nil
  }

  /// The bytes per second since there are so many connections.
  private func mean(at now: Double) -> Double? {
    level.flatMap { now > $0.began ? Double($0.bytes) / (now - $0.began) : nil }
  }

  /// No more is tried, and no more than `count` are kept.
  mutating func settle(at count: Int) {
    connections = min(connections, count)
    phase = .settled
  }

  /// Nobody was reading: the time up to the next arrival says nothing, and the origin is not what is slow.
  mutating func interrupt() {
    throughput.interrupt()
    level = nil
    if case .watching = phase { phase = .watching(slow: 0) }
  }

  /// An interval's shortest length, in seconds.
  static let interval = 0.2
  /// What comes as fast as this, in bytes per second, is left as it is.
  static let fast = Double(32 << 20)
  /// So many slow intervals in a row are a reason to add connections.
  static let patience = 2
  /// So many intervals without a gain in a row are a reason to take a step back: some origins send a burst a second.
  static let doubts = 6
  /// A rate below this share of what fewer connections brought says that those were measured in a burst.
  static let burst = 0.8
  /// The share of the growth in connections by which the total must grow.
  static let worthwhile = 0.3
}
