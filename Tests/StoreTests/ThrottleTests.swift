// When writes are left to the disk threads, and what counts as written a moment ago.
import Glibc
import Spans
import Testing
import Threads

@testable import Store

struct ThrottleTests {
  private static let millisecond: UInt64 = 1_000_000

  /// What a write took, how often its thread slept, and whether writing is left to others for that.
  @Test(arguments: [
    (milliseconds: 0, sleeps: 0, closes: false),
    // Preempted: nothing waited for the disk.
    (milliseconds: 40, sleeps: 0, closes: false),
    (milliseconds: 1, sleeps: 1, closes: false),
    (milliseconds: 40, sleeps: 1, closes: true),
  ])
  func onlyAWriteThatSleptForLongCloses(_ write: (milliseconds: Int, sleeps: Int, closes: Bool)) {
    let throttle = Throttle()
    let start = Throttle.Moment(nanoseconds: 1000, sleeps: 7)
    let end = Throttle.Moment(
      nanoseconds: 1000 + UInt64(write.milliseconds) * Self.millisecond, sleeps: 7 + write.sleeps)
    throttle.note(from: start, to: end)
    #expect(throttle.isClosed { end.nanoseconds } == write.closes)
    #expect(throttle.isClosed { end.nanoseconds + Throttle.closed - 1 } == write.closes)
    #expect(!throttle.isClosed { end.nanoseconds + Throttle.closed })
  }

  @Test func aWriteIsWatchedFromItsBeginningToItsEnd() {
    let throttle = Throttle()
    var moment = Throttle.Moment(nanoseconds: 1000, sleeps: 7)
    throttle.watch(
      {
        moment.nanoseconds += 5 * Self.millisecond
        moment.sleeps += 1
      }, now: { moment })
    #expect(throttle.isClosed { moment.nanoseconds })
  }

  @Test func aThreadThatIsBusyDoesNotSleepAndOneThatWaitsDoes() {
    let busy = Throttle.Moment.now
    while monotonicNanoseconds() < busy.nanoseconds + 5 * Self.millisecond {}
    #expect(Throttle.Moment.now.sleeps == busy.sleeps)
    // Whether this thread has to wait for the end of another is up to the system; some time it has.
    var rounds = 0
    while Throttle.Moment.now.sleeps == busy.sleeps, rounds < 10_000 {
      var other = pthread_t()
      guard pthread_create(&other, nil, { _ in nil }, nil) == 0 else { break }
      pthread_join(other, nil)
      rounds += 1
    }
    #expect(Throttle.Moment.now.sleeps > busy.sleeps)
  }
}
