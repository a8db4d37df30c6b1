// What a check of the whole store finds, and what is left after a repair.
import Glibc
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct VerifierTests {
  private func verify(_ directory: Directory, repairs: Bool = false) throws -> (StoreVerdict, [StoreFinding]) {
    var findings: [StoreFinding] = []
    let verdict = try StoreVerifier.run(
      directory: directory.path + "/cache", repairs: repairs, report: { findings.append($0) }, progress: { _ in })
    return (verdict, findings)
  }

  private func flip(_ path: String, at position: Int) {
    let descriptor = open(path, O_RDWR)
    var byte: UInt8 = 0
    pread(descriptor, &byte, 1, off_t(position))
    byte ^= 4
    pwrite(descriptor, &byte, 1, off_t(position))
    close(descriptor)
  }

  private func makeStore() async throws -> Directory {
    let directory = try Directory()
    let store = try Store.open(options(directory))
    try await store.fill("large", total: 900_000, [ByteSpan(0, 900_000)])
    try await store.fill("partial", total: 40 << 20, [ByteSpan(5, 70_000), ByteSpan(20 << 20, (20 << 20) + 300_000)])
    for number in 0..<10 { try await store.fill("small\(number)", total: 1000, [ByteSpan(0, 1000)]) }
    await store.close()
    return directory
  }

  private func file(_ directory: Directory, _ folder: String, size: Int? = nil) throws -> String {
    let found = directory.snapshot().first { $0.key.contains("/\(folder)/") && (size == nil || $0.value.count == size) }
    return try #require(found).key
  }

  @Test func aSoundStoreIsFoundSound() async throws {
    let directory = try await makeStore()
    let before = directory.snapshot().filter { !$0.key.hasSuffix("lock.mdb") }
    let (verdict, findings) = try verify(directory)
    #expect(findings == [])
    #expect(verdict.objects == 12)
    // Extents end at 256 KiB: 4 of the whole one, 1 and 2 of the partial one, 10 small ones.
    #expect(verdict.extents == 17)
    #expect(verdict.bytes == 900_000 + 69_995 + 300_000 + 10_000)
    #expect(!verdict.isBad && verdict.orphans == 0)
    #expect(directory.snapshot().filter { !$0.key.hasSuffix("lock.mdb") } == before)
  }

  @Test func eachBadExtentIsNamedAndARepairTakesOutNothingElse() async throws {
    let directory = try await makeStore()
    let body = try file(directory, "bodies", size: 900_000)
    let pack = try file(directory, "packs")
    flip(body, at: 262_144)
    flip(body, at: 899_999)
    flip(pack, at: 4 * (1000 + PackStore.headerSize) + PackStore.headerSize + 500)
    let (found, findings) = try verify(directory)
    #expect(found.badExtents == 3 && found.badRows == 0 && found.orphans == 0)
    var places: [String] = []
    for case .extent(let path, let offset, let lower, let length, let expected, let bad, let url) in findings {
      #expect(bad != nil && bad != expected)
      places.append("\(path == body ? "body" : "pack") \(offset) \(lower) \(length) \(url ?? "-")")
    }
    let packed = 4 * (1000 + PackStore.headerSize) + PackStore.headerSize
    #expect(
      Set(places) == [
        "body 262144 262144 262144 http://origin.example/large",
        "body 786432 786432 113568 http://origin.example/large",
        "pack \(packed) 0 1000 http://origin.example/small4",
      ])
    let (repaired, _) = try verify(directory, repairs: true)
    #expect(repaired.badExtents == 3 && repaired.isRepaired)
    let (after, left) = try verify(directory)
    #expect(left == [] && after.extents == 14)
    let store = try Store.open(options(directory))
    let large = try #require(await store.entries(for: key("large")).first).representation
    #expect(large.presentBytes == 900_000 - 262_144 - 113_568)
    #expect(
      await large.gaps(in: ByteSpan(0, 900_000), limit: 9)
        == [ByteSpan(262_144, 524_288), ByteSpan(786_432, 900_000)])
    for gap in await large.gaps(in: ByteSpan(0, 900_000), limit: 9) { try await large.fill(gap) }
    #expect(try await large.verified(ByteSpan(0, 900_000)).totalBytes == 900_000)
    for number in 0..<10 {
      let small = try #require(await store.entries(for: key("small\(number)")).first).representation
      #expect(try await small.verified(ByteSpan(0, 1000)).totalBytes == (number == 4 ? 0 : 1000))
    }
    #expect(store.statistics.checksumErrors == 0)
    await store.close()
    #expect(try verify(directory).1 == [])
  }

  @Test func filesThatAreGoneOrCutAreFound() async throws {
    let directory = try await makeStore()
    unlink(try file(directory, "packs"))
    truncate(try file(directory, "bodies", size: 900_000), 300_000)
    let (verdict, findings) = try verify(directory)
    #expect(verdict.badExtents == 10 + 3)
    for case .extent(_, _, _, _, _, let found, _) in findings { #expect(found == nil) }
    #expect(try verify(directory, repairs: true).0.badExtents == 13)
    #expect(try verify(directory).1 == [])
  }

  @Test func filesAndRowsThatNothingRefersToGoWithARepair() async throws {
    let directory = try await makeStore()
    let stray = directory.path + "/cache/bodies/07/0000000000000107"
    let pack = directory.path + "/cache/packs/000000ff"
    for path in [stray, pack] { close(open(path, O_WRONLY | O_CREAT, 0o644)) }
    let index = try Index(directory: directory.path + "/cache/index", mapBytes: 1 << 30)
    try index.openTables()
    var stranger = Operations()
    let extent = Extent(lower: 0, checksum: 1, length: 9, isChecked: false)
    stranger.put(.extents, IndexKey.extent(99, 0), ExtentRecord(extent).encoded())
    try index.apply([stranger]) { true }
    index.close()
    let (verdict, findings) = try verify(directory)
    #expect(!verdict.isBad && verdict.orphans == 3)
    #expect(findings.contains(.orphanFile(path: stray, bytes: 0)))
    #expect(findings.contains(.orphanFile(path: pack, bytes: 0)))
    #expect(access(stray, F_OK) == 0)
    _ = try verify(directory, repairs: true)
    #expect(access(stray, F_OK) != 0 && access(pack, F_OK) != 0)
    #expect(try verify(directory).1 == [])
  }

  @Test func aRepairIsRefusedWhileTheStoreIsOpen() async throws {
    let directory = try await makeStore()
    let store = try Store.open(options(directory))
    do {
      _ = try verify(directory, repairs: true)
      Issue.record("was repaired")
    } catch {
      #expect(error as? StoreOpenError == .inUse(directory: directory.path + "/cache"))
    }
    await store.close()
  }
}
