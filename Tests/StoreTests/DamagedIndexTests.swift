// Bits that flip in the index, and an index that is cut short: nothing wrong is ever served, and nothing crashes.
import CachePolicy
import Glibc
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct DamagedIndexTests {
  private static let small: UInt64 = 3_000
  private static let large: UInt64 = 300_000
  private static let names = (0..<40).map { "object-\($0)" }

  private func total(_ name: String) -> UInt64 { name.hasSuffix("7") ? Self.large : Self.small }

  /// A store with small and large objects, its index of many pages; closed.
  private func makeStore() async throws -> Directory {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    for name in Self.names { try await store.fill(name, total: total(name), [ByteSpan(0, total(name))]) }
    await store.close()
    return directory
  }

  /// Reads everything; what is there must be what was written. Returns how many objects were there as a whole.
  private func expectNothingWrong(_ directory: Directory, _ note: String) async throws -> Int {
    let store = try Store.open(options(directory))
    defer { store.abandon() }
    var whole = 0
    for name in Self.names {
      for entry in await store.entries(for: key(name)) {
        #expect(entry.response == response(name), "\(note): \(name)")
        #expect(entry.representation.validator == validator, "\(note): \(name)")
        #expect(entry.representation.total == total(name), "\(note): \(name)")
        let present = try await entry.representation.verified(ByteSpan(0, total(name)))
        if present.totalBytes == total(name) { whole += 1 }
      }
    }
    return whole
  }

  private func repair(_ directory: Directory) throws -> StoreVerdict {
    try StoreVerifier.run(
      directory: directory.path + "/cache", repairs: true, report: { _ in }, progress: { _ in })
  }

  private func write(_ bytes: [UInt8], to path: String) {
    let descriptor = open(path, O_WRONLY | O_TRUNC)
    _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    close(descriptor)
  }

  @Test func aFlippedBitAnywhereIsNeverServedAndCanBeRepaired() async throws {
    let directory = try await makeStore()
    let path = directory.path + "/cache/index/data.mdb"
    let files = directory.snapshot()
    let good = try #require(files[path])
    /// Puts back what starts and repairs have taken out.
    func restore() {
      for stray in directory.snapshot().keys where files[stray] == nil { unlink(stray) }
      for (path, bytes) in files where readFile(path) != bytes {
        close(open(path, O_WRONLY | O_CREAT, 0o644))
        write(bytes, to: path)
      }
    }
    var random = Generator(state: 3)
    var (refused, served) = (0, 0)
    for seed in 0..<200 {
      restore()
      var bytes = good
      let place = Int.random(in: 0..<bytes.count, using: &random)
      // A bit, or a byte that is quite another.
      bytes[place] ^=
        seed % 2 == 0 ? 1 << UInt8.random(in: 0...7, using: &random) : .random(in: 1...255, using: &random)
      write(bytes, to: path)
      let note = "byte \(place) is \(bytes[place]) and was \(good[place])"
      do {
        let whole = try await expectNothingWrong(directory, note)
        #expect(whole >= Self.names.count - 1, "\(note)")
        served += 1
      } catch let error as StoreOpenError {
        switch error {
        case .damagedIndex, .badIndex, .unknownVersion: refused += 1
        case .unusable, .noSpace, .inUse, .absent, .occupied: Issue.record("\(note): \(error)")
        }
        write(bytes, to: path)
        // A number that says another version is not looked behind.
        guard case .damagedIndex = error else { continue }
        do {
          let verdict = try repair(directory)
          #expect(verdict.isBad && verdict.isRepaired, "\(note)")
          _ = try await expectNothingWrong(directory, "\(note), repaired")
        } catch {
          Issue.record("\(note): the repair failed: \(error)")
        }
      }
    }
    #expect(refused > 5)
    #expect(served > 50)
  }

  /// A repair has the store to itself: it looks at the pages before LMDB does, which refuses such heads.
  @Test(arguments: [10, 16, 20, 23, 40])
  func aHeadThatCannotBeRightIsRepairedFromTheOther(_ offset: Int) async throws {
    let directory = try await makeStore()
    let path = directory.path + "/cache/index/data.mdb"
    let good = try #require(readFile(path))
    for page in [0, 4096] {
      var bytes = good
      bytes[page + offset] ^= 0x11
      write(bytes, to: path)
      let verdict = try repair(directory)
      #expect(verdict.isBad && verdict.isRepaired, "byte \(page + offset)")
      _ = try await expectNothingWrong(directory, "byte \(page + offset)")
    }
  }

  /// One page that cannot be right: a repair keeps what the others have, and the bodies that belong to it.
  @Test func aRepairKeepsWhatUndamagedPagesHave() async throws {
    let directory = try Directory()
    let first = try Store.open(options(directory))
    for number in 0..<300 { try await first.fill("\(number)", total: 500, [ByteSpan(0, 500)]) }
    await first.close()
    let path = directory.path + "/cache/index/data.mdb"
    var bytes = try #require(readFile(path))
    // A leaf of responses, among others that are not in use any more.
    let needle = Array("http://origin.example/150".utf8)
    for page in stride(from: 0, to: bytes.count, by: 4096) where bytes[page + 10] == 2 {
      let place = (page..<page + 4096 - needle.count).first { bytes[$0...].starts(with: needle) }
      if place != nil { bytes[page + 12] ^= 1 }
    }
    write(bytes, to: path)
    #expect(throws: StoreOpenError.self) { try Store.open(options(directory)) }
    let verdict = try repair(directory)
    #expect(verdict.badPages > 0 && verdict.isRepaired && verdict.badExtents == 0)
    #expect(access(path + ".damaged", F_OK) == 0)
    let store = try Store.open(options(directory))
    var kept = 0
    for number in 0..<300 {
      guard let entry = await store.entries(for: key("\(number)")).first else { continue }
      #expect(entry.response == response("\(number)"))
      #expect(try await entry.representation.verified(ByteSpan(0, 500)).totalBytes == 500)
      kept += 1
    }
    // What a page had before it was split may still stand in its free part: more than one may be hit.
    #expect((200..<300).contains(kept), "\(kept)")
    await store.close()
  }

  @Test func anIndexThatIsCutShortIsRefusedWithTheRemedy() async throws {
    let directory = try await makeStore()
    let path = directory.path + "/cache/index/data.mdb"
    let good = try #require(readFile(path))
    for size in [100, 4096, 5000, 8192, 3 * 4096, good.count / 2, good.count - 4096] {
      write(Array(good[..<size]), to: path)
      do {
        // Only where what is cut off is not in use may it be opened.
        _ = try await expectNothingWrong(directory, "cut at \(size)")
        #expect(size >= good.count / 2)
      } catch let error as StoreOpenError {
        switch error {
        case .damagedIndex: #expect(error.explanation.contains("larder verify --repair"))
        case .badIndex: #expect(error.explanation.contains("remove the directory"))
        case .unusable, .noSpace, .inUse, .absent, .occupied, .unknownVersion: Issue.record("cut at \(size): \(error)")
        }
      }
      #expect(readFile(path)?.count ?? 0 >= size)
    }
  }

  @Test func anEmptyIndexBesideBodiesBeginsAnewAndTheyGo() async throws {
    let directory = try await makeStore()
    truncate(directory.path + "/cache/index/data.mdb", 0)
    #expect(try await expectNothingWrong(directory, "empty") == 0)
    let store = try Store.open(options(directory))
    try await store.fill("new", total: Self.large, [ByteSpan(0, Self.large)])
    await store.close()
    #expect(directory.snapshot().keys.filter { $0.contains("/bodies/") }.count == 1)
  }

  /// Each table in turn: a row that is not what was written counts as absent, is counted, and others are not touched.
  @Test(arguments: Table.allCases)
  func aRowThatIsNotWhatWasWrittenCountsAsAbsent(table: Table) async throws {
    let directory = try await makeStore()
    let index = try Index(directory: directory.path + "/cache/index", mapBytes: 1 << 30)
    try index.openTables()
    let rows = try index.read { reader in
      var rows: [(key: [UInt8], value: [UInt8])] = []
      reader.scan(table, from: []) { key, value in
        rows.append((key.withUnsafeBytes { Array($0) }, value.withUnsafeBytes { Array($0) }))
        return true
      }
      return rows
    }
    index.close()
    guard let row = rows.first else {
      #expect(table == .doomed)
      return
    }
    let path = directory.path + "/cache/index/data.mdb"
    var bytes = try #require(readFile(path))
    let needle = row.key + row.value
    for place in bytes.indices where bytes[place...].starts(with: needle) {
      bytes[place + needle.count - 1] ^= 0x10
    }
    write(bytes, to: path)
    if table == .meta, row.key == IndexKey.format {
      #expect(throws: StoreOpenError.self) { try Store.open(options(directory)) }
      return
    }
    let whole = try await expectNothingWrong(directory, "\(table)")
    #expect(whole >= Self.names.count - 1)
  }
}
