// The capacity holds: what goes, what stays, and what passes through.
import Diagnostics
import HTTPMessage
import Spans
import TestSupport
import Testing

@testable import Store

@Suite struct SpaceTests {
  private let mebibyte: UInt64 = 1 << 20

  /// Stores a whole object with reserved space.
  private func put(_ store: Store, _ name: String, _ total: UInt64) async throws {
    let reservation = try #require(await store.makeRoom(for: total + 4096))
    let representation = store.makeRepresentation(validator: validator, total: total)
    store.add(response(name), for: key(name), representation: representation)
    let writer = representation.writer(at: 0)
    writer.reservation = reservation
    try writer.write(content(ByteSpan(0, total)).span.bytes)
    try await writer.drain()
    writer.finish()
    #expect(store.statistics.bytesStored <= store.statistics.capacity)
  }

  private func isThere(_ store: Store, _ name: String) async -> Bool {
    await !store.entries(for: key(name)).isEmpty
  }

  @Test func theLeastRecentlyUsedGoFirst() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 10 * mebibyte))
    for number in 0..<8 {
      try await put(store, "\(number)", mebibyte)
      await store.flush()
    }
    let entry = try #require(await store.entries(for: key("0")).first)
    store.touch(entry)
    await store.flush()
    for number in 8..<12 { try await put(store, "\(number)", mebibyte) }
    #expect(await isThere(store, "0"))
    #expect(await !isThere(store, "1"))
    #expect(await isThere(store, "11"))
    #expect(store.statistics.evictions > 0)
    await store.close()
    // The order of use survives a restart.
    let again = try Store.open(options(directory, capacity: 10 * mebibyte))
    #expect(await isThere(again, "0"))
    #expect(await !isThere(again, "1"))
    let files = directory.snapshot().keys.filter { $0.contains("/bodies/") }
    #expect(UInt64(files.count) * mebibyte == again.statistics.bytesStored)
    await again.close()
  }

  @Test func aPromiseThatTakesOverAnotherHoldsBoth() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 10 * mebibyte))
    let first = try #require(await store.makeRoom(for: mebibyte))
    first.consume(1000)
    do {
      let second = try #require(await store.makeRoom(for: 2 * mebibyte))
      second.add(first)
      #expect(first.remaining == 0 && second.remaining == 3 * mebibyte - 1000)
      #expect(store.statistics.bytesReserved == 3 * mebibyte - 1000)
    }
    #expect(store.statistics.bytesReserved == 0)
    await store.close()
  }

  /// Who is told of room finds it, however many wait: with old objects enough to evict, nobody goes without.
  @Test func manyThatWaitForRoomEachGetIt() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 64 * mebibyte))
    for number in 0..<16 { try await put(store, "old-\(number)", 4 * mebibyte) }
    try await withThrowingTaskGroup { group in
      for number in 0..<6 {
        group.addTask {
          for round in 0..<6 { try await put(store, "\(number)-\(round)", 4 * mebibyte) }
        }
      }
      try await group.waitForAll()
    }
    #expect(store.statistics.evictions > 0)
    await store.close()
  }

  /// Small bodies wait in memory for their places: for half a second where little comes, and not as many as come then.
  @Test func smallBodiesThatWaitForTheirPlacesDoNotFillMemory() async throws {
    let directory = try Directory()
    var settings = options(directory)
    settings.memoryBudget = 1 << 20
    let store = try Store.open(settings)
    for number in 0..<200 { try await store.fill("\(number)", total: 20_000, [ByteSpan(0, 20_000)]) }
    try eventually("the small bodies to have their places", until: { $0 <= mebibyte }) {
      store.engine.space.current.unpacked
    }
    await store.close()
  }

  /// However much is stored between two looks of the index thread.
  @Test func whatIsUsedAgainAndAgainOutlivesWhatIsStoredMeanwhile() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 10 * mebibyte))
    try await put(store, "used", mebibyte)
    await store.flush()
    let entry = try #require(await store.entries(for: key("used")).first)
    for number in 1..<9 {
      store.touch(entry)
      try await put(store, "\(number)", mebibyte)
    }
    store.touch(entry)
    for number in 9..<12 { try await put(store, "\(number)", mebibyte) }
    #expect(store.statistics.evictions > 0)
    #expect(await isThere(store, "used"))
    #expect(await !isThere(store, "1"))
    await store.close()
  }

  @Test func evictionGoesDownToTheLowWatermark() async throws {
    let directory = try Directory()
    var settings = options(directory, capacity: 20 * mebibyte)
    settings.highWatermark = 0.9
    settings.lowWatermark = 0.5
    let store = try Store.open(settings)
    for number in 0..<16 { try await put(store, "\(number)", mebibyte) }
    await store.sync()
    #expect(store.statistics.evictions == 0)
    for number in 16..<19 { try await put(store, "\(number)", mebibyte) }
    // Eviction follows the round that noticed; the second round ends behind it.
    for _ in 0..<2 { await store.sync() }
    #expect(store.statistics.bytesStored <= 10 * mebibyte)
    #expect(store.statistics.bytesStored >= 8 * mebibyte)
    await store.close()
  }

  @Test func pinnedBytesAndOpenWritersAreSpared() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 4 * mebibyte))
    try await put(store, "pinned", mebibyte)
    try await put(store, "written", mebibyte)
    let pinned = try #require(await store.entries(for: key("pinned")).first).representation
    let written = try #require(await store.entries(for: key("written")).first).representation
    var pin: Pin? = pinned.pin(ByteSpan(0, mebibyte))
    var writer: ExtentWriter? = written.writer(at: mebibyte)
    for number in 0..<10 { try await put(store, "\(number)", mebibyte) }
    #expect(try await pinned.verified(ByteSpan(0, mebibyte)).totalBytes == mebibyte)
    #expect(try await written.verified(ByteSpan(0, mebibyte)).totalBytes == mebibyte)
    #expect(await store.makeRoom(for: 3 * mebibyte) == nil)
    pin = nil
    writer?.finish()
    writer = nil
    #expect(await store.makeRoom(for: 3 * mebibyte) != nil)
    _ = pin
    await store.close()
  }

  /// Its blocks went and its rows stayed, until the last user left: after a crash they spoke of bytes that were not there.
  @Test func whatIsEvictedOfASupersededBodyIsNoMoreInTheIndex() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 64 * mebibyte))
    try await put(store, "it", 24 * mebibyte)
    await store.sync()
    let old = try #require(await store.entries(for: key("it")).first).representation
    let pin = old.pin(ByteSpan(17 * mebibyte, 24 * mebibyte))
    try await put(store, "it", mebibyte)
    await store.sync()
    #expect(old.isSuperseded)
    #expect(await store.makeRoom(for: 44 * mebibyte) != nil)
    await store.sync()
    #expect(old.presentBytes == 8 * mebibyte, "its second part is in use")
    withExtendedLifetime(pin) {}
    store.abandon()
    let verdict = try StoreVerifier.run(
      directory: directory.path + "/cache", repairs: false, report: { Issue.record("\($0)") }, progress: { _ in })
    #expect(!verdict.isBad)
  }

  @Test func aStoreWithoutRoomIsNotToldOfAtEveryRequest() async throws {
    let directory = try Directory()
    let path = directory.path + "/log"
    let log = try Log(level: .warning, to: .file(path: path))
    let store = try Store.open(
      options(directory, capacity: 4 * mebibyte), log: log, calls: SystemCalls(), boot: "boot")
    try await put(store, "pinned", mebibyte)
    let pin = try #require(await store.entries(for: key("pinned")).first).representation.pin(ByteSpan(0, mebibyte))
    for _ in 0..<20 { #expect(await store.makeRoom(for: 4 * mebibyte) == nil) }
    withExtendedLifetime(pin) {}
    await store.close()
    log.flush()
    let lines = try #require(readFile(path)).split(separator: UInt8(ascii: "\n"))
    // One now, and one in ten seconds.
    #expect((1..<5).contains(lines.count))
  }

  @Test func anObjectLargerThanTheStorePassesThrough() async throws {
    let directory = try Directory()
    let capacity = 96 * mebibyte
    let store = try Store.open(options(directory, capacity: capacity))
    try await put(store, "bystander", mebibyte)
    let total = 200 * mebibyte
    let representation = store.makeRepresentation(validator: validator, total: total)
    store.add(response(), for: key("huge"), representation: representation)
    let writer = representation.writer(at: 0)
    let pin = representation.pin(ByteSpan(0, total))
    var position: UInt64 = 0
    while position < total {
      let part = ByteSpan(position, position + 4 * mebibyte)
      let reservation: Reservation = try #require(await store.makeRoom(for: part.count))
      writer.reservation = reservation
      try writer.write(content(part).span.bytes)
      try await writer.drain()
      #expect(try await representation.verified(part).totalBytes == part.count)
      pin.advance(to: part.upper)
      position = part.upper
      #expect(store.statistics.bytesStored <= capacity)
    }
    writer.finish()
    #expect(!representation.isSuperseded)
    #expect(representation.presentBytes < capacity)
    #expect(await isThere(store, "bystander"))
    // What was left behind is absent, what is there is right, also after a restart.
    let present = try await representation.verified(ByteSpan(0, total))
    #expect(present.totalBytes == representation.presentBytes)
    await store.close()
    let again = try Store.open(options(directory, capacity: capacity))
    let found = try #require(await again.entries(for: key("huge")).first).representation
    #expect(try await found.verified(ByteSpan(0, total)) == present)
    #expect(again.statistics.checksumErrors == 0)
    await again.close()
  }

  @Test func reservationsAreCountedAndReturned() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 10 * mebibyte))
    var first: Reservation? = store.reserve(6 * mebibyte)
    #expect(first != nil)
    #expect(store.reserve(6 * mebibyte) == nil)
    first?.consume(2 * mebibyte)
    #expect(store.statistics.bytesReserved == 4 * mebibyte)
    #expect(store.reserve(6 * mebibyte) != nil)
    first = nil
    #expect(store.statistics.bytesReserved == 0)
    await store.close()
  }

  @Test func packsOfDeadBodiesAreReclaimedAndTheLivingMoved() async throws {
    let directory = try Directory()
    var settings = options(directory, capacity: 64 * mebibyte)
    settings.memoryBudget = 1 << 20
    var store = try Store.open(settings)
    // Every fourth lives; each pack then is three quarters dead.
    for number in 0..<800 {
      try await store.fill("\(number)", total: 20_000, [ByteSpan(0, 20_000)])
      if number % 100 == 99 { await store.flush() }
    }
    await store.sync()
    let before = store.statistics.bytesStored
    for number in 0..<800 where number % 4 != 0 { store.removeAll(for: key("\(number)")) }
    // One round for the keys, one for what they let go of, one for the packs.
    for _ in 0..<4 { await store.sync() }
    #expect(store.statistics.packsReclaimed > 0)
    #expect(store.statistics.bytesStored < before / 2)
    for isRestarted in [false, true] {
      if isRestarted {
        await store.close()
        store = try Store.open(settings)
      }
      for number in 0..<800 {
        let entry = await store.entries(for: key("\(number)")).first
        #expect((entry != nil) == (number % 4 == 0))
        if let entry { #expect(try await entry.representation.verified(ByteSpan(0, 20_000)).totalBytes == 20_000) }
      }
    }
    #expect(store.statistics.checksumErrors == 0)
    await store.close()
  }

  @Test func smallBodiesAreEvictedToo() async throws {
    let directory = try Directory()
    let store = try Store.open(options(directory, capacity: 8 * mebibyte))
    for number in 0..<1500 {
      try await put(store, "\(number)", 10_000)
      if number % 50 == 49 { await store.flush() }
    }
    #expect(await !isThere(store, "0"))
    #expect(await isThere(store, "1499"))
    await store.close()
  }

  @Test func memoryStaysWithinItsBudget() async throws {
    let directory = try Directory()
    var settings = options(directory)
    settings.memoryBudget = 4 << 20
    let store = try Store.open(settings)
    for number in 0..<500 {
      try await store.fill("\(number)", total: 50_000, [ByteSpan(0, 50_000)])
      if number % 10 == 9 { await store.sync() }
    }
    #expect(store.statistics.memoryTierBytes <= 3 << 20)
    for number in 0..<500 {
      let entry = try #require(await store.entries(for: key("\(number)")).first)
      #expect(try await entry.representation.verified(ByteSpan(0, 50_000)).totalBytes == 50_000)
    }
    #expect(store.statistics.memoryTierBytes <= 3 << 20)
    await store.close()
  }

  @Test func aStoreThatHasBecomeSmallerMakesRoomWhenItIsOpened() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory, capacity: 64 << 20))
    for number in 0..<20 { try await first.fill("\(number)", total: 1 << 20, [ByteSpan(0, 1 << 20)]) }
    await first.close()
    let store = try Store.open(options(directory, capacity: 8 << 20))
    await store.sync()
    let stored = store.statistics.bytesStored
    #expect(stored <= 8 << 20 && stored >= 4 << 20, "\(stored)")
    var left = 0
    for number in 0..<20 where !(await store.entries(for: key("\(number)")).isEmpty) { left += 1 }
    #expect(left > 0 && store.statistics.objects == left)
    let last = try #require(await store.entries(for: key("19")).first).representation
    #expect(try await last.verified(ByteSpan(0, 1 << 20)).totalBytes == 1 << 20)
    await store.close()
  }
}
