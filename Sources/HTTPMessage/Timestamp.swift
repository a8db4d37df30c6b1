// A moment in whole seconds, the resolution of every date in HTTP.

/// Seconds since 1970-01-01T00:00:00Z without leap seconds. Policy takes it as an argument and never reads a clock.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Seconds since 1970 (UTC); negative before.
  public var seconds: Int64

  public init(seconds: Int64) { self.seconds = seconds }

  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.seconds < right.seconds }

  /// The seconds from `right` to `left`; saturates instead of overflowing.
  public static func - (left: Timestamp, right: Timestamp) -> Int64 {
    let (difference, overflow) = left.seconds.subtractingReportingOverflow(right.seconds)
    return overflow ? (left.seconds < 0 ? .min : .max) : difference
  }

  /// The moment so many seconds later; saturates instead of overflowing.
  public static func + (left: Timestamp, right: Int64) -> Timestamp {
    let (sum, overflow) = left.seconds.addingReportingOverflow(right)
    return Timestamp(seconds: overflow ? (right < 0 ? .min : .max) : sum)
  }
}
