// Small bodies that find no place on the disk: tried again, counted once, and never more of them than a moment brings.
import Glibc
import HTTPMessage
import Spans
import Synchronization
import Testing

@testable import Store

@Suite struct PackingTests {
  /// A disk whose pack files fail at a test's word.
  final class PackDisk: FaultySystem {
    enum Fault: Int { case none, write, open, read }

    private let fault = Atomic<Int>(0)
    private let code: Int32

    init(_ code: Int32) { self.code = code }

    func set(_ fault: Fault) { self.fault.store(fault.rawValue, ordering: .relaxed) }

    func fate(of call: SystemCall) -> Fate {
      let fault = Fault(rawValue: fault.load(ordering: .relaxed)) ?? .none
      switch call {
      case .write(let descriptor, _, let count):
        guard fault == .write, FaultyDisk.path(descriptor).contains("/packs/") else { return .proceed }
        return count > 4096 ? .shortened(4096) : .fail(code)
      case .open(let path): return fault == .open && path.contains("/packs/") ? .fail(code) : .proceed
      case .read(let descriptor, _, _):
        return fault == .read && FaultyDisk.path(descriptor).contains("/packs/") ? .fail(code) : .proceed
      case .sync, .allocate, .punch, .unlink, .commit: return .proceed
      }
    }
  }

  private func onDisk(_ directory: Directory) -> UInt64 {
    directory.snapshot().filter { $0.key.contains("/packs/") }.reduce(0) { $0 + UInt64($1.value.count) }
  }

  /// Thirty small bodies on a disk that takes no packs.
  private func leaveUnplaced(_ store: Store) async throws {
    for number in 0..<30 { try await store.fill("\(number)", total: 20_000, [ByteSpan(0, 20_000)]) }
    await store.flush()
    #expect(store.reserve(1) == nil)
    await #expect(throws: StoreError.noSpace) { try await store.fill("more", total: 9, [ByteSpan(0, 9)]) }
  }

  private func expectAllPlaced(_ directory: Directory) async throws {
    let store = try Store.open(options(directory))
    for number in 0..<30 {
      let found = try #require(await store.entries(for: key("\(number)")).first, "\(number)").representation
      #expect(try await found.verified(ByteSpan(0, 20_000)).totalBytes == 20_000)
    }
    #expect(store.statistics.bytesStored == onDisk(directory))
    await store.close()
  }

  @Test(arguments: [EIO, ENOSPC], [PackDisk.Fault.write, .open])
  func whatFindsNoPlaceIsCountedOnceAndTriedAgainAtTheEnd(code: Int32, _ fault: PackDisk.Fault) async throws {
    let directory = try Directory()
    let disk = PackDisk(code)
    let store = try Store.open(options(directory), calls: SystemCalls(faults: disk))
    disk.set(fault)
    try await leaveUnplaced(store)
    for _ in 0..<5 { await store.flush() }
    // What is in memory is served and counted as what it is, and nothing of it twice.
    #expect(store.statistics.bytesStored == 30 * 20_000)
    #expect(onDisk(directory) == 0)
    let held = try #require(await store.entries(for: key("7")).first).representation
    #expect(try await held.verified(ByteSpan(0, 20_000)).totalBytes == 20_000)
    disk.set(.none)
    await store.close()
    try await expectAllPlaced(directory)
  }

  @Test func whatFindsNoPlaceIsTriedAgainByAndBy() async throws {
    let directory = try Directory()
    let disk = PackDisk(ENOSPC)
    var settings = options(directory)
    settings.syncInterval = 0.5
    let store = try Store.open(settings, calls: SystemCalls(faults: disk))
    disk.set(.open)
    try await leaveUnplaced(store)
    disk.set(.none)
    while store.reserve(1) == nil { await store.flush() }
    #expect(store.statistics.bytesStored == onDisk(directory))
    try await store.fill("more", total: 9, [ByteSpan(0, 9)])
    await store.close()
    try await expectAllPlaced(directory)
  }

  /// Nothing of a tail that failed is claimed, whoever's turn it was when it did.
  @Test func nothingIsClaimedThatWasLaidOutBeforeAFailure() async throws {
    let directory = try Directory()
    let disk = PackDisk(EIO)
    let store = try Store.open(options(directory), calls: SystemCalls(faults: disk))
    // More than one tail: the first is written in the midst of laying out.
    for number in 0..<150 { try await store.fill("\(number)", total: 60_000, [ByteSpan(0, 60_000)]) }
    disk.set(.write)
    await store.flush()
    disk.set(.none)
    store.abandon()
    let again = try Store.open(options(directory))
    for number in 0..<150 {
      for entry in await again.entries(for: key("\(number)")) {
        _ = try await entry.representation.verified(ByteSpan(0, 60_000))
      }
    }
    #expect(again.statistics.missingData == 0)
    #expect(again.statistics.checksumErrors == 0)
    await again.close()
  }

  @Test func directoriesThatSomebodyRemovedAreMadeAgain() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    Directory.remove(store.engine.layout.packs)
    Directory.remove(store.engine.layout.bodies)
    try await store.fill("small", total: 5000, [ByteSpan(0, 5000)])
    try await store.fill("large", total: 500_000, [ByteSpan(0, 500_000)])
    await store.close()
    let again = try Store.open(options(directory))
    for (name, total) in [("small", 5000), ("large", 500_000)] as [(String, UInt64)] {
      let found = try #require(await again.entries(for: key(name)).first).representation
      #expect(try await found.verified(ByteSpan(0, total)).totalBytes == total)
    }
    await again.close()
  }

  /// A pack goes when its living items have been copied, not when they could not be read.
  @Test func whatCannotBeReadNowIsNotReclaimed() async throws {
    let directory = try Directory()
    let disk = PackDisk(EIO)
    // Packs of 256 KiB.
    let settings = options(directory, capacity: 8 << 20)
    let first = try Store.open(settings)
    for number in 0..<60 {
      try await first.fill("\(number)", total: 20_000, [ByteSpan(0, 20_000)])
      if number % 10 == 9 { await first.flush() }
    }
    await first.close()
    let store = try Store.open(settings, calls: SystemCalls(faults: disk))
    disk.set(.read)
    for number in 0..<60 where number % 4 != 0 { store.removeAll(for: key("\(number)")) }
    // One round for the keys, one for what they let go of, one for the packs.
    for _ in 0..<5 { await store.sync() }
    #expect(store.statistics.readErrors > 0)
    disk.set(.none)
    for number in stride(from: 0, to: 60, by: 4) {
      let found = try #require(await store.entries(for: key("\(number)")).first).representation
      #expect(try await found.verified(ByteSpan(0, 20_000)).totalBytes == 20_000, "\(number)")
    }
    #expect(store.statistics.bytesStored == onDisk(directory))
    await store.close()
  }
}
