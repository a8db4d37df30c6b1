// Noticing that the disk makes writers wait, which a loop must not do.
import CLMDB
import Glibc
import Synchronization
import Threads

/// Tells loops to leave writing to the disk threads for a while: the kernel makes a writer sleep when too much is dirty.
///
/// Opens again when writes, on whichever thread, have not been made to wait for `closed` nanoseconds.
final class Throttle: Sendable {
  /// A write of a window takes some 0.1 ms; one that took this long, and slept, was made to wait.
  private static let slow: UInt64 = 4_000_000
  /// How long writes go to the disk threads after the last that was made to wait.
  static let closed: UInt64 = 50_000_000

  private let closedUntil = Atomic<UInt64>(0)

  /// Where a thread stands: the time, and how often it has given the processor away because it had to wait. One that is
  /// preempted loses time as well, but has not waited.
  struct Moment {
    /// Of the monotonic clock.
    var nanoseconds: UInt64
    var sleeps: Int

    static var now: Moment { Moment(nanoseconds: monotonicNanoseconds(), sleeps: larder_thread_sleeps()) }
  }

  var isClosed: Bool { isClosed(at: monotonicNanoseconds) }

  /// - Parameter now: nanoseconds of the monotonic clock; not asked where nothing has ever waited.
  func isClosed(at now: () -> UInt64) -> Bool {
    let until = closedUntil.load(ordering: .relaxed)
    return until != 0 && now() < until
  }

  /// Runs a write on this thread and notes whether it was made to wait.
  ///
  /// - Parameter now: where this thread stands.
  func watch<Failure: Error>(
    _ write: () throws(Failure) -> Void, now: () -> Moment = { .now }
  ) throws(Failure) {
    let start = now()
    defer { note(from: start, to: now()) }
    try write()
  }

  func note(from start: Moment, to end: Moment) {
    guard end.sleeps > start.sleeps, end.nanoseconds > start.nanoseconds + Self.slow else { return }
    closedUntil.store(end.nanoseconds + Self.closed, ordering: .relaxed)
  }
}
