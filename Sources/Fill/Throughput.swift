// How fast bytes come, measured from arrival to arrival: pure values, the time is passed in.

/// Bytes per second over intervals that begin and end with an arrival, and their moving average.
///
/// An origin that sends in bursts is measured over whole pauses that way, and silence is never taken for slowness
/// before it has ended.
struct Throughput: Sendable {
  /// The shortest interval, in seconds.
  let interval: Double
  /// The exponentially weighted average over the intervals, in bytes per second; nil before the first is over.
  private(set) var average: Double?
  private var began: Double?
  private var bytes: UInt64 = 0

  init(interval: Double) { self.interval = interval }

  /// Bytes have arrived.
  ///
  /// - Parameter now: seconds on a clock that never goes back.
  /// - Returns: the bytes per second of the interval that ends with this arrival.
  mutating func received(_ count: UInt64, at now: Double) -> Double? {
    guard let began, now - began >= interval else {
      began = began ?? now
      bytes += count
      return nil
    }
    let rate = Double(bytes) / (now - began)
    self.began = now
    bytes = count
    average = average.map { $0 + (rate - $0) / 2 } ?? rate
    return rate
  }

  /// The time up to the next arrival says nothing: nobody was reading.
  mutating func interrupt() {
    began = nil
    bytes = 0
  }
}

/// Whether a body comes at least as fast as it must, looked at over whole periods.
struct MinimumRate: Sendable {
  /// In bytes per second; 0 is no floor.
  let least: UInt64
  /// In seconds.
  let period: Double
  private var began: Double
  private var bytes: UInt64 = 0

  init(least: UInt64, period: Double, at now: Double) {
    self.least = least
    self.period = period
    began = now
  }

  /// Seconds from `now` to the end of the period; infinite without a floor.
  func timeLeft(at now: Double) -> Double { least == 0 ? .infinity : max(0, began + period - now) }

  mutating func received(_ count: UInt64) { bytes += count }

  /// The time up to now does not count: nobody was reading.
  mutating func restart(at now: Double) {
    began = now
    bytes = 0
  }

  /// Whether a period is over that brought too little; one that brought enough is followed by the next.
  mutating func isBroken(at now: Double) -> Bool {
    guard least > 0, now - began >= period else { return false }
    if Double(bytes) < Double(least) * (now - began) { return true }
    restart(at: now)
    return false
  }
}
