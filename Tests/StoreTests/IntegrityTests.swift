// Bits that flip and files that vanish while nobody looks.
import Glibc
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct Integrity {
  private func onlyFile(_ directory: Directory, in folder: String) throws -> String {
    try #require(directory.snapshot().keys.filter { $0.contains("/\(folder)/") }.first)
  }

  private func change(_ path: String, _ body: (Int32) -> Void) {
    let descriptor = open(path, O_RDWR)
    body(descriptor)
    close(descriptor)
  }

  @Test(arguments: [0, 261_999, 262_144, 899_999])
  func aFlippedBitIsFoundAndOnlyItsExtentIsDropped(position: Int) async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    try await first.fill("a", total: 900_000, [ByteSpan(0, 900_000)])
    await first.close()
    change(try onlyFile(directory, in: "bodies")) { descriptor in
      var byte: UInt8 = 0
      pread(descriptor, &byte, 1, off_t(position))
      byte ^= 4
      pwrite(descriptor, &byte, 1, off_t(position))
    }
    let store = try Store.open(options(directory))
    let representation = try #require(await store.entries(for: key("a")).first).representation
    let present = try await representation.verified(ByteSpan(0, 900_000))
    let bad = UInt64(position) / Extent.largest * Extent.largest
    let extent = ByteSpan(bad, min(bad + Extent.largest, 900_000))
    #expect(present.gaps(in: ByteSpan(0, 900_000)) == [extent])
    #expect(store.statistics.checksumErrors == 1)
    #expect(await representation.gaps(in: ByteSpan(0, 900_000), limit: 9) == [extent])
    try await representation.fill(extent)
    await store.close()
    let again = try Store.open(options(directory))
    let healed = try #require(await again.entries(for: key("a")).first).representation
    #expect(try await healed.verified(ByteSpan(0, 900_000)).totalBytes == 900_000)
    #expect(again.statistics.checksumErrors == 0)
    await again.close()
  }

  @Test func aFlippedBitInAPackIsFound() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    for number in 0..<10 { try await first.fill("\(number)", total: 1000, [ByteSpan(0, 1000)]) }
    await first.close()
    change(try onlyFile(directory, in: "packs")) { descriptor in
      var byte: UInt8 = 0
      let position = off_t(3 * (1000 + PackStore.headerSize) + PackStore.headerSize + 77)
      pread(descriptor, &byte, 1, position)
      byte ^= 128
      pwrite(descriptor, &byte, 1, position)
    }
    let store = try Store.open(options(directory))
    var missing = 0
    for number in 0..<10 {
      let representation = try #require(await store.entries(for: key("\(number)")).first).representation
      if try await representation.verified(ByteSpan(0, 1000)).isEmpty {
        missing += 1
        try await representation.fill(ByteSpan(0, 1000))
        #expect(try await representation.verified(ByteSpan(0, 1000)).totalBytes == 1000)
      }
    }
    #expect(missing == 1)
    #expect(store.statistics.checksumErrors == 1)
    await store.close()
  }

  enum Damage: CaseIterable, Sendable { case truncated, deleted }

  @Test(arguments: Damage.allCases, [true, false])
  func lostFilesAreFetchedAgain(damage: Damage, isOpen: Bool) async throws {
    let directory = try Directory()
    var store = try Store.open(options(directory))
    try await store.fill("a", total: 900_000, [ByteSpan(0, 900_000)])
    await store.sync()
    if !isOpen { await store.close() }
    let path = try onlyFile(directory, in: "bodies")
    switch damage {
    case .truncated: truncate(path, 300_000)
    case .deleted: unlink(path)
    }
    if !isOpen { store = try Store.open(options(directory)) }
    let representation = try #require(await store.entries(for: key("a")).first).representation
    let present = try await representation.verified(ByteSpan(0, 900_000))
    switch damage {
    case .truncated:
      #expect(present == SpanSet([ByteSpan(0, 262_144)]))
      try await representation.fill(ByteSpan(262_144, 900_000))
      #expect(try await representation.verified(ByteSpan(0, 900_000)).totalBytes == 900_000)
    case .deleted where isOpen:
      // The open file still has everything.
      #expect(present.totalBytes == 900_000)
    case .deleted:
      #expect(present.isEmpty)
      #expect(representation.isSuperseded)
      #expect(await store.entries(for: key("a")).isEmpty)
    }
    await store.close()
  }

  @Test func aMissingPackIsFetchedAgain() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    try await first.fill("a", total: 1000, [ByteSpan(0, 1000)])
    await first.close()
    unlink(try onlyFile(directory, in: "packs"))
    let store = try Store.open(options(directory))
    let representation = try #require(await store.entries(for: key("a")).first).representation
    #expect(try await representation.verified(ByteSpan(0, 1000)).isEmpty)
    try await representation.fill(ByteSpan(0, 1000))
    await store.close()
    let again = try Store.open(options(directory))
    let healed = try #require(await again.entries(for: key("a")).first).representation
    #expect(try await healed.verified(ByteSpan(0, 1000)).totalBytes == 1000)
    await again.close()
  }
}

