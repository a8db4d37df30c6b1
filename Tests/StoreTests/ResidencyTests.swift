// What is not in memory is never sent by who must not wait for a disk.
import Glibc
import Spans
import Testing

@testable import Store

@Suite struct ResidencyTests {
  @Test func aPartOfAnExtentInMemoryDoesNotSpeakForTheRest() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    try await first.fill("a", total: 900_000, [ByteSpan(0, 900_000)])
    await first.close()
    let store = try Store.open(options(directory))
    let representation = try #require(await store.entries(for: key("a")).first).representation
    _ = try await representation.verified(ByteSpan(0, 900_000))
    let path = try #require(directory.snapshot().keys.first { $0.contains("/bodies/") })
    let file = open(path, O_RDWR)
    defer { close(file) }
    try #require(fsync(file) == 0)
    posix_fadvise(file, 131_072, 131_072, POSIX_FADV_DONTNEED)
    guard !store.engine.calls.isResident(file, at: 200_000) else {
      try Test.cancel("this file system drops no pages")
    }

    #expect(representation.bytesAtOnce(in: ByteSpan(0, 1000)) != nil)
    #expect(representation.bytesAtOnce(in: ByteSpan(200_000, 201_000)) == nil)
    let part = try await representation.bytes(in: ByteSpan(200_000, 201_000))
    #expect(part.copied() == content(ByteSpan(200_000, 201_000)))
    #expect(representation.bytesAtOnce(in: ByteSpan(200_000, 201_000)) != nil, "it was brought in")
    await store.close()
  }

  @Test func aFileCutShortSinceItWasSeenIsNotSentFrom() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    try await store.fill("a", total: 900_000, [ByteSpan(0, 900_000)])
    let representation = try #require(await store.entries(for: key("a")).first).representation
    for _ in 0..<2 { #expect(representation.bytesAtOnce(in: ByteSpan(800_000, 801_000)) != nil) }
    let path = try #require(directory.snapshot().keys.first { $0.contains("/bodies/") })
    try #require(truncate(path, 700_000) == 0)
    #expect(representation.bytesAtOnce(in: ByteSpan(800_000, 801_000)) == nil)
    #expect(representation.bytesAtOnce(in: ByteSpan(600_000, 601_000)) != nil)
    await store.close()
  }
}
