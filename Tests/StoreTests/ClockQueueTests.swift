// What can be had again is counted as long as it is there, and no longer.
import HTTPMessage
import Spans
import Synchronization
import Testing

@testable import Store

@Suite struct ClockQueueTests {
  @Test func whatHasJustComeInDoesNotGoAtOnce() async throws {
    let store = try Store.open(options(try Directory()))
    let representation = store.makeRepresentation(validator: .none, total: 1)
    let looks = Mutex<[UInt64: Int]>([:])
    // As a part is that was used: kept at the first look, and let go of at the next.
    let queue = ClockQueue(limit: 5) { _, part in
      looks.withLock { looks in
        looks[part, default: 0] += 1
        return looks[part] == 1 ? nil : 10
      }
    }
    queue.enter(representation, part: 1, size: 10)
    #expect(queue.total == 10)
    #expect(looks.withLock { $0 } == [1: 1])
    queue.enter(representation, part: 2, size: 10)
    #expect(queue.total == 10)
    #expect(looks.withLock { $0 } == [1: 2, 2: 1])
    await store.close()
  }

  @Test func thoseThatHaveGoneDoNotPileUp() async throws {
    let store = try Store.open(options(try Directory()))
    let queue = ClockQueue(limit: .max) { _, _ in nil }
    let kept = (0..<1000).map { _ in store.makeRepresentation(validator: .none, total: 1) }
    for representation in kept { queue.enter(representation, part: 0, size: 1) }
    for _ in 0..<20_000 { queue.enter(store.makeRepresentation(validator: .none, total: 1), part: 0, size: 1) }
    #expect(queue.count < 3000)
    #expect(queue.count >= kept.count)
    await store.close()
  }

  @Test(.timeLimit(.minutes(1))) func segmentsCountAsLongAsTheirRepresentationsAreThere() async throws {
    let directory = try Directory()
    var settings = options(directory)
    // No key stays in memory, nor many segments.
    settings.memoryBudget = 1
    let names = (0..<40).map { "object \($0)" }
    let spans = (0..<100).map { ByteSpan(UInt64($0) * 1000, UInt64($0) * 1000 + 10) }
    let store = try Store.open(settings)
    for name in names { try await store.fill(name, total: 200_000, spans) }
    await store.close()
    let again = try Store.open(settings)
    for name in names {
      let entry = try #require(await again.entries(for: key(name)).first)
      #expect(try await entry.representation.verified(ByteSpan(0, 200_000)) == SpanSet(spans))
      let total = again.engine.segments.total
      // Where what has gone went on counting, what is read next could never stay.
      try #require(total <= 2048, "\(total) after \(name)")
    }
    await again.close()
  }
}
