// When writes are left to the disk threads, and what counts as written a moment ago.
import Glibc
import Spans
import Testing

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

  @Test func aThreadThatIsBusyDoesNotSleepAndOneThatWaitsDoes() {
    let busy = Throttle.Moment.now
    while monotonicNanoseconds() < busy.nanoseconds + 5 * Self.millisecond {}
    #expect(Throttle.Moment.now.sleeps == busy.sleeps)
    let throttle = Throttle()
    throttle.watch { usleep(6000) }
    #expect(throttle.isClosed { 0 })
  }

  @Test func whatIsWrittenInOneGoIsNewForAWhile() {
    var written = JustWritten()
    #expect(!written.contains(ByteSpan(0, 1), at: 0))
    let (second, size) = (1000 * Self.millisecond, UInt64(1 << 20))
    written.note(0, size, at: second)
    written.note(size, 2 * size, at: second)
    #expect(written.contains(ByteSpan(0, 2 * size), at: second))
    #expect(!written.contains(ByteSpan(0, 2 * size + 1), at: second))
    #expect(!written.contains(ByteSpan(0, 2 * size), at: 3 * second))
    // Later bytes do not make the first ones new again.
    written.note(2 * size, 3 * size, at: 3 * second)
    #expect(!written.contains(ByteSpan(size, 3 * size), at: 3 * second))
    #expect(written.contains(ByteSpan(2 * size, 3 * size), at: 3 * second))
    // Elsewhere.
    written.note(9 * size, 10 * size, at: 3 * second)
    #expect(!written.contains(ByteSpan(2 * size, 3 * size), at: 3 * second))
    // Not more than so much of it.
    for number in 10..<UInt64(110) { written.note(number * size, (number + 1) * size, at: 3 * second) }
    #expect(!written.contains(ByteSpan(45 * size, 46 * size), at: 3 * second))
    #expect(written.contains(ByteSpan(46 * size, 110 * size), at: 3 * second))
  }
}
