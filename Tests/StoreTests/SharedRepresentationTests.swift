// Several responses of one key with the same bytes: what happens to one leaves the other what it has.
import CachePolicy
import Spans
import Testing

@testable import Store

@Suite struct SharedRepresentations {
  private static func variant(_ value: String) -> [NominatedField] {
    [NominatedField(name: "x", value: Array(value.utf8))]
  }

  /// What becomes of the first of two responses.
  enum Change: CaseIterable {
    case none, replaced, removed, nominatesOther
  }

  @Test(arguments: [2000, 3_000_000] as [UInt64], Change.allCases)
  func theOtherKeepsItsBytes(_ total: UInt64, _ change: Change) async throws {
    let directory = try Directory()
    let whole = ByteSpan(0, total)
    var store = try Store.open(options(directory))
    var representation = store.makeRepresentation(validator: validator, total: total)
    store.add(response("1", nominated: Self.variant("1")), for: key("v"), representation: representation)
    try await representation.fill(whole)
    for isReopened in [false, true] {
      if isReopened {
        await store.close()
        store = try Store.open(options(directory))
        representation = try #require(await store.entries(for: key("v")).first).representation
      } else {
        store.add(response("2", nominated: Self.variant("2")), for: key("v"), representation: representation)
      }
    }
    let entries = await store.entries(for: key("v"))
    #expect(Set(entries.map(\.response.nominated)) == [Self.variant("1"), Self.variant("2")])
    #expect(Set(entries.map { ObjectIdentifier($0.representation) }).count == 1)
    let first = try #require(entries.first { $0.response.nominated == Self.variant("1") })
    switch change {
    case .none: break
    case .replaced:
      let other = store.makeRepresentation(validator: validator, total: 10)
      store.add(response("new", nominated: Self.variant("1")), for: key("v"), representation: other)
      try await other.fill(ByteSpan(0, 10))
    case .removed: store.removeVariant(first)
    case .nominatesOther: store.update(first, response("3", nominated: Self.variant("3")))
    }
    #expect(!representation.isSuperseded)
    await store.close()
    store = try Store.open(options(directory))
    let left = await store.entries(for: key("v"))
    #expect(left.count == (change == .removed ? 1 : 2))
    for entry in left where entry.response.nominated != Self.variant("1") || change == .none {
      #expect(entry.representation.isComplete)
      #expect(try await entry.representation.verified(whole).totalBytes == total)
    }
    await store.close()
  }

  @Test func theLastOneTakesTheBytesAlong() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    let representation = store.makeRepresentation(validator: validator, total: 3_000_000)
    for value in ["1", "2"] {
      store.add(response(value, nominated: Self.variant(value)), for: key("v"), representation: representation)
    }
    try await representation.fill(ByteSpan(0, 3_000_000))
    await store.sync()
    for value in ["1", "2"] {
      #expect(!representation.isSuperseded)
      let other = store.makeRepresentation(validator: validator, total: 10)
      store.add(response("new", nominated: Self.variant(value)), for: key("v"), representation: other)
    }
    #expect(representation.isSuperseded)
    await store.close()
  }

  /// A 304 may make another variant of the only response there is.
  @Test func otherNominatedFieldsLoseNothing() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    let entry = try await first.fill("v", total: 1000, [ByteSpan(0, 1000)])
    await first.sync()
    first.update(entry, response("v", nominated: Self.variant("1")))
    await first.close()
    let second = try Store.open(options(directory))
    let found = await second.entries(for: key("v"))
    #expect(found.map(\.response.nominated) == [Self.variant("1")])
    #expect(try await found.first?.representation.verified(ByteSpan(0, 1000)).totalBytes == 1000)
    await second.close()
  }
}
