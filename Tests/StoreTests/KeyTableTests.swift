// The table of keys: what has changed is written once, and is not forgotten before.
import CachePolicy
import HTTPMessage
import Spans
import Synchronization
import Testing

@testable import Store

@Suite struct KeyTableTests {
  /// A stored response of a store that has nothing to do with the table.
  private func entry(_ name: String, nominated: [NominatedField] = [], in store: Store) -> StoredEntry {
    StoredEntry(
      key: key(name), response: response(name, nominated: nominated),
      representation: store.makeRepresentation(validator: .none, total: 1))
  }

  @Test func whatIsStoredWhileARemovalIsBeingLoadedIsNotForgotten() async throws {
    let store = try Store.open(options(try Directory()))
    // As small as can be: what may be forgotten is.
    let table = KeyTable(costLimit: 1)
    _ = table.removeAll(key("it"), below: 1)
    let stored = entry("it", in: store)
    _ = table.put(stored)
    _ = table.load(key("it"), [])
    // It is looked for with every key that comes into its part of the table.
    for number in 0..<64 { _ = table.put(entry("\(number)", in: store)) }
    #expect(table.takeChanges(generation: 1).contains { $0.entry === stored })
    for number in 64..<128 { _ = table.put(entry("\(number)", in: store)) }
    guard case .known(let entries) = table.lookup(key("it")) else {
      Issue.record("it is not in memory")
      return await store.close()
    }
    #expect(entries.count == 1)
    await store.close()
  }

  @Test func everyVariantThatHasChangedIsTakenOnce() async throws {
    let store = try Store.open(options(try Directory()))
    let table = KeyTable(costLimit: 1 << 20)
    for _ in 0..<3 {
      for value: UInt8 in 1...3 {
        _ = table.put(entry("it", nominated: [.init(name: "accept", value: [value])], in: store))
      }
    }
    _ = table.put(entry("another", in: store))
    let changes = table.takeChanges(generation: 1)
    #expect(changes.count == 4)
    #expect(Set(changes.map(\.variant)).count == 4)
    #expect(table.takeChanges(generation: 2).isEmpty)
    #expect(!table.hasChanges())
    await store.close()
  }

  @Test func theIndexIsAskedOnlyForWhatItMayHave() async throws {
    let store = try Store.open(options(try Directory()))
    let table = KeyTable(costLimit: 1 << 20)
    _ = table.put(entry("before the index was read", in: store))
    #expect(table.takeChanges(generation: 1).map(\.mayBeRecorded) == [true])
    table.isWarm.store(true, ordering: .releasing)
    table.note(key("on the disk").hash)
    _ = table.put(entry("on the disk", in: store))
    #expect(table.takeChanges(generation: 1).map(\.mayBeRecorded) == [true])
    for isSecond in [false, true] {
      _ = table.put(entry("new", in: store))
      #expect(table.takeChanges(generation: 1).map(\.mayBeRecorded) == [isSecond])
    }
    await store.close()
  }
}
