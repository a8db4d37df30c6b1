// The wall clock, which a test can move.

import Glibc
import Synchronization

/// Tells the seconds since 1970-01-01T00:00:00Z, without leap seconds. May be asked on any thread.
public final class Clock: Sendable {
  private let manual: Mutex<Int64>?

  private init(manual: Int64?) {
    if let manual { self.manual = Mutex(manual) } else { self.manual = nil }
  }

  /// The system's clock.
  public static let system = Clock(manual: nil)

  /// A clock that stands at `start` until it is moved.
  public static func manual(_ start: Int64) -> Clock { Clock(manual: start) }

  /// The current time in seconds.
  public func now() -> Int64 {
    if manual != nil { return manual?.withLock { $0 } ?? 0 }
    var time = timespec()
    clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return Int64(time.tv_sec)
  }

  /// Moves a manual clock; the system's clock does not let itself be moved.
  public func advance(by seconds: Int64) {
    precondition(manual != nil, "only a manual clock can be moved")
    manual?.withLock { $0 += seconds }
  }
}
