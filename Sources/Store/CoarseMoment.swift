// When something was last seen, as far as a moment ago is to be told from longer ago.
import Threads

/// A second of the monotonic clock, of which 16 bits are kept: there is one for every extent in memory.
struct CoarseMoment: Equatable, Sendable {
  /// Nothing was just before any other moment but by the count's return after 18 hours, for a second.
  private let second: UInt16

  private init(second: UInt16) { self.second = second }

  init(nanoseconds: UInt64) { second = UInt16(truncatingIfNeeded: nanoseconds / 1_000_000_000) }

  static let never = CoarseMoment(second: 0)

  static var now: CoarseMoment { CoarseMoment(nanoseconds: monotonicNanoseconds()) }

  /// Whether it was in the same second or the one before: the kernel does not think of dropping so soon what was used,
  /// or written, then.
  func isJust(before now: CoarseMoment) -> Bool { self != .never && now.second &- second <= 1 }
}
