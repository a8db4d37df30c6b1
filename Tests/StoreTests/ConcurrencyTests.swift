// Many at once: written by some, read by others, evicted and forgotten meanwhile; meant for the thread sanitizer too.
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct ConcurrencyTests {
  @Test func readersSeeOnlyWhatWritersWrote() async throws {
    let directory = try Directory()
    var settings = options(directory, capacity: 24 << 20)
    settings.memoryBudget = 1 << 20
    settings.journalInterval = 0.01
    settings.syncInterval = 0.05
    settings.openFiles = 8
    let store = try Store.open(settings)
    let names = (0..<24).map { "object-\($0)" }
    @Sendable func total(_ number: Int) -> UInt64 { number % 2 == 0 ? 40_000 : 1_500_000 }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 as Range<UInt64> {
        group.addTask {
          var random = Generator(state: task)
          for _ in 0..<60 {
            let number = Int.random(in: names.indices, using: &random)
            let (name, total) = (names[number], total(number))
            var entry = await store.entries(for: key(name)).first
            if entry == nil {
              let made = store.makeRepresentation(validator: validator, total: total)
              entry = store.add(response(name), for: key(name), representation: made)
            }
            guard let entry else { continue }
            store.touch(entry)
            let representation = entry.representation
            let lower = UInt64.random(in: 0..<total, using: &random)
            let span = ByteSpan(lower, min(total, lower + UInt64.random(in: 1...400_000, using: &random)))
            let pin = representation.pin(span)
            _ = try await representation.verified(span)
            // Two may write the same bytes at once here, which claims prevent elsewhere: they are the same bytes.
            if let gap = await representation.gaps(in: span, limit: 1).first {
              do {
                try await representation.fill(gap)
              } catch {
                guard error as? StoreError == .absent || error as? StoreError == .noSpace else { throw error }
              }
            }
            pin.advance(to: span.upper)
            if Int.random(in: 0..<40, using: &random) == 0 { store.remove(entry) }
            if Int.random(in: 0..<60, using: &random) == 0 { await store.sync() }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(store.statistics.checksumErrors == 0)
    #expect(store.statistics.missingData == 0)
    await store.close()

    let again = try Store.open(settings)
    for (number, name) in names.enumerated() {
      for entry in await again.entries(for: key(name)) {
        let present = try await entry.representation.verified(ByteSpan(0, total(number)))
        #expect(present.totalBytes == entry.representation.presentBytes)
      }
    }
    #expect(again.statistics.checksumErrors == 0)
    await again.close()
  }
}
