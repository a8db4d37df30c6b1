// One check of a store: its rows, then the bytes of every extent, then the files.
import Glibc
import Spans

/// Goes through the tables in pieces, so that no snapshot of the index is held for long and memory stays small.
struct Verification {
  /// Rows that are read in one go.
  private static let piece = 2048

  let layout: Layout
  let calls: SystemCalls
  let index: Index
  let repairs: Bool
  var verdict: StoreVerdict
  let report: (StoreFinding) -> Void
  private let progress: (VerificationProgress) -> Void
  private var total: UInt64 = 0
  /// The packs that good extents refer to, and how many bytes of each: as many as there are packs.
  private var livePacks: [UInt32: UInt64] = [:]
  /// The number of the last run; files of it may be in use.
  private let incarnation: UInt32

  init(
    layout: Layout, calls: SystemCalls, repairs: Bool, verdict: StoreVerdict,
    report: @escaping (StoreFinding) -> Void, progress: @escaping (VerificationProgress) -> Void
  ) throws(StoreOpenError) {
    self.layout = layout
    self.calls = calls
    self.repairs = repairs
    self.verdict = verdict
    self.report = report
    self.progress = progress
    do throws(IndexError) {
      index = try Index(directory: layout.index, mapBytes: 64 << 30, mode: repairs ? .readWrite : .readOnly)
      let format = try index.hasTables() ? try index.peekMeta(IndexKey.format) ?? [] : []
      let found = Opening.decode(format) as UInt32? ?? 0
      guard found == Opening.format else {
        throw IndexError(code: Index.unknownFormat, detail: Int32(bitPattern: found))
      }
      try index.openTables()
      let run = try index.read { reader in
        reader.get(.meta, IndexKey.incarnation).flatMap { Opening.decode($0) as UInt32? }
      }
      incarnation = run ?? 0
    } catch {
      if error.code == Index.unknownFormat {
        throw .unknownVersion(directory: layout.root, found: UInt32(bitPattern: error.detail), expected: Opening.format)
      }
      throw StoreOpenError(error, layout)
    }
  }

  /// Does it all.
  mutating func run() throws(StoreOpenError) -> StoreVerdict {
    defer { index.close() }
    do throws(IndexError) {
      // Representations first: the others refer to them.
      for table in [Table.representations, .responses, .usage, .packs, .meta, .doomed] { try checkRows(of: table) }
      try checkExtents()
      try mendPacks()
      try removeOrphanFiles()
    } catch {
      throw StoreOpenError(error, layout)
    }
    verdict.isRepaired = repairs
    return verdict
  }

  // MARK: Rows

  typealias Row = (key: [UInt8], value: [UInt8])

  /// Gives all rows of a table that have their checksums, in order and in pieces; the others are reported.
  private mutating func forEachPiece(
    of table: Table, _ body: (inout Verification, [Row], inout Operations) throws(IndexError) -> Void
  ) throws(IndexError) {
    var next: [UInt8]? = []
    while let first = next {
      next = nil
      var rows: [Row] = []
      try index.read { reader in
        reader.scanRaw(table, from: first) { key, value in
          guard rows.count < Self.piece else {
            next = Array(key)
            return false
          }
          rows.append((Array(key), Array(value)))
          return true
        }
      }
      var changes = Operations()
      var good: [Row] = []
      for row in rows {
        if let value = unsealed(table, row) {
          good.append((row.key, value))
        } else if try isStillThere(table, row) {
          reportBadRow(table, row)
          changes.delete(table, row.key)
        }
      }
      try body(&self, good, &changes)
      try apply(changes)
    }
  }

  private func unsealed(_ table: Table, _ row: Row) -> [UInt8]? {
    row.key.withUnsafeBytes { key in
      row.value.withUnsafeBytes { value in
        RowSeal.payloadCount(table, key: key, sealed: value).map { Array(value[..<$0]) }
      }
    }
  }

  private mutating func reportBadRow(_ table: Table, _ row: Row) {
    let (found, expected) = row.key.withUnsafeBytes { key in
      row.value.withUnsafeBytes { RowSeal.sums(table, key: key, sealed: $0) }
    }
    verdict.badRows += 1
    report(.row(table: table.name, key: hexadecimal(row.key), expected: expected, found: found))
  }

