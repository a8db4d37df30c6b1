// A sound index is never taken for a damaged one, whatever LMDB has made of its pages.
import Glibc
import Testing

@testable import Store

@Suite struct PageWalkTests {
  private func walk(_ path: String, _ depth: PageDepth) throws -> (damage: [PageDamage], rows: Int) {
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    var walk = try PageWalk.newest(descriptor, calls: SystemCalls(), depth: depth)
    var rows = 0
    walk.run { _, _, _ in rows += 1 }
    return (walk.damage, rows)
  }

  /// Rows of all sizes come and go, while a reader keeps old pages from being used again and then lets go of them.
  @Test func everyStateOfALivelyIndexIsSound() throws {
    let directory = try Directory()
    let index = try Index(directory: directory.path, mapBytes: 1 << 30)
    try index.openTables()
    let path = directory.path + "/data.mdb"
    #expect(try walk(path, .all).damage == [])
    var random = Generator(state: 17)
    var rows: [Table: Set<[UInt8]>] = [:]
    func change(_ count: Int, deletes: Int) throws {
      var batch = Operations()
      for _ in 0..<count {
        let table = Table.allCases.randomElement(using: &random) ?? .meta
        if Int.random(in: 0..<100, using: &random) < deletes, let key = rows[table]?.randomElement(using: &random) {
          batch.delete(table, key)
          rows[table]?.remove(key)
        } else {
          let key = (0..<Int.random(in: 1...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
          // Now and then one that stands in pages of its own.
          let size = Int.random(in: 0..<20, using: &random) == 0 ? 2000...20_000 : 0...200
          batch.put(table, key, [UInt8](repeating: 7, count: Int.random(in: size, using: &random)))
          rows[table, default: []].insert(key)
        }
      }
      try index.apply([batch]) { true }
    }
    func expectSound(_ note: String) throws {
      let (damage, found) = try walk(path, .all)
      #expect(damage == [], "\(note)")
      #expect(found == rows.values.reduce(0) { $0 + $1.count }, "\(note)")
      #expect(try walk(path, .branches).damage == [], "\(note)")
    }
    for round in 0..<60 {
      try change(Int.random(in: 1...300, using: &random), deletes: 30)
      try expectSound("growing, round \(round)")
    }
    try index.read { _ in
      for round in 0..<20 {
        do {
          try change(200, deletes: 50)
          try expectSound("beside a reader, round \(round)")
        } catch {
          Issue.record("round \(round): \(error)")
        }
      }
    }
    for round in 0..<60 {
      try change(200, deletes: 90)
      try expectSound("shrinking, round \(round)")
    }
    index.close()
  }

  /// Of a large index only the pages that lead to others are looked at: damage there is found.
  @Test func aBranchThatIsDamagedIsFoundWithoutALookAtTheLeaves() throws {
    let directory = try Directory()
    let index = try Index(directory: directory.path, mapBytes: 1 << 30)
    try index.openTables()
    var batch = Operations()
    for number in 0..<20_000 as Range<UInt64> { batch.put(.extents, IndexKey.extent(1, number), [1, 2, 3]) }
    try index.apply([batch]) { true }
    index.close()
    let path = directory.path + "/data.mdb"
    let good = try #require(readFile(path))
    var found = 0
    var branches = 0
    for page in stride(from: 0, to: good.count, by: 4096) where good[page + 10] == 1 && good[page + 11] == 0 {
      branches += 1
      var bytes = good
      // The first of the places of its nodes.
      bytes[page + 16] ^= 0x40
      let descriptor = open(path, O_WRONLY)
      _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
      close(descriptor)
      if try !walk(path, .branches).damage.isEmpty { found += 1 }
    }
    #expect(branches > 0)
    // Pages that are not in use any more may look like branches.
    #expect(found > 0)
  }

  /// Decoding what is no record says so, for every record and every length.
  @Test func whatIsNoRecordIsRefused() {
    var random = Generator(state: 23)
    for count in 0..<400 {
      var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      if count > 0 { bytes[0] = 1 }
      let span = bytes.span.bytes
      _ = try? ResponseRecord.decode(span)
      _ = try? RepresentationRecord.decode(span)
      _ = try? UsageRecord.decode(span)
      _ = try? ExtentRecord.decode(span, lower: random.next())
      _ = try? PackRecord.decode(span)
      _ = try? PageHead.decode(span, page: 0)
      #expect(Journal.decode(span, generation: 1, boot: "boot") == nil)
    }
  }
}
