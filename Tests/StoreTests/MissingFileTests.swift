// What is on record has no file: because none was made before the process ended, or because somebody has removed it.
import Glibc
import Spans
import Testing

@testable import Store

@Suite struct MissingFileTests {
  private static let size: UInt64 = 1 << 20
  private static let whole = ByteSpan(0, size)

  @Test func whatWasKilledBeforeItsFirstByteIsStoredAfterAll() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    try await store.fill("it", total: Self.size, [])
    await store.flush()
    store.abandon()
    #expect(directory.bodies.isEmpty)
    let again = try Store.open(options(directory))
    let entry = try #require(await again.entries(for: key("it")).first)
    try await entry.representation.fill(Self.whole)
    #expect(try await entry.representation.verified(Self.whole) == SpanSet([Self.whole]))
    #expect(again.statistics.writeErrors == 0)
    await again.close()
  }

  @Test func writingWhereTheFileIsGoneGivesUpWhatItHeld() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    let part = ByteSpan(0, 300_000)
    try await store.fill("it", total: Self.size, [part])
    await store.close()
    let file = try #require(directory.bodies.first)
    #expect(unlink(file) == 0)
    let again = try Store.open(options(directory))
    let entry = try #require(await again.entries(for: key("it")).first)
    await #expect(throws: StoreError.absent) { try await entry.representation.fill(ByteSpan(part.upper, Self.size)) }
    #expect(await again.entries(for: key("it")).isEmpty)
    #expect(again.statistics.missingData == 1)
    // The next one is stored as if there had been none.
    let next = try await again.fill("it", total: Self.size, [Self.whole], seed: 2)
    #expect(try await next.representation.verified(Self.whole, seed: 2) == SpanSet([Self.whole]))
    await again.close()
  }
}
