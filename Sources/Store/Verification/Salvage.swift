// Making a sound index of what can be read of a damaged one.
import Glibc

/// Copies the rows of undamaged pages that have their checksums into a new index, which takes the damaged one's place.
struct Salvage {
  let layout: Layout
  let calls: SystemCalls

  private var fresh: String { layout.root + "/index.new" }

  func run() throws(StoreOpenError) -> StoreFinding {
    let descriptor = try calls.openNeeded(layout.indexData, flags: O_RDONLY)
    defer { close(descriptor) }
    let head = try bestHead(descriptor)
    let rows: Int
    do throws(IndexError) {
      rows = try copy(descriptor, head)
    } catch {
      removeFresh()
      throw StoreOpenError(error, layout)
    }
    let kept = layout.indexData + ".damaged"
    do throws(SystemError) {
      try calls.rename(layout.indexData, to: kept)
      try calls.rename(fresh + "/data.mdb", to: layout.indexData)
      try calls.syncDirectory(layout.index)
    } catch {
      throw StoreOpenError(error.code, path: layout.index)
    }
    removeFresh()
    return .salvaged(rows: rows, kept: kept)
  }

  /// The newer of the heads; the other where that leads to nothing, or where their numbers do not fit, to less.
  private func bestHead(_ descriptor: Int32) throws(StoreOpenError) -> PageHead {
    let (first, second) = PageWalk.heads(descriptor, calls)
    let heads = [first, second].compactMap { try? $0.get() }.sorted { $0.transaction > $1.transaction }
    let areInOrder = heads.count < 2 || heads[0].transaction - heads[1].transaction <= 1
    var best: (head: PageHead, rows: Int)?
    for head in heads {
      guard var walk = try? PageWalk.from(head, descriptor, calls: calls, depth: .all) else { continue }
      var rows = 0
      walk.run { _, _, _ in rows += 1 }
      if best == nil || (areInOrder && best?.rows == 0) || (!areInOrder && rows > best?.rows ?? 0) {
        best = (head, rows)
      }
    }
    guard let best else {
      throw .badIndex(directory: layout.root, reason: "neither of its heads can be read")
    }
    return best.head
  }

  private func copy(_ descriptor: Int32, _ head: PageHead) throws(IndexError) -> Int {
    removeFresh()
    guard mkdir(fresh, 0o755) == 0 else { throw IndexError(code: errno) }
    let index = try Index(directory: fresh, mapBytes: 64 << 30)
    defer { index.close() }
    try index.openTables()
    var rows = 0
    var failure: IndexError?
    var batch = Operations()
    func apply() {
      do {
        if failure == nil { try index.apply([batch]) { true } }
      } catch {
        failure = error as? IndexError ?? IndexError(code: EINVAL)
      }
      batch = Operations()
    }
    guard var walk = try? PageWalk.from(head, descriptor, calls: calls, depth: .all) else {
      throw IndexError(code: EIO)
    }
    walk.run { table, key, value in
      let row = key.withUnsafeBytes { key in
        value.withUnsafeBytes { value -> (key: [UInt8], value: [UInt8])? in
          guard let count = RowSeal.payloadCount(table, key: key, sealed: value) else { return nil }
          return (Array(key), Array(value[..<count]))
        }
      }
      guard let row else { return }
      rows += 1
      batch.put(table, row.key, row.value)
      if batch.bytes.count > 4 << 20 { apply() }
    }
    // The row that says so may be among the lost.
    var format: [UInt8] = []
    format.put(Opening.format)
    batch.put(.meta, IndexKey.format, format)
    apply()
    if let failure { throw failure }
    return rows
  }

  private func removeFresh() {
    for name in calls.names(in: fresh) { try? calls.unlink(fresh + "/" + name) }
    rmdir(fresh)
  }
}
