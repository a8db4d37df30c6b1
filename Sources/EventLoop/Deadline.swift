// A point on the monotonic clock: when a wait is over.

import CLibevent
import Glibc
import Threads

/// A point on the monotonic clock. Steps of the wall clock do not move it.
public struct Deadline: Hashable, Comparable, Sendable {
  /// Nanoseconds of CLOCK_MONOTONIC.
  let nanoseconds: UInt64

  init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// A point that never comes.
  public static let never = Deadline(nanoseconds: .max)

  /// This moment.
  public static var now: Deadline { Deadline(nanoseconds: monotonicNanoseconds()) }

  /// The point `seconds` from now; `never` where that is beyond the clock, now where it is negative.
  public static func after(seconds: Double) -> Deadline { now.advanced(bySeconds: seconds) }

  /// The point `duration` from now.
  public static func after(_ duration: Duration) -> Deadline { after(seconds: duration.inSeconds) }

  /// The seconds from `earlier` to this point; 0 where that one is later.
  public func seconds(since earlier: Deadline) -> Double {
    Double(nanoseconds - min(nanoseconds, earlier.nanoseconds)) / 1e9
  }

  public static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

  func advanced(bySeconds seconds: Double) -> Deadline {
    guard seconds > 0 else { return self }
    // A century is never; it also keeps the conversion below in range.
    guard seconds < 3_155_760_000 else { return .never }
    let (sum, overflow) = nanoseconds.addingReportingOverflow(UInt64(seconds * 1e9))
    return overflow ? .never : Deadline(nanoseconds: sum)
  }
}

extension Duration {
  /// The duration in seconds, with its fraction.
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
