// A store's promises, from outside: what was stored is there, also after a restart, and nothing else.
import CachePolicy
import Glibc
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct RoundTrips {
  /// Small and partial, small and whole, large with holes, larger than a segment, of unknown length.
  static let shapes: [(name: String, total: UInt64?, spans: [ByteSpan])] = [
    ("small-partial", 10_000, [ByteSpan(100, 200), ByteSpan(5000, 9999)]),
    ("small-whole", 64 << 10, [ByteSpan(0, 64 << 10)]),
    ("empty", 0, []),
    ("large-holes", 3_000_000, [ByteSpan(1, 2), ByteSpan(262_143, 262_145), ByteSpan(1_000_000, 2_500_000)]),
    ("segments", 40 << 20, [ByteSpan(0, 17 << 20), ByteSpan(33 << 20, 40 << 20)]),
    ("unknown-small", nil, [ByteSpan(0, 1000)]),
    ("unknown-grown", nil, [ByteSpan(0, 700_000)]),
  ]

  @Test(arguments: shapes.indices)
  func whatWasWrittenIsThereAtOnce(shape: Int) async throws {
    let shape = Self.shapes[shape]
    let directory = try Directory()
    let store = try Store.open(options(directory))
    let representation = try await store.fill(shape.name, total: shape.total, shape.spans).representation
    try await check(representation, shape.total, shape.spans)
    await store.close()
  }

  @Test(arguments: shapes.indices, [true, false])
  func whatWasWrittenIsThereAfterARestart(shape: Int, isOrderly: Bool) async throws {
    let shape = Self.shapes[shape]
    let directory = try Directory()
    let first = try Store.open(options(directory))
    try await first.fill(shape.name, total: shape.total, shape.spans)
    if isOrderly {
      await first.close()
    } else {
      await first.flush()
      first.abandon()
    }
    let store = try Store.open(options(directory))
    let entry = try #require(await store.entries(for: key(shape.name)).first)
    #expect(entry.response == response(shape.name))
    #expect(entry.representation.validator == validator)
    try await check(entry.representation, shape.total, shape.spans)
    #expect(store.statistics.checksumErrors == 0)
    await store.close()
  }

  private func check(_ representation: Representation, _ total: UInt64?, _ spans: [ByteSpan]) async throws {
    let expected = SpanSet(spans)
    let everything = ByteSpan(0, total ?? 1 << 20)
    #expect(representation.total == total)
    #expect(representation.presentBytes == expected.totalBytes)
    #expect(representation.isComplete == (total == expected.totalBytes))
    #expect(try await representation.verified(everything) == expected)
    var gaps: [ByteSpan] = []
    var position: UInt64 = 0
    while let gap = await representation.gaps(in: ByteSpan(position, everything.upper), limit: 1).first {
      gaps.append(gap)
      position = gap.upper
      if position == everything.upper { break }
    }
    #expect(SpanSet(gaps).spans == expected.gaps(in: everything))
  }

  @Test func partialObjectsAreContinuedAfterARestart() async throws {
    let directory = try Directory()
    let total: UInt64 = 20 << 20
    let first = try Store.open(options(directory))
    try await first.fill("a", total: total, [ByteSpan(0, 5_000_001)])
    try await first.fill("b", total: 1000, [ByteSpan(0, 10), ByteSpan(500, 600)])
    await first.close()
    let second = try Store.open(options(directory))
    let a = try #require(await second.entries(for: key("a")).first).representation
    let b = try #require(await second.entries(for: key("b")).first).representation
    for gap in await a.gaps(in: ByteSpan(0, total), limit: 9) { try await a.fill(gap) }
    for gap in await b.gaps(in: ByteSpan(0, 1000), limit: 9) { try await b.fill(gap) }
    #expect(a.isComplete && b.isComplete)
    await second.close()
    let third = try Store.open(options(directory))
    for (name, total) in [("a", total), ("b", 1000)] {
      let representation = try #require(await third.entries(for: key(name)).first).representation
      #expect(representation.isComplete)
      #expect(try await representation.verified(ByteSpan(0, total)).totalBytes == total)
    }
    await third.close()
  }

  @Test func aLossOfPowerLeavesOnlyWhatWasCommitted() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    try await first.fill("kept", total: 1 << 20, [ByteSpan(0, 1 << 20)])
    await first.sync()
    try await first.fill("lost", total: 1 << 20, [ByteSpan(0, 1 << 20)])
    await first.flush()
    first.abandon()
    let second = try Store.open(options(directory), boot: "another boot")
    #expect(await second.entries(for: key("lost")).isEmpty)
    let kept = try #require(await second.entries(for: key("kept")).first).representation
    #expect(try await kept.verified(ByteSpan(0, 1 << 20)).totalBytes == 1 << 20)
    await second.close()
  }

  @Test func numbersOfRepresentationsAreNeverUsedTwice() async throws {
    let directory = try Directory()
    var seen: Set<UInt64> = []
    for boot in ["a", "b", "c"] {
      let store = try Store.open(options(directory), boot: boot)
      for _ in 0..<10 { #expect(seen.insert(store.makeRepresentation(validator: .none, total: nil).id).inserted) }
      store.abandon()
    }
  }
}

