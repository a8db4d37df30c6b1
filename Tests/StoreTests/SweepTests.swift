// What a killed process leaves on the disk and no account has: freed, or charged, by the next one.
import Glibc
import HTTPMessage
import Spans
import Synchronization
import Testing

@testable import Store

@Suite struct SweepTests {
  private static let mebibyte: UInt64 = 1 << 20

  /// Every call but one kind succeeds.
  private struct Lacking: FaultySystem {
    func fate(of call: SystemCall) -> Fate {
      if case .punch = call { return .fail(EOPNOTSUPP) }
      return .proceed
    }
  }

  /// The bytes that the blocks of the bodies and packs have.
  private func onDisk(_ directory: Directory) -> UInt64 {
    directory.snapshot().keys.filter { $0.contains("/bodies/") || $0.contains("/packs/") }
      .reduce(0) { $0 + (SystemCalls().size(of: $1)?.blocks ?? 0) }
  }

  /// A store with an object of which 2 MiB are on record, and what a kill leaves behind that: 2 MiB written and not
  /// recorded, and the blocks for more.
  private func leave(_ directory: Directory) async throws -> (store: Store, writer: ExtentWriter) {
    let store = try Store.open(options(directory))
    let entry = try await store.fill("a", total: 64 * Self.mebibyte, [ByteSpan(0, 2 * Self.mebibyte)])
    await store.sync()
    let writer = entry.representation.writer(at: 2 * Self.mebibyte)
    writer.reservation = store.reserve(12 * Self.mebibyte)
    try writer.write(content(ByteSpan(2 * Self.mebibyte, 4 * Self.mebibyte)).span.bytes)
    store.abandon()
    // What the last moments brought is in no journal.
    for name in SystemCalls().names(in: store.engine.layout.root) where Layout.journalGeneration(name) != nil {
      unlink(store.engine.layout.root + "/" + name)
    }
    return (store, writer)
  }

  @Test func whatIsNotOnRecordIsFreed() async throws {
    let directory = try Directory()
    let killed = try await leave(directory)
    defer { withExtendedLifetime(killed) {} }
    #expect(onDisk(directory) >= 4 * Self.mebibyte)
    let store = try Store.open(options(directory))
    store.sweep()
    #expect(onDisk(directory) < 2 * Self.mebibyte + (128 << 10))
    await store.flush()
    #expect(store.statistics.bytesStored == 2 * Self.mebibyte)
    let found = try #require(await store.entries(for: key("a")).first).representation
    #expect(try await found.verified(ByteSpan(0, 64 * Self.mebibyte)).totalBytes == 2 * Self.mebibyte)
    await store.close()
  }

