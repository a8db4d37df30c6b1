// Cut at every n-th write, sync and commit: what is there afterwards is right, and what was durable is there.
import Glibc
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct Faults {
  /// What happens after the cut.
  enum Aftermath: CaseIterable, Sendable { case killed, powerLost }

  /// Some of everything; returns the spans of each object that were durable at the last successful sync.
  func work(_ store: Store) async -> [String: SpanSet] {
    var durable: [String: SpanSet] = [:]
    var written: [String: SpanSet] = [:]
    func write(_ name: String, total: UInt64, _ span: ByteSpan) async {
      let entry: StoredEntry
      if let known = await store.entries(for: key(name)).first {
        entry = known
      } else {
        let representation = store.makeRepresentation(validator: validator, total: total)
        entry = store.add(response(name), for: key(name), representation: representation)
      }
      let before = await entry.representation.presence(at: span.lower, upTo: span.upper)
      guard case .absent = before else { return }
      if (try? await entry.representation.fill(span)) != nil { written[name, default: SpanSet()].insert(span) }
    }
    func sync() async {
      await store.sync()
      // What could not be written once may be in memory only, and is not meant to be durable.
      if store.statistics.writeErrors == 0, store.statistics.pendingCommitBytes == 0 { durable = written }
    }
    await write("small", total: 5000, ByteSpan(0, 1000))
    await write("large", total: 1_000_000, ByteSpan(10, 300_000))
    await store.flush()
    await write("small", total: 5000, ByteSpan(3000, 5000))
    await sync()
    await write("large", total: 1_000_000, ByteSpan(500_000, 900_000))
    await write("other", total: 100_000, ByteSpan(0, 100_000))
    await store.flush()
    await write("tiny", total: 5, ByteSpan(0, 5))
    await sync()
    store.removeAll(for: key("other"))
    durable["other"] = nil
    written["other"] = nil
    await write("large", total: 1_000_000, ByteSpan(300_000, 500_000))
    await sync()
    await write("tiny2", total: 5, ByteSpan(0, 5))
    await store.flush()
    return durable
  }

  @Test(arguments: Aftermath.allCases)
  func cutAtEveryCallNothingWrongIsEverServed(aftermath: Aftermath) async throws {
    var cut = 0
    var isCut = true
    while isCut {
      let disk = FaultyDisk(cutAt: cut)
      let directory = try Directory()
      var durable: [String: SpanSet] = [:]
      if let store = try? Store.open(options(directory), calls: SystemCalls(faults: disk)) {
        durable = await work(store)
        store.abandon()
      }
      isCut = disk.isCut
      if aftermath == .powerLost { disk.losePower() }
      let store = try Store.open(options(directory), boot: aftermath == .killed ? "boot" : "next boot")
      for (name, total) in [("small", 5000), ("large", 1_000_000), ("other", 100_000), ("tiny", 5), ("tiny2", 5)]
        as [(String, UInt64)]
      {
        let representation = await store.entries(for: key(name)).first?.representation
        let present = try await representation?.verified(ByteSpan(0, total)) ?? SpanSet()
        for span in durable[name]?.spans ?? [] { #expect(present.contains(span), "cut \(cut): \(name) lost \(span)") }
        // And it can be finished.
        if let representation {
          for gap in await representation.gaps(in: ByteSpan(0, total), limit: 99) { try await representation.fill(gap) }
          #expect(try await representation.verified(ByteSpan(0, total)).totalBytes == total)
        }
      }
      #expect(store.statistics.checksumErrors == 0, "cut \(cut)")
      #expect(store.statistics.missingData == 0, "cut \(cut)")
      await store.close()
      cut += 1
    }
    // The work makes that many calls; fewer would mean that it was not done.
    #expect(cut > 20)
  }

  /// A disk that fails once and then works: the store goes on, and what could not be synced is not claimed.
  @Test func aDiskThatIsFullMakesWritesFailAndTheStoreStaysConsistent() async throws {
    let directory = try Directory()
    let disk = FaultyDisk(cutAt: 8, code: ENOSPC)
    let store = try Store.open(options(directory), calls: SystemCalls(faults: disk))
    let representation = store.makeRepresentation(validator: validator, total: 10_000_000)
    store.add(response(), for: key("a"), representation: representation)
    var failure: StoreError?
    do {
      try await representation.fill(ByteSpan(0, 10_000_000))
    } catch {
      failure = error as? StoreError
    }
    #expect(failure == .noSpace)
    let present = representation.presentBytes
    #expect(present > 0 && present < 10_000_000)
    #expect(try await representation.verified(ByteSpan(0, 10_000_000)).totalBytes == present)
    await store.sync()
    #expect(store.reserve(1) == nil)
    #expect(store.statistics.writeErrors > 0)
    store.abandon()
  }
}