@Suite struct Responses {
  @Test func variantsStandSideBySideAndReplaceTheirLike() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    func variant(_ coding: String) -> [NominatedField] {
      [NominatedField(name: "accept-encoding", value: Array(coding.utf8))]
    }
    let absent = [NominatedField(name: "accept-encoding", value: nil)]
    for nominated in [variant("gzip"), variant("br"), absent] {
      let representation = store.makeRepresentation(validator: validator, total: 3)
      store.add(response(nominated: nominated), for: key("v"), representation: representation)
    }
    #expect(await store.entries(for: key("v")).count == 3)
    let old = try #require(await store.entries(for: key("v")).first { $0.response.nominated == variant("gzip") })
    let newer = store.makeRepresentation(validator: .none, total: 4)
    store.add(response("new", nominated: variant("gzip")), for: key("v"), representation: newer)
    #expect(old.representation.isSuperseded)
    #expect(await store.entries(for: key("v")).count == 3)
    await store.close()

    let again = try Store.open(options(directory))
    let entries = await again.entries(for: key("v"))
    #expect(Set(entries.map(\.response.nominated)) == [variant("gzip"), variant("br"), absent])
    #expect(entries.first { $0.response.nominated == variant("gzip") }?.response.fields.first("X-Note") == "new")
    await again.close()
  }

  @Test func anUpdateKeepsTheBytes() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    let entry = try await store.fill("u", total: 100_000, [ByteSpan(0, 70_000)])
    let updated = store.update(entry, response("fresher"))
    #expect(updated.representation === entry.representation)
    #expect(!entry.representation.isSuperseded)
    await store.close()
    let again = try Store.open(options(directory))
    let entries = await again.entries(for: key("u"))
    #expect(entries.map(\.response) == [response("fresher")])
    #expect(entries.first?.representation.presentBytes == 70_000)
    await again.close()
  }

  @Test(arguments: [true, false])
  func whatWasRemovedIsGoneAndItsFileToo(isRestartedBefore: Bool) async throws {
    let directory = try Directory()
    var store = try Store.open(options(directory))
    try await store.fill("one", total: 100_000, [ByteSpan(0, 100_000)])
    try await store.fill("two", total: 100_000, [ByteSpan(0, 100_000)])
    try await store.fill("small", total: 10, [ByteSpan(0, 10)])
    await store.sync()
    if isRestartedBefore {
      await store.close()
      store = try Store.open(options(directory))
    }
    store.removeAll(for: key("one"))
    store.removeAll(for: key("small"))
    if let entry = await store.entries(for: key("two")).first { store.remove(entry) }
    for name in ["one", "two", "small"] { #expect(await store.entries(for: key(name)).isEmpty) }
    await store.close()
    #expect(directory.snapshot().keys.filter { $0.contains("/bodies/") }.isEmpty)
    let again = try Store.open(options(directory))
    for name in ["one", "two", "small"] { #expect(await again.entries(for: key(name)).isEmpty) }
    await again.close()
  }

  @Test func aSupersededRepresentationServesThoseWhoHaveIt() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    var old: StoredEntry? = try await store.fill("s", total: 200_000, [ByteSpan(0, 200_000)])
    await store.sync()
    try await store.fill("s", total: 300_000, [ByteSpan(0, 100)], seed: 2)
    await store.sync()
    if let old {
      #expect(old.representation.isSuperseded)
      #expect(try await old.representation.verified(ByteSpan(0, 200_000)).totalBytes == 200_000)
    }
    #expect(directory.snapshot().keys.filter { $0.contains("/bodies/") }.count == 2)
    old = nil
    await store.sync()
    await store.sync()
    #expect(directory.snapshot().keys.filter { $0.contains("/bodies/") }.count == 1)
    await store.close()
  }

  @Test func nothingIsPersistedBeforeAResponseRefersToIt() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    var representation: Representation? = store.makeRepresentation(validator: validator, total: 200_000)
    try await representation?.fill(ByteSpan(0, 200_000))
    await store.sync()
    #expect(store.statistics.representations == 0)
    #expect(store.statistics.bytesStored == 200_704)
    representation = nil
    await store.sync()
    await store.sync()
    #expect(store.statistics.bytesStored == 0)
    await store.close()
    #expect(directory.snapshot().keys.filter { $0.contains("/bodies/") }.isEmpty)
  }
}
