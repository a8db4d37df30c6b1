// The pure parts: extents of a segment, the order of use, fingerprints, records.
import CachePolicy
import HTTPMessage
import Spans
import Testing

@testable import Store

@Suite struct SegmentTests {
  @Test(arguments: 0..<100 as Range<UInt64>)
  func answersLikeASetOfBytes(seed: UInt64) {
    var random = Generator(state: seed)
    var segment = Segment(isLoaded: true)
    var expected = SpanSet()
    for _ in 0..<60 {
      let lower = UInt64.random(in: 0..<1000, using: &random)
      let free = expected.firstGap(in: ByteSpan(lower, 1000))
      if Bool.random(using: &random), let free, free.lower == lower {
        let upper = UInt64.random(in: lower + 1...min(free.upper, lower + 40), using: &random)
        segment.put(
          Extent(lower: lower, checksum: 0, length: UInt32(upper - lower), isChecked: true))
        expected.insert(ByteSpan(lower, upper))
      } else {
        for extent in segment.remove(where: { $0.span.contains(lower) }) { expected.remove(extent.span) }
      }
      #expect(SpanSet(segment.extents.map(\.span)) == expected)
      #expect(segment.presentBytes == expected.totalBytes)
      for position in stride(from: UInt64(0), to: 1000, by: 7) {
        let present = expected.present(at: position)
        #expect(segment.presentEnd(from: position, limit: 1000) == present?.upper)
        if present == nil {
          let gap = expected.firstGap(in: ByteSpan(position, 1000))
          #expect((segment.nextLower(after: position) ?? 1000) == gap?.upper)
        }
      }
    }
  }

  @Test func rowsOfTheIndexGiveWayToWhatWasWrittenSince() {
    var segment = Segment(isLoaded: false)
    func extent(_ lower: UInt64, _ upper: UInt64, _ checksum: UInt64 = 0) -> Extent {
      Extent(lower: lower, checksum: checksum, length: UInt32(upper - lower), isChecked: true)
    }
    segment.put(extent(10, 20, 1))
    segment.put(extent(40, 50, 1))
    let refused = segment.load([extent(0, 10), extent(15, 30), extent(30, 40), extent(45, 46), extent(60, 70)])
    #expect(refused == [extent(15, 30), extent(45, 46)])
    #expect(segment.extents == [extent(0, 10), extent(10, 20, 1), extent(30, 40), extent(40, 50, 1), extent(60, 70)])
    #expect(segment.presentBytes == 50)
  }

  @Test func blocksAreCountedOnce() {
    var segment = Segment(isLoaded: true)
    segment.put(Extent(lower: 0, checksum: 0, length: 1, isChecked: true))
    segment.put(Extent(lower: 4000, checksum: 0, length: 200, isChecked: true))
    #expect(segment.blocks(around: 0).nonzeroBitCount == 2)
    segment.put(Extent(lower: 262_144, checksum: 0, length: 262_144, isChecked: true))
    #expect(segment.blocks(around: 300_000).nonzeroBitCount == 64)
    #expect(segment.blocks(around: 0).nonzeroBitCount == 2)
  }
}

@Suite struct TableTests {
  @Test(arguments: 0..<20 as Range<UInt64>)
  func fingerprintsAreASet(seed: UInt64) {
    var random = Generator(state: seed)
    var fingerprints = Fingerprints()
    var expected: Set<UInt64> = []
    for _ in 0..<2000 {
      // Few homes, so that members push each other on.
      let number = UInt64.random(in: 1..<40, using: &random) << 32 | UInt64.random(in: 1..<4, using: &random)
      if Bool.random(using: &random) {
        fingerprints.insert(number)
        expected.insert(number)
      } else {
        fingerprints.remove(number)
        expected.remove(number)
      }
      #expect(fingerprints.count == expected.count)
      #expect(fingerprints.contains(number) == expected.contains(number))
    }
    for number in expected { #expect(fingerprints.contains(number)) }
  }

  @Test func theOrderOfUseIsKept() {
    var table = UsageTable()
    _ = table.use(7, allocated: 100)
    table.load([(1, 10, 50), (2, 20, 30), (3, 30, 40), (7, 999, 1)])
    #expect(table.oldest(9) == [2, 3, 1, 7])
    #expect(table.use(3, allocated: nil) == 0)
    #expect(table.use(2, allocated: 25) == 5)
    #expect(table.oldest(9) == [1, 7, 3, 2])
    #expect(table.remove(7) == 100)
    #expect(table.remove(7) == nil)
    #expect(table.oldest(2) == [1, 3])
    _ = table.use(8, allocated: 1)
    #expect(table.oldest(9) == [1, 3, 2, 8])
  }
}

private func reading<Value>(_ bytes: [UInt8], _ body: (RawSpan) throws -> Value) rethrows -> Value {
  try body(bytes.span.bytes)
}

/// How many batches a journal of these bytes has; nil when it may not be used.
private func batches(_ bytes: [UInt8], _ generation: UInt64, _ boot: String) -> Int? {
  reading(bytes) { Journal.decode($0, generation: generation, boot: boot)?.count }
}

@Suite struct RecordTests {
  private let representation = RepresentationRecord(
    validator: validator, total: 1 << 40, isPacked: false, presentBytes: 77,
    touched: SpanSet([ByteSpan(0, 3), ByteSpan(9, 10)]), complete: SpanSet([ByteSpan(1, 2)]))

