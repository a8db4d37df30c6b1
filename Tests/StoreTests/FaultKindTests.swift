// Every kind of call fails in turn, once or from then on: nothing wrong is stored, and what was durable stays.
import Glibc
import HTTPMessage
import Spans
import Synchronization
import Testing
import Threads

@testable import Store

/// A disk on which the calls of one kind fail: the chosen one, or that and all later ones.
final class PartlyFaultyDisk: FaultySystem {
  enum Kind: CaseIterable, Sendable { case open, read, write, sync, removal, commit, allocation }

  enum Fault: Equatable, Sendable {
    case once(Int32)
    case always(Int32)
    /// It does half of what it is asked, each time.
    case short
  }

  private let kind: Kind
  private let first: Int
  private let fault: Fault
  private let calls = Atomic<Int>(0)

  init(_ kind: Kind, at first: Int, _ fault: Fault) {
    self.kind = kind
    self.first = first
    self.fault = fault
  }

  /// How many calls of the kind were made.
  var count: Int { calls.load(ordering: .relaxed) }

  /// Whether the chosen call was made.
  var wasReached: Bool { count > first }

  func fate(of call: SystemCall) -> Fate {
    let (found, count): (Kind, Int) =
      switch call {
      case .open: (.open, 0)
      case .read(_, _, let count): (.read, count)
      case .write(_, _, let count): (.write, count)
      case .sync: (.sync, 0)
      case .punch, .unlink: (.removal, 0)
      case .allocate: (.allocation, 0)
      case .commit: (.commit, 0)
      }
    guard found == kind else { return .proceed }
    let number = calls.wrappingAdd(1, ordering: .relaxed).oldValue
    switch fault {
    case .once(let code): return number == first ? .fail(code) : .proceed
    case .always(let code): return number >= first ? .fail(code) : .proceed
    case .short: return number >= first && count > 1 ? .shortened(count / 2) : .proceed
    }
  }
}

extension Faults {
  @Test(
    arguments: PartlyFaultyDisk.Kind.allCases,
    [PartlyFaultyDisk.Fault.once(EIO), .always(EIO), .always(ENOSPC), .always(EROFS), .short])
  func eachCallFailsInTurnAndNothingWrongIsStored(
    kind: PartlyFaultyDisk.Kind, fault: PartlyFaultyDisk.Fault
  ) async throws {
    if fault == .short, kind != .read, kind != .write { return }
    var number = 0
    var isReached = true
    while isReached {
      let disk = PartlyFaultyDisk(kind, at: number, fault)
      let note = "\(kind) \(number) \(fault)"
      let directory = try Directory()
      var durable: [String: SpanSet] = [:]
      if let store = try? Store.open(options(directory), calls: SystemCalls(faults: disk)) {
        durable = await work(store)
        store.abandon()
      }
      isReached = disk.wasReached
      let store = try Store.open(options(directory))
      for (name, total) in [("small", 5000), ("large", 1_000_000), ("other", 100_000), ("tiny", 5), ("tiny2", 5)]
        as [(String, UInt64)]
      {
        let representation = await store.entries(for: key(name)).first?.representation
        let present = try await representation?.verified(ByteSpan(0, total)) ?? SpanSet()
        // After a failed sync nobody knows what the disk has of a file: all of it is given up.
        guard kind != .sync else { continue }
        for span in durable[name]?.spans ?? [] { #expect(present.contains(span), "\(note): \(name) lost \(span)") }
      }
      #expect(store.statistics.checksumErrors == 0, "\(note)")
      #expect(store.statistics.indexErrors == 0, "\(note)")
      await store.close()
      // The first calls are those of a start, of which each is tried; later ones by and by.
      number += number < 12 ? 1 : 5
    }
    #expect(number > 0)
  }

  /// A disk that does not give back what it has: a gap, and no more than what was asked for is lost.
  @Test func whatCannotBeReadIsAGapAndNothingElse() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    try await first.fill("a", total: 900_000, [ByteSpan(0, 900_000)])
    await first.close()
    // Reads before that one are of the start.
    let quiet = PartlyFaultyDisk(.read, at: .max, .once(EIO))
    await (try Store.open(options(directory), calls: SystemCalls(faults: quiet))).close()
    let disk = PartlyFaultyDisk(.read, at: quiet.count + 1, .once(EIO))
    let store = try Store.open(options(directory), calls: SystemCalls(faults: disk))
    let representation = try #require(await store.entries(for: key("a")).first).representation
    var present = SpanSet()
    var position: UInt64 = 0
    while position < 900_000 {
      do {
        let bytes = try await representation.bytes(in: ByteSpan(position, 900_000))
        let got = ByteSpan(position, position + UInt64(bytes.count))
        #expect(bytes.copied() == content(got))
        present.insert(got)
        position = got.upper
      } catch {
        guard case .absent(let upper) = await representation.presence(at: position, upTo: 900_000) else { continue }
        position = upper
      }
    }
    #expect(present.totalBytes == 900_000 - Extent.largest)
    #expect(await representation.gaps(in: ByteSpan(0, 900_000), limit: 9).count == 1)
    for gap in await representation.gaps(in: ByteSpan(0, 900_000), limit: 9) { try await representation.fill(gap) }
    #expect(try await representation.verified(ByteSpan(0, 900_000)).totalBytes == 900_000)
    await store.close()
  }

