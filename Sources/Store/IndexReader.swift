// Reading rows of the index from one snapshot.
internal import CLMDB

/// A snapshot of the index, valid inside the closure it was given to.
struct IndexReader {
  let transaction: OpaquePointer
  let handles: [MDB_dbi]
  let rows: Counter?
  let damage: IndexDamage

  /// The number of the transaction whose state is read.
  var snapshot: UInt64 { UInt64(mdb_txn_id(transaction)) }

  /// The row's value, or nil when there is none, or none that is what was written.
  func get(_ table: Table, _ key: [UInt8]) -> [UInt8]? {
    find(table, key) { value in
      key.withUnsafeBytes { key in
        guard let count = RowSeal.payloadCount(table, key: key, sealed: value) else {
          damage.note(table, key: key, "does not have its checksum")
          return nil
        }
        return Array(value[..<count])
      }
    }
  }

  /// The row's value as it stands in the index, checksum and all.
  func raw(_ table: Table, _ key: [UInt8]) -> [UInt8]? { find(table, key) { Array($0) } }

  private func find(_ table: Table, _ key: [UInt8], _ body: (UnsafeRawBufferPointer) -> [UInt8]?) -> [UInt8]? {
    rows?.add(1)
    var value = MDB_val()
    let code = Index.withValue(key) { mdb_get(transaction, handles[Int(table.rawValue)], &$0, &value) }
    guard code == 0 else {
      if code != MDB_NOTFOUND { damage.note(table, code: code) }
      return nil
    }
    return body(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
  }

  /// Gives the rows from the first whose key is not below `first`, in order, until `body` returns false. A row that is
  /// not what was written is noted and left out.
  func scan(_ table: Table, from first: [UInt8], _ body: (_ key: RawSpan, _ value: RawSpan) -> Bool) {
    scanRaw(table, from: first) { key, value in
      guard let count = RowSeal.payloadCount(table, key: key, sealed: value) else {
        damage.note(table, key: key, "does not have its checksum")
        return true
      }
      return body(key.bytes, UnsafeRawBufferPointer(rebasing: value[..<count]).bytes)
    }
  }

  /// The same, with the rows as they stand in the index.
  func scanRaw(
    _ table: Table, from first: [UInt8],
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
  ) {
    var cursor: OpaquePointer?
    guard mdb_cursor_open(transaction, handles[Int(table.rawValue)], &cursor) == 0 else { return }
    defer { mdb_cursor_close(cursor) }
    var value = MDB_val()
    var found = MDB_val()
    var code: Int32
    if first.isEmpty {
      code = mdb_cursor_get(cursor, &found, &value, MDB_FIRST)
    } else {
      code = Index.withValue(first) { key in
        let code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
        found = key
        return code
      }
    }
    while code == 0 {
      rows?.add(1)
      let key = UnsafeRawBufferPointer(start: found.mv_data, count: found.mv_size)
      guard body(key, UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)) else { return }
      code = mdb_cursor_get(cursor, &found, &value, MDB_NEXT)
    }
    if code != MDB_NOTFOUND { damage.note(table, code: code) }
  }

  /// Gives the rows whose key begins with `prefix`, in order.
  func scan(_ table: Table, prefix: [UInt8], _ body: (_ key: RawSpan, _ value: RawSpan) -> Void) {
    scan(table, from: prefix) { key, value in
      guard key.byteCount >= prefix.count, key.withUnsafeBytes({ $0.starts(with: prefix) }) else { return false }
      body(key, value)
      return true
    }
  }

  /// The last key of a table, or nil when it is empty.
  func lastKey(_ table: Table) -> [UInt8]? {
    var cursor: OpaquePointer?
    guard mdb_cursor_open(transaction, handles[Int(table.rawValue)], &cursor) == 0 else { return nil }
    defer { mdb_cursor_close(cursor) }
    var key = MDB_val()
    var value = MDB_val()
    guard mdb_cursor_get(cursor, &key, &value, MDB_LAST) == 0 else { return nil }
    return Array(UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size))
  }
}
