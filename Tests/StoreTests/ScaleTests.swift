// Work is counted, not timed: it must not grow with size or number of spans.
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct ScaleTests {
  @Test func aByteAmongTenThousandSpansCostsAFewRows() async throws {
    let directory = try Directory()
    let total: UInt64 = 10 << 30
    let first = try Store.open(options(directory))
    let made = first.makeRepresentation(validator: validator, total: total)
    first.add(response(), for: key("sparse"), representation: made)
    for number in 0..<10_000 as Range<UInt64> {
      let writer = made.writer(at: number << 20)
      try writer.write([UInt8(truncatingIfNeeded: number)].span.bytes)
      if writer.needsDrain { try await writer.drain() }
      writer.finish()
    }
    await first.close()
    let store = try Store.open(options(directory))
    let representation = try #require(await store.entries(for: key("sparse")).first).representation
    var rows = store.statistics.indexRowsRead
    /// Rows read since the last call.
    func cost() -> Int {
      defer { rows = store.statistics.indexRowsRead }
      return store.statistics.indexRowsRead - rows
    }
    let position: UInt64 = 7777 << 20
    #expect(await representation.presence(at: position, upTo: total) == .present(upTo: position + 1))
    #expect(try await representation.bytes(in: ByteSpan(position, total)).copied() == [UInt8(7777 & 255)])
    // The 16 spans of one segment, and the row that ends the look.
    #expect(cost() <= 17)
    #expect(await representation.gaps(in: ByteSpan(0, total), limit: 1) == [ByteSpan(1, 1 << 20)])
    #expect(cost() <= 17)
    #expect(await representation.gaps(in: ByteSpan(position, total), limit: 3).count == 3)
    #expect(cost() == 0)
    await store.close()
  }

  @Test func theFirstGapBehindCompleteSegmentsNeedsNoRows() async throws {
    let directory = try Directory()
    let segment = Segment.size
    let first = try Store.open(options(directory))
    try await first.fill(
      "a", total: segment * 1000, [ByteSpan(0, segment * 2 + 5), ByteSpan(segment * 900, segment * 900 + 1)])
    await first.close()
    let store = try Store.open(options(directory))
    let representation = try #require(await store.entries(for: key("a")).first).representation
    let before = store.statistics.indexRowsRead
    #expect(
      await representation.gaps(in: ByteSpan(0, segment * 1000), limit: 1)
        == [ByteSpan(segment * 2 + 5, segment * 900)])
    // Of the two segments at the ends of the gap, not of the 128 extents in front, nor of anything in between.
    #expect(store.statistics.indexRowsRead - before <= 4)
    await store.close()
  }

  @Test func aKeyThatIsNotThereCostsNothing() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    for number in 0..<200 { try await first.fill("\(number)", total: 10, [ByteSpan(0, 10)]) }
    await first.close()
    let store = try Store.open(options(directory))
    // The first answer of the index thread comes after it has read the keys.
    await store.flush()
    let before = store.statistics.indexRowsRead
    for number in 200..<400 { #expect(await store.entries(for: key("\(number)")).isEmpty) }
    #expect(store.statistics.indexRowsRead == before)
    #expect(store.statistics.objects == 200)
    #expect(await store.entries(for: key("7")).count == 1)
    await store.close()
  }

  @Test func aBodyIsNotWrittenTwice() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    let representation = try await store.fill("a", total: 2_000_000, [ByteSpan(100_000, 900_000)]).representation
    #expect(store.statistics.bytesWritten == 800_000)
    try await representation.fill(ByteSpan(0, 2_000_000))
    #expect(store.statistics.bytesWritten == 2_000_000)
    #expect(try await representation.verified(ByteSpan(0, 2_000_000)).totalBytes == 2_000_000)
    await store.close()
  }
}
