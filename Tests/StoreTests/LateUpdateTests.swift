// Responses that are updated when their representation is not stored any more: they stay away, with their bytes.
import Spans
import Testing

@testable import Store

@Suite struct LateUpdateTests {
  private static let size: UInt64 = 1 << 20

  /// What may happen to a stored response between a question about it and the answer.
  enum Loss: CaseIterable, Sendable {
    case evicted, removed, variantRemoved, invalidated, discarded, superseded, replaced

    fileprivate func befall(_ entry: StoredEntry, in store: Store) async throws {
      switch self {
      case .evicted:
        // Room for all there is.
        #expect(await store.makeRoom(for: store.statistics.capacity) != nil)
      case .removed: store.remove(entry)
      case .variantRemoved: store.removeVariant(entry)
      case .invalidated: store.removeAll(for: entry.key)
      case .discarded: entry.representation.discard()
      case .superseded: entry.representation.supersede()
      case .replaced: try await store.fill("it", total: LateUpdateTests.size, [ByteSpan(0, 10)], seed: 2)
      }
    }
  }

  @Test(arguments: Loss.allCases) func whatIsLostDoesNotComeBackByAnUpdate(_ loss: Loss) async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 4 * Self.size))
    let entry = try await store.fill("it", total: Self.size, [ByteSpan(0, Self.size)])
    await store.sync()
    try await loss.befall(entry, in: store)
    let updated = store.update(entry, response("updated"))
    #expect(updated.response == response("updated"))
    #expect(updated.representation === entry.representation)
    let left = await store.entries(for: key("it"))
    if loss == .replaced {
      #expect(left.count == 1)
      #expect(left.first.map { $0.representation === entry.representation } == false)
    } else {
      #expect(left.isEmpty)
    }
    await store.close()
    let again = try Store.open(options(directory, capacity: 4 * Self.size))
    #expect(await again.entries(for: key("it")).count == left.count)
    await again.close()
    let verdict = try StoreVerifier.run(
      directory: options(directory).directory, repairs: false, report: { _ in }, progress: { _ in })
    #expect(verdict.orphans == 0)
  }

  @Test func whatHasBeenEvictedIsNotComplete() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 4 * Self.size))
    let representation = try await store.fill("it", total: Self.size, [ByteSpan(0, Self.size)]).representation
    #expect(representation.isComplete)
    try await Loss.evicted.befall(try #require(await store.entries(for: key("it")).first), in: store)
    #expect(!representation.isComplete)
    await store.close()
  }

  /// The same while it happens: whoever comes last, no response is left without its bytes.
  @Test func updatesBesideRemovalsLeaveNothingWithoutBytes() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    for _ in 0..<300 {
      let entry = try await store.fill("it", total: 10, [ByteSpan(0, 10)])
      await withTaskGroup(of: Void.self) { group in
        group.addTask { for _ in 0..<4 { store.update(entry, response("updated")) } }
        group.addTask { store.removeAll(for: key("it")) }
      }
      #expect(await store.entries(for: key("it")).allSatisfy { !$0.representation.isSuperseded })
    }
    await store.close()
  }
}
