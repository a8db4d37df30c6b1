// A moment ago, by the second.

import Spans
import Testing

@testable import Store

@Suite struct CoarseMomentTests {
  @Test(
    "what was in the same second or the one before was just now, also where the count begins anew",
    arguments: [
      (10.0, 10.9, true), (10.0, 11.9, true), (10.9, 12.0, false), (10.0, 9.0, false), (10.0, 3600, false),
      (65_535.5, 65_536.5, true), (65_537.0, 65_538.0, true), (65_534.5, 65_537.0, false),
    ] as [(Double, Double, Bool)])
  func isJust(_ then: Double, _ now: Double, _ isJust: Bool) {
    #expect(moment(then).isJust(before: moment(now)) == isJust)
  }

  @Test func neverWasJustNow() {
    for second in [0.0, 1.0, 2.0, 65_535.0, 65_536.0] { #expect(!CoarseMoment.never.isJust(before: moment(second))) }
  }

  @Test func whatIsFoundResidentIsNotedForTheExtentsThatHaveIt() {
    var segment = Segment(isLoaded: true)
    let size = Extent.largest
    for number in 0..<UInt64(4) {
      segment.put(Extent(lower: number * size, checksum: 0, length: UInt32(size), isChecked: true))
    }
    segment.noteResident(ByteSpan(size + 1, 2 * size + 1), at: moment(5))
    #expect(segment.extents.map(\.seen) == [.never, moment(5), moment(5), .never])
    // What somebody else has changed may be anywhere.
    segment.uncheck()
    #expect(segment.extents.allSatisfy { $0.seen == .never && !$0.isChecked })
  }

  private func moment(_ seconds: Double) -> CoarseMoment { CoarseMoment(nanoseconds: UInt64(seconds * 1e9)) }
}
