// A body that was small when it was packed, and has a file of its own by the time it goes: the file goes with it.
import Spans
import Testing

@testable import Store

@Suite struct OutgrownBodyTests {
  /// How a response ends before the index has learnt where its body is now.
  enum End: CaseIterable, Sendable {
    case evicted, removed, discarded

    fileprivate func befall(_ entry: StoredEntry, in store: Store) async {
      switch self {
      case .evicted: #expect(await store.makeRoom(for: store.statistics.capacity / 2) != nil)
      case .removed: store.remove(entry)
      case .discarded: entry.representation.discard()
      }
    }
  }

  @Test(arguments: End.allCases) func aBodyThatHasLeftItsPackTakesItsFileAlong(_ end: End) async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 1 << 20))
    var entry: StoredEntry? = try await store.fill("it", total: nil, [ByteSpan(0, 1000)])
    // Packed, and the index says so.
    await store.sync()
    try await entry?.representation.fill(ByteSpan(1000, 700_000))
    #expect(directory.bodies.count == 1)
    if let entry { await end.befall(entry, in: store) }
    entry = nil
    for _ in 0..<3 { await store.sync() }
    #expect(directory.bodies.isEmpty)
    #expect(store.statistics.bytesStored < 100_000)
    #expect(store.statistics.representations == 0)
    await store.close()
  }

  /// Of what has gone the index may know less than its object did: nobody else deletes it until that has been heard.
  @Test func whatHasGoneIsDepartingUntilItsDataIsSeenTo() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    var entry: StoredEntry? = try await store.fill("it", total: nil, [ByteSpan(0, 300_000)])
    let id = try #require(entry?.representation.id)
    await store.sync()
    if let entry { store.remove(entry) }
    #expect(!store.engine.registry.isDeparting(id))
    entry = nil
    #expect(store.engine.registry.isDeparting(id))
    await store.sync()
    #expect(!store.engine.registry.isDeparting(id))
    #expect(directory.bodies.isEmpty)
    await store.close()
  }

  /// Whoever comes first, the one that removes a response or the one that lets go of its body last: the account agrees
  /// with the disk.
  @Test func nothingIsLostSightOfBesideEviction() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 4 << 20))
    for round in 0..<60 {
      let name = "\(round % 3)"
      try await store.fill(name, total: nil, [ByteSpan(0, 1000)])
      if round % 4 == 0 { await store.sync() } else { await store.flush() }
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          guard let entry = await store.entries(for: key(name)).first else { return }
          try? await entry.representation.fill(ByteSpan(1000, 300_000))
        }
        group.addTask { if round % 2 == 0 { store.removeAll(for: key(name)) } }
        group.addTask { _ = await store.makeRoom(for: 3 << 20) }
      }
    }
    for name in 0..<3 { store.removeAll(for: key("\(name)")) }
    for _ in 0..<3 { await store.sync() }
    #expect(directory.bodies.isEmpty)
    #expect(store.statistics.bytesStored < 300_000)
    #expect(store.statistics.representations == 0)
    await store.close()
  }
}