  /// What is stored is served although the first commit of a run cannot be made; nothing more is taken in until it can.
  @Test(arguments: [ENOSPC, EIO, EROFS])
  func aStoreWhoseIndexCannotBeWrittenIsOpenedAndServes(code: Int32) async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    try await first.fill("a", total: 900_000, [ByteSpan(0, 900_000)])
    try await first.fill("b", total: 1000, [ByteSpan(0, 1000)])
    await first.close()
    let disk = PartlyFaultyDisk(.commit, at: 0, .once(code))
    let store = try Store.open(options(directory), calls: SystemCalls(faults: disk))
    #expect(store.reserve(1) == nil)
    for (name, total) in [("a", 900_000), ("b", 1000)] as [(String, UInt64)] {
      let representation = try #require(await store.entries(for: key(name)).first).representation
      #expect(try await representation.verified(ByteSpan(0, total)).totalBytes == total)
    }
    // The commit is tried again, and made.
    await store.sync()
    #expect(store.reserve(1) != nil)
    try await store.fill("c", total: 1000, [ByteSpan(0, 1000)])
    await store.close()
    let last = try Store.open(options(directory))
    #expect(await last.entries(for: key("c")).count == 1)
    await last.close()
  }

  /// A commit that fails is tried again at its time: not at once and for ever, whatever has to be freed, and not at the
  /// end.
  @Test(.timeLimit(.minutes(2))) func aStoreWhoseCommitsFailTriesNowAndThenAndEnds() async throws {
    let directory = try Directory()
    var settings = options(directory, capacity: 8 << 20)
    let first = try Store.open(settings)
    for number in 0..<7 { try await first.fill("\(number)", total: 1 << 20, [ByteSpan(0, 1 << 20)]) }
    await first.close()
    // The first commit is of the start.
    let disk = PartlyFaultyDisk(.commit, at: 1, .always(EIO))
    settings.capacity = 4 << 20
    settings.syncInterval = 0.05
    settings.journalInterval = 0.01
    let store = try Store.open(settings, calls: SystemCalls(faults: disk))
    let start = monotonicNanoseconds()
    let entry = try #require(await store.entries(for: key("6")).first)
    while disk.count < 20 {
      // There is always more that is due.
      store.update(entry, response("\(disk.count)"))
      await store.flush()
      _ = await store.makeRoom(for: 1)
    }
    // The first of them was made, the second failed at once.
    #expect(monotonicNanoseconds() - start >= 17 * 50_000_000)
    await store.close()
  }
}
