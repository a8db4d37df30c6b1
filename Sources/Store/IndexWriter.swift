// Writing rows in one transaction of the index.
internal import CLMDB
import Glibc

/// Applies changes in a transaction that writes; belongs to whoever began that, and ends with it.
struct IndexWriter {
  private let transaction: OpaquePointer
  private let handles: [MDB_dbi]
  /// Where the last row of each table was put. The rows of new representations stand side by side, and a cursor that is
  /// on their page need not look for it from the root. LMDB closes them with the transaction.
  private var cursors: [OpaquePointer?]

  init(transaction: OpaquePointer, handles: [MDB_dbi]) {
    self.transaction = transaction
    self.handles = handles
    cursors = Array(repeating: nil, count: handles.count)
  }

  mutating func apply(_ batch: Operations) throws {
    try batch.scan { kind, table, key, value in
      switch kind {
      case .put: try put(table, key, value)
      case .delete:
        var row = Index.value(key)
        let code = mdb_del(transaction, handles[Int(table.rawValue)], &row, nil)
        if code != MDB_NOTFOUND { try Index.check(code) }
      case .deletePrefix: try delete(table, prefix: key)
      }
    }
  }

  private mutating func put(
    _ table: Table, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(IndexError) {
    var row = Index.value(key)
    // The value is written where it is to stand, with its seal behind it.
    var place = MDB_val(mv_size: value.count + RowSeal.size, mv_data: nil)
    try Index.check(mdb_cursor_put(cursor(in: table), &row, &place, UInt32(MDB_RESERVE)))
    let sealed = UnsafeMutableRawBufferPointer(start: place.mv_data, count: place.mv_size)
    sealed.copyMemory(from: value)
    let sum = RowSeal.sum(table, key: key, value: value)
    sealed.storeBytes(of: sum.littleEndian, toByteOffset: value.count, as: UInt64.self)
  }

  private mutating func cursor(in table: Table) throws(IndexError) -> OpaquePointer? {
    let number = Int(table.rawValue)
    if let cursor = cursors[number] { return cursor }
    try Index.check(mdb_cursor_open(transaction, handles[number], &cursors[number]))
    return cursors[number]
  }

  private func delete(_ table: Table, prefix: UnsafeRawBufferPointer) throws(IndexError) {
    var cursor: OpaquePointer?
    try Index.check(mdb_cursor_open(transaction, handles[Int(table.rawValue)], &cursor))
    defer { mdb_cursor_close(cursor) }
    var value = MDB_val()
    var first = Index.value(prefix)
    var code = mdb_cursor_get(cursor, &first, &value, MDB_SET_RANGE)
    while code == 0 {
      var key = MDB_val()
      try Index.check(mdb_cursor_get(cursor, &key, &value, MDB_GET_CURRENT))
      let found = UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size)
      guard found.starts(with: prefix) else { return }
      try Index.check(mdb_cursor_del(cursor, 0))
      // The cursor stands on the row after the deleted one.
      code = mdb_cursor_get(cursor, &key, &value, MDB_GET_CURRENT)
      if code == EINVAL { return }
    }
    if code != MDB_NOTFOUND { try Index.check(code) }
  }
}