@Suite struct OpeningTests {
  private func refusal(_ options: StoreOptions) -> StoreOpenError? {
    do {
      try Store.open(options).abandon()
      return nil
    } catch {
      return error as? StoreOpenError
    }
  }

  @Test func aSecondProcessIsRefused() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    #expect(refusal(options(directory)) == .inUse(directory: directory.path + "/cache"))
    await store.close()
    #expect(refusal(options(directory)) == nil)
  }

  @Test func anUnknownVersionIsRefusedAndUntouched() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    try await store.fill("a", total: 900_000, [ByteSpan(0, 900_000)])
    await store.close()
    let index = try Index(directory: directory.path + "/cache/index", mapBytes: 1 << 30)
    try index.openTables()
    var newer = Operations()
    newer.put(.meta, IndexKey.format, [99, 0, 0, 0])
    try index.apply([newer]) { true }
    index.close()
    let before = directory.snapshot().filter { !$0.key.hasSuffix("lock.mdb") }
    #expect(
      refusal(options(directory)) == .unknownVersion(directory: directory.path + "/cache", found: 99, expected: 2))
    #expect(directory.snapshot().filter { !$0.key.hasSuffix("lock.mdb") } == before)
  }

  @Test func whatCannotBeOpenedLeavesNothingBehind() throws {
    let directory = try Directory()
    let file = directory.path + "/file"
    close(open(file, O_WRONLY | O_CREAT, 0o644))
    var impossible = options(directory)
    impossible.directory = file + "/cache"
    #expect(refusal(impossible) == .unusable(path: file + "/cache", code: ENOTDIR))
    impossible.directory = directory.path + "/deep/er"
    close(open(file, O_WRONLY))
    let disk = FaultyDisk(cutAt: 0)
    #expect(throws: StoreOpenError.self) { try Store.open(impossible, calls: SystemCalls(faults: disk)) }
    #expect(SystemCalls().names(in: directory.path) == ["file"])
  }

  @Test func aBrokenIndexIsRefusedAndUntouched() async throws {
    let directory = try Directory()
    await (try Store.open(options(directory))).close()
    let path = directory.path + "/cache/index/data.mdb"
    let garbage = [UInt8](repeating: 0xA5, count: 40_000)
    let descriptor = open(path, O_WRONLY | O_TRUNC)
    _ = garbage.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    close(descriptor)
    guard case .badIndex = refusal(options(directory)) else {
      Issue.record("was opened")
      return
    }
    #expect(readFile(path) == garbage)
  }

  @Test func filesOfALostJournalAreRemoved() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    try await first.fill("large", total: 900_000, [ByteSpan(0, 900_000)])
    try await first.fill("small", total: 900, [ByteSpan(0, 900)])
    await first.flush()
    first.abandon()
    let second = try Store.open(options(directory), boot: "next")
    second.sweep()
    await second.close()
    #expect(directory.snapshot().keys.filter { $0.contains("/bodies/") || $0.contains("/packs/") }.isEmpty)
  }
}