  /// Where somebody writes when the sweep comes by, the last to do so gives back.
  @Test func whatSomebodyWritesMeanwhileStays() async throws {
    let directory = try Directory()
    let killed = try await leave(directory)
    defer { withExtendedLifetime(killed) {} }
    let store = try Store.open(options(directory))
    let found = try #require(await store.entries(for: key("a")).first).representation
    let writer = found.writer(at: 3 * Self.mebibyte)
    try writer.write(content(ByteSpan(3 * Self.mebibyte, 4 * Self.mebibyte)).span.bytes)
    try await writer.drain()
    store.sweep()
    writer.finish()
    for _ in 0..<8 { await store.engine.pool.run { found.fileGate.withLock { _ in } } }
    #expect(onDisk(directory) < 3 * Self.mebibyte + (128 << 10))
    #expect(
      try await found.verified(ByteSpan(0, 64 * Self.mebibyte)).spans
        == [ByteSpan(0, 2 * Self.mebibyte), ByteSpan(3 * Self.mebibyte, 4 * Self.mebibyte)])
    await store.close()
  }

  @Test func whatTheFileSystemDoesNotTakeBackIsCharged() async throws {
    let directory = try Directory()
    let killed = try await leave(directory)
    defer { withExtendedLifetime(killed) {} }
    let store = try Store.open(options(directory), calls: SystemCalls(faults: Lacking()))
    store.sweep()
    await store.flush()
    let occupied = onDisk(directory)
    #expect(occupied >= 4 * Self.mebibyte)
    #expect(store.statistics.bytesStored == occupied)
    await store.close()
    let again = try Store.open(options(directory), calls: SystemCalls(faults: Lacking()))
    await again.flush()
    #expect(again.statistics.bytesStored == occupied)
    await again.close()
  }

  /// Parts of objects cannot go there: what makes room is whole objects, and the account stays that of the disk.
  @Test func whereNoPartCanBeFreedTheCapacityHoldsAllTheSame() async throws {
    let directory = try Directory()
    let capacity = 96 * Self.mebibyte
    let store = try Store.open(options(directory, capacity: capacity), calls: SystemCalls(faults: Lacking()))
    let total = 200 * Self.mebibyte
    let representation = store.makeRepresentation(validator: validator, total: total)
    store.add(response(), for: key("huge"), representation: representation)
    let writer = representation.writer(at: 0)
    let pin = representation.pin(ByteSpan(0, total))
    var position: UInt64 = 0
    while position < total, let reservation = await store.makeRoom(for: 4 * Self.mebibyte) {
      writer.reservation = reservation
      let part = ByteSpan(position, position + 4 * Self.mebibyte)
      try writer.write(content(part).span.bytes)
      try await writer.drain()
      pin.advance(to: part.upper)
      position = part.upper
      #expect(onDisk(directory) <= capacity + (1 << 20))
    }
    #expect(position < total)
    writer.finish()
    await store.sync()
    #expect(store.statistics.bytesStored + (1 << 20) >= onDisk(directory))
    await store.close()
  }

  @Test func theEndOfAPackThatIsNotOnRecordIsCutOff() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    try await first.fill("a", total: 3000, [ByteSpan(0, 3000)])
    await first.close()
    let pack = try #require(directory.snapshot().keys.first { $0.contains("/packs/") })
    let length = try #require(readFile(pack)).count
    let descriptor = open(pack, O_WRONLY | O_APPEND)
    let more = [UInt8](repeating: 7, count: 1 << 20)
    #expect(write(descriptor, more, more.count) == more.count)
    close(descriptor)
    let store = try Store.open(options(directory))
    store.sweep()
    #expect(readFile(pack)?.count == length)
    let found = try #require(await store.entries(for: key("a")).first).representation
    #expect(try await found.verified(ByteSpan(0, 3000)).totalBytes == 3000)
    await store.close()
  }

  /// A kill while a body outgrew memory: its file is there, and the index says that it is in a pack.
  @Test func theFileOfABodyThatIsInAPackIsRemoved() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    let entry = try await first.fill("a", total: nil, [ByteSpan(0, 3000)])
    let path = first.engine.layout.body(entry.representation.id)
    await first.close()
    close(open(path, O_WRONLY | O_CREAT, 0o644))
    let store = try Store.open(options(directory))
    store.sweep()
    #expect(access(path, F_OK) != 0)
    let found = try #require(await store.entries(for: key("a")).first).representation
    // One that is being moved in this run keeps its file.
    try await found.fill(ByteSpan(3000, 200_000))
    store.sweep()
    #expect(access(path, F_OK) == 0)
    #expect(try await found.verified(ByteSpan(0, 200_000)).totalBytes == 200_000)
    await store.close()
  }

  /// Loops that were stopped leave fills behind that never end.
  @Test func aCloseGivesBackWhatFillsThatNeverEndedHad() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    let entry = try await store.fill("a", total: 64 * Self.mebibyte, [ByteSpan(0, 2 * Self.mebibyte)])
    let writer = entry.representation.writer(at: 2 * Self.mebibyte)
    writer.reservation = store.reserve(12 * Self.mebibyte)
    try writer.write(content(ByteSpan(2 * Self.mebibyte, 3 * Self.mebibyte)).span.bytes)
    for _ in 0..<8 { await store.engine.pool.run { entry.representation.fileGate.withLock { _ in } } }
    await store.close()
    #expect(onDisk(directory) < 3 * Self.mebibyte + (128 << 10))
    withExtendedLifetime(writer) {}
  }
}