  @Test func recordsComeBackAsTheyWere() throws {
    #expect(try reading(representation.encoded(), RepresentationRecord.decode) == representation)
    for validator in [Validator.none, .strongDate(Timestamp(seconds: -5)), .weakDate(Timestamp(seconds: 5))] {
      var record = representation
      record.validator = validator
      record.total = nil
      record.isPacked = true
      #expect(try reading(record.encoded(), RepresentationRecord.decode) == record)
    }
    let usage = UsageRecord(lastUse: 5, allocated: 6, key: KeyHash(high: 7, low: 8))
    #expect(try reading(usage.encoded(), UsageRecord.decode) == usage)
    let pack = PackRecord(size: 9, live: 8)
    #expect(try reading(pack.encoded(), PackRecord.decode) == pack)
    let extent = Extent(lower: 262_144, checksum: 3, length: 4, pack: 5, packOffset: 6, isChecked: false)
    #expect(try reading(ExtentRecord(extent).encoded(), { try ExtentRecord.decode($0, lower: 262_144) }) == extent)
    let response = response(
      "x",
      nominated: [.init(name: "accept", value: [1, 2]), .init(name: "cookie", value: nil)])
    let decoded = try reading(
      ResponseRecord(response: response, key: "http://a/", representation: 12).encoded(), ResponseRecord.decode)
    #expect(decoded.response == response && decoded.key == "http://a/" && decoded.representation == 12)
  }

  @Test func aResponseOfTheFirstVersionIsReadAsWell() throws {
    let response = response("x", nominated: [.init(name: "accept", value: [1, 2])])
    let now = ResponseRecord(response: response, key: "http://a/", representation: 12).encoded()
    let section = response.fields.serialized
    let start = try #require(now.firstRange(of: section)).lowerBound - 4
    var before = Array(now[..<start])
    before[0] = 1
    before.put(UInt32(response.fields.count))
    for (name, value) in response.fields {
      before.put(name.spelling)
      before.append(addingCapacity: 4 + value.bytes.count) { $0.put(counted: value.bytes.span.bytes) }
    }
    before += now[(start + 4 + section.count)...]
    #expect(try reading(before, ResponseRecord.decode).response == response)
  }

  /// Every kind of record, as a function that reads bytes.
  private var records: [(bytes: [UInt8], decode: (RawSpan) throws -> Void)] {
    [
      (representation.encoded(), { _ = try RepresentationRecord.decode($0) }),
      (
        ResponseRecord(response: response("x"), key: "k", representation: 1).encoded(),
        { _ = try ResponseRecord.decode($0) }
      ),
      (
        UsageRecord(lastUse: 1, allocated: 2, key: KeyHash(high: 3, low: 4)).encoded(),
        { _ = try UsageRecord.decode($0) }
      ),
      (PackRecord(size: 1, live: 1).encoded(), { _ = try PackRecord.decode($0) }),
      (
        ExtentRecord(Extent(lower: 0, checksum: 1, length: 2, isChecked: false)).encoded(),
        { _ = try ExtentRecord.decode($0, lower: 0) }
      ),
    ]
  }

  @Test func whatIsShorterLongerOrOfAnotherVersionIsRefused() {
    for (bytes, decode) in records {
      for count in bytes.indices {
        let short = Array(bytes[..<count])
        #expect(throws: RecordError.self) { try reading(short, decode) }
      }
      let long = bytes + [0]
      #expect(throws: RecordError.self) { try reading(long, decode) }
      var other = bytes
      other[0] += 1
      #expect(throws: RecordError.unknownVersion(other[0])) { try reading(other, decode) }
    }
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func bytesOfAnyKindAreReadOrRefused(seed: UInt64) {
    var random = Generator(state: seed)
    for (bytes, decode) in records {
      var changed = bytes
      for _ in 0..<3 {
        changed[Int.random(in: changed.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      _ = try? reading(changed, decode)
      let noise = (0..<Int.random(in: 0..<100, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      _ = try? reading([1] + noise, decode)
      #expect((try? Operations(bytes: noise).forEach { _ in }) == nil || noise.isEmpty)
      #expect(batches(noise, 1, "") == nil)
    }
  }

  @Test func aJournalEndsAtItsFirstBrokenBatch() async throws {
    let directory = try Directory()
    let path = directory.path + "/journal"
    let journal = try Journal(path: path, generation: 7, boot: "b", calls: SystemCalls())
    for number in 0..<3 as Range<UInt8> {
      var batch = Operations()
      batch.put(.meta, [number], [number])
      try journal.append(batch)
    }
    var bytes = try #require(readFile(path))
    #expect(batches(bytes, 7, "b") == 3)
    #expect(batches(bytes, 8, "b") == nil)
    #expect(batches(bytes, 7, "c") == nil)
    #expect(batches(Array(bytes.dropLast()), 7, "b") == 2)
    bytes[bytes.count / 2 + 10] ^= 1
    #expect(batches(bytes, 7, "b") == 1)
  }
}