  /// A row that was read may have been replaced since.
  private func isStillThere(_ table: Table, _ row: Row) throws(IndexError) -> Bool {
    try index.read { $0.raw(table, row.key) == row.value }
  }

  func apply(_ changes: Operations) throws(IndexError) {
    guard repairs, !changes.isEmpty else { return }
    do {
      try index.apply([changes]) { true }
    } catch {
      throw error as? IndexError ?? IndexError(code: EINVAL)
    }
  }

  private mutating func reportOrphan(_ table: Table, _ key: [UInt8], _ changes: inout Operations) {
    verdict.orphans += 1
    report(.orphanRow(table: table.name, key: hexadecimal(key)))
    changes.delete(table, key)
  }

  private mutating func checkRows(of table: Table) throws(IndexError) {
    try forEachPiece(of: table) { (check, rows, changes) throws(IndexError) in
      for row in rows { try check.check(table, row, &changes) }
    }
  }

  /// Whether a row can be read and what it refers to is there.
  private mutating func check(_ table: Table, _ row: Row, _ changes: inout Operations) throws(IndexError) {
    let span = row.value.span.bytes
    var owner: UInt64?
    do throws(RecordError) {
      switch table {
      case .meta, .doomed, .extents: return
      case .packs: _ = try PackRecord.decode(span)
      case .usage:
        _ = try UsageRecord.decode(span)
        owner = IndexKey.number(row.key.span.bytes)
      case .responses: owner = try ResponseRecord.decode(span).representation
      case .representations:
        let record = try RepresentationRecord.decode(span)
        verdict.objects += 1
        total += record.presentBytes
      }
    } catch {
      let sealed = RowSeal.seal(table, key: row.key, value: row.value)
      guard try isStillThere(table, (row.key, sealed)) else { return }
      reportBadRow(table, (row.key, sealed))
      changes.delete(table, row.key)
      return
    }
    guard let owner, try !isRecorded(owner) else { return }
    let sealed = RowSeal.seal(table, key: row.key, value: row.value)
    if try isStillThere(table, (row.key, sealed)) { reportOrphan(table, row.key, &changes) }
  }

  /// Whether there is a representation of this number, or was one whose row is damaged.
  private func isRecorded(_ id: UInt64) throws(IndexError) -> Bool {
    try index.read { $0.raw(.representations, IndexKey.representation(id)) != nil }
  }

  // MARK: Extents

  private mutating func checkExtents() throws(IndexError) {
    let data = ExtentData(layout: layout, calls: calls)
    var rebuilding: RecordRebuilding?
    var known: (id: UInt64, isRecorded: Bool)?
    try forEachPiece(of: .extents) { (check, rows, changes) throws(IndexError) in
      for row in rows {
        guard let id = IndexKey.number(row.key.span.bytes), let lower = IndexKey.secondNumber(row.key.span.bytes),
          let extent = try? ExtentRecord.decode(row.value.span.bytes, lower: lower)
        else {
          check.reportBadRow(.extents, (row.key, RowSeal.seal(.extents, key: row.key, value: row.value)))
          changes.delete(.extents, row.key)
          continue
        }
        if known?.id != id {
          try check.finish(&rebuilding)
          known = (id, try check.isRecorded(id))
          if known?.isRecorded == true { rebuilding = RecordRebuilding(id: id) }
        }
        let sealed = RowSeal.seal(.extents, key: row.key, value: row.value)
        guard known?.isRecorded == true else {
          if try check.isStillThere(.extents, (row.key, sealed)) { check.reportOrphan(.extents, row.key, &changes) }
          continue
        }
        switch data.check(extent, of: id) {
        case .good:
          check.count(extent)
          rebuilding?.add(extent)
          if extent.pack != 0 {
            check.livePacks[extent.pack, default: 0] += UInt64(extent.length) + UInt64(PackStore.headerSize)
          }
        case .bad(let found):
          // Copied elsewhere, evicted or grown while it was read.
          guard try check.isStillThere(.extents, (row.key, sealed)) else { continue }
          check.count(extent)
          try check.reportBad(extent, of: id, found: found)
          changes.delete(.extents, row.key)
        }
      }
    }
    try finish(&rebuilding)
  }

