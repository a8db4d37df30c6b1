// What of a file was written a moment ago, and is in the page cache for that reason.
import Spans

/// The end of what has been written in one go. It is resident without asking: the kernel has either not written it to the
/// disk yet, and keeps it, or has only just done so.
struct JustWritten {
  /// How long bytes count as just written, in nanoseconds: the kernel does not think of dropping them so soon.
  private static let moment: UInt64 = 2_000_000_000
  /// No more than so many bytes do.
  private static let most: UInt64 = 64 << 20

  private var span = ByteSpan(0, 0)
  /// When the first of them were written, in nanoseconds of the monotonic clock.
  private var began: UInt64 = 0

  mutating func note(_ lower: UInt64, _ upper: UInt64, at now: UInt64) {
    if lower == span.upper, now < began + Self.moment {
      span = ByteSpan(max(span.lower, upper - min(upper, Self.most)), upper)
    } else {
      span = ByteSpan(lower, upper)
      began = now
    }
  }

  func contains(_ window: ByteSpan, at now: UInt64) -> Bool {
    span.lower <= window.lower && window.upper <= span.upper && now < began + Self.moment
  }
}
