// Small bodies that are stored at once: present, persisted and refused as those that writers bring.
import CachePolicy
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct WholeBodyTests {
  private func take(_ bytes: [UInt8], _ representation: Representation, _ reservation: Reservation) -> Bool {
    representation.takeWhole(bytes, reservation: reservation)
  }

  private func whole(_ count: Int) -> [UInt8] { content(ByteSpan(0, UInt64(count))) }

  @Test(arguments: [1, 1024, 65_536])
  func aWholeBodyIsThereAtOnceAndAfterARestart(count: Int) async throws {
    let directory = try Directory()
    let span = ByteSpan(0, UInt64(count))
    do {
      let store = try Store.open(options(directory))
      let representation = store.makeRepresentation(validator: validator, total: span.upper)
      let reservation = try #require(store.reserve(span.count))
      #expect(take(whole(count), representation, reservation))
      #expect(reservation.remaining == 0)
      #expect(representation.isComplete)
      _ = store.add(response(), for: key("a"), representation: representation)
      #expect(try await representation.verified(span) == SpanSet([span]))
      #expect(store.statistics.bytesStored == span.count)
      await store.close()
    }
    let store = try Store.open(options(directory))
    let entry = try #require(await store.entries(for: key("a")).first)
    #expect(entry.representation.isComplete)
    #expect(try await entry.representation.verified(span) == SpanSet([span]))
    await store.close()
  }

  @Test func whatAJournalHasSurvivesAKill() async throws {
    let directory = try Directory()
    let span = ByteSpan(0, 1024)
    do {
      let store = try Store.open(options(directory))
      let representation = store.makeRepresentation(validator: validator, total: 1024)
      let reservation = try #require(store.reserve(1024))
      #expect(take(whole(1024), representation, reservation))
      _ = store.add(response(), for: key("a"), representation: representation)
      await store.flush()
      store.abandon()
    }
    let store = try Store.open(options(directory))
    let kept = try #require(await store.entries(for: key("a")).first)
    #expect(try await kept.representation.verified(span) == SpanSet([span]))
    await store.close()
  }

  @Test func whatIsNoWholeSmallBodyIsLeftToAWriter() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    let reservation = try #require(store.reserve(1 << 20))
    let large = whole(65_537)
    let cases: [(total: UInt64?, bytes: [UInt8])] = [(1025, whole(1024)), (nil, whole(1024)), (65_537, large), (0, [])]
    for (total, bytes) in cases {
      let representation = store.makeRepresentation(validator: validator, total: total)
      #expect(!take(bytes, representation, reservation))
      #expect(representation.presentBytes == 0)
    }
    // Something of it is there, or it is stored already.
    let begun = store.makeRepresentation(validator: validator, total: 1024)
    try await begun.fill(ByteSpan(0, 10))
    #expect(!take(whole(1024), begun, reservation))
    let stored = try await store.fill("b", total: 1024, []).representation
    #expect(!take(whole(1024), stored, reservation))
    try await stored.fill(ByteSpan(0, 1024))
    #expect(stored.isComplete)
    await store.close()
  }

  @Test func whileCommitsFailItIsNotTaken() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    let representation = store.makeRepresentation(validator: validator, total: 1024)
    let reservation = try #require(store.reserve(1024))
    store.engine.isFailing.set(1)
    #expect(!take(whole(1024), representation, reservation))
    store.engine.isFailing.set(0)
    #expect(representation.presentBytes == 0)
    await store.close()
  }
}