  private mutating func count(_ extent: Extent) {
    verdict.extents += 1
    verdict.bytes += UInt64(extent.length)
    progress(VerificationProgress(bytes: verdict.bytes, total: total))
  }

  private mutating func reportBad(_ extent: Extent, of id: UInt64, found: UInt64?) throws(IndexError) {
    verdict.badExtents += 1
    let isPacked = extent.pack != 0
    report(
      .extent(
        file: isPacked ? layout.pack(extent.pack) : layout.body(id),
        offset: isPacked ? UInt64(extent.packOffset) : extent.lower, lower: extent.lower,
        length: UInt64(extent.length), expected: extent.checksum, found: found, url: try url(of: id)))
  }

  /// The key of the response that refers to a representation.
  private func url(of id: UInt64) throws(IndexError) -> String? {
    try index.read { reader in
      guard let row = reader.get(.usage, IndexKey.representation(id)),
        let usage = try? UsageRecord.decode(row.span.bytes)
      else { return nil }
      var found: String?
      reader.scan(.responses, prefix: IndexKey.key(usage.key)) { _, value in
        if let response = try? ResponseRecord.decode(value), response.representation == id { found = response.key }
      }
      return found
    }
  }

  /// Brings the rows about a representation into agreement with the extents that are left of it.
  private func finish(_ rebuilding: inout RecordRebuilding?) throws(IndexError) {
    guard repairs, let rebuilt = rebuilding.take() else { return }
    let row = IndexKey.representation(rebuilt.id)
    let (record, usage) = try index.read { reader in
      (
        reader.get(.representations, row).flatMap { try? RepresentationRecord.decode($0.span.bytes) },
        reader.get(.usage, row).flatMap { try? UsageRecord.decode($0.span.bytes) }
      )
    }
    guard let record else { return }
    var changes = Operations()
    let right = rebuilt.record(record)
    if right != record { changes.put(.representations, row, right.encoded()) }
    if var usage, !record.isPacked, usage.allocated != rebuilt.allocated {
      usage.allocated = rebuilt.allocated
      changes.put(.usage, row, usage.encoded())
    }
    try apply(changes)
  }

  /// Brings the rows of the packs into agreement with the extents that refer to them.
  private func mendPacks() throws(IndexError) {
    guard repairs else { return }
    var changes = Operations()
    for (number, live) in livePacks {
      guard let size = calls.size(of: layout.pack(number))?.length else { continue }
      let row = IndexKey.pack(number)
      let record = try index.read { $0.get(.packs, row).flatMap { try? PackRecord.decode($0.span.bytes) } }
      let right = PackRecord(size: record?.size ?? size, live: live)
      if record != right { changes.put(.packs, row, right.encoded()) }
    }
    try apply(changes)
  }

  // MARK: Files

  /// Files that no row speaks of; those of the last run may be spoken of by its journal, or be in use.
  private mutating func removeOrphanFiles() throws(IndexError) {
    let names = calls.names(in: layout.root)
    let hasJournal = names.contains { Layout.journalGeneration($0) != nil }
    let mayHaveMore = hasJournal || (!repairs && StoreLock.isTaken(layout, calls))
    for number in 0...255 {
      let directory = layout.shard(UInt8(number))
      for name in calls.names(in: directory) {
        guard let id = UInt64(name, radix: 16), !mayHaveMore || id >> 32 < UInt64(incarnation),
          try !isRecorded(id)
        else { continue }
        removeOrphan(directory + "/" + name)
      }
    }
    guard !mayHaveMore else { return }
    for name in calls.names(in: layout.packs) {
      guard let number = UInt32(name, radix: 16), livePacks[number] == nil,
        try index.read({ $0.raw(.packs, IndexKey.pack(number)) == nil })
      else { continue }
      removeOrphan(layout.packs + "/" + name)
    }
  }

  private mutating func removeOrphan(_ path: String) {
    guard let size = calls.size(of: path)?.length else { return }
    verdict.orphans += 1
    report(.orphanFile(path: path, bytes: size))
    if repairs { try? calls.unlink(path) }
  }
}
