// The index on LMDB: read by any thread, written by one.
internal import CLMDB
import Glibc
import Synchronization

/// What LMDB said.
struct IndexError: Error {
  let code: Int32
  var detail: Int32 = 0

  var explanation: String { String(cString: mdb_strerror(code)) }
}

/// The tables of the index. Reads take a snapshot and end at once; writes come from one thread only.
///
/// Unchecked: LMDB's environment may be used by all threads; its handles are set before the index is shared.
final class Index: @unchecked Sendable {
  /// The code of an index that another version wrote; LMDB has none.
  static let unknownFormat: Int32 = -1

  private let environment: OpaquePointer
  private let isClosed = Atomic<Bool>(false)
  private var handles: [MDB_dbi] = []

  /// Opens or makes the index in `directory`. The map is an address range, not memory or disk.
  init(directory: String, mapBytes: Int) throws(IndexError) {
    var environment: OpaquePointer?
    try Index.check(mdb_env_create(&environment))
    guard let environment else { throw IndexError(code: ENOMEM) }
    self.environment = environment
    // Where one of these throws, the deinit closes what there is.
    try Index.check(mdb_env_set_maxdbs(environment, MDB_dbi(Table.allCases.count)))
    try Index.check(mdb_env_set_mapsize(environment, mapBytes))
    try Index.check(mdb_env_set_maxreaders(environment, 512))
    // Read-ahead would drag in rows nobody asked for; transactions may move between threads.
    try Index.check(mdb_env_open(environment, directory, UInt32(MDB_NOTLS | MDB_NORDAHEAD), 0o644))
  }

  deinit { close() }

  /// Ends the use of the index; no other thread may be in it.
  func close() {
    if !isClosed.exchange(true, ordering: .relaxed) { mdb_env_close(environment) }
  }

  private static func check(_ code: Int32) throws(IndexError) {
    if code != 0 { throw IndexError(code: code) }
  }

  /// Whether the index has the tables of a store; false for one just made.
  func hasTables() throws(IndexError) -> Bool {
    let transaction = try begin(UInt32(MDB_RDONLY))
    defer { mdb_txn_abort(transaction) }
    var handle: MDB_dbi = 0
    let code = mdb_dbi_open(transaction, Table.meta.name, 0, &handle)
    if code == MDB_NOTFOUND { return false }
    try Index.check(code)
    return true
  }

  /// Reads a row of the meta table before the tables are opened: the version comes first.
  func peekMeta(_ key: [UInt8]) throws(IndexError) -> [UInt8]? {
    let transaction = try begin(UInt32(MDB_RDONLY))
    defer { mdb_txn_abort(transaction) }
    var handle: MDB_dbi = 0
    try Index.check(mdb_dbi_open(transaction, Table.meta.name, 0, &handle))
    return IndexReader(transaction: transaction, handles: [handle], rows: nil).get(.meta, key)
  }

  /// Opens the tables, making those that are missing; once, before anything else.
  func openTables() throws(IndexError) {
    let transaction = try begin(0)
    var handles: [MDB_dbi] = []
    for table in Table.allCases {
      var handle: MDB_dbi = 0
      let code = mdb_dbi_open(transaction, table.name, UInt32(MDB_CREATE), &handle)
      guard code == 0 else {
        mdb_txn_abort(transaction)
        throw IndexError(code: code)
      }
      handles.append(handle)
    }
    try Index.check(mdb_txn_commit(transaction))
    self.handles = handles
  }

  private func begin(_ flags: UInt32) throws(IndexError) -> OpaquePointer {
    // After the store was closed.
    guard !isClosed.load(ordering: .relaxed) else { throw IndexError(code: EBADF) }
    var transaction: OpaquePointer?
    try Index.check(mdb_txn_begin(environment, nil, flags, &transaction))
    guard let transaction else { throw IndexError(code: ENOMEM) }
    return transaction
  }

  /// Reads from one snapshot; `rows` counts what was looked at.
  func read<Value>(rows: Counter? = nil, _ body: (IndexReader) -> Value) throws(IndexError) -> Value {
    let transaction = try begin(UInt32(MDB_RDONLY))
    defer { mdb_txn_abort(transaction) }
    return body(IndexReader(transaction: transaction, handles: handles, rows: rows))
  }

  /// Applies the batches in one transaction, on the disk when it returns; where it throws, nothing has changed.
  func apply(_ batches: [Operations], allowsCommit: () -> Bool) throws {
    let transaction = try begin(0)
    var isOpen = true
    defer { if isOpen { mdb_txn_abort(transaction) } }
    for batch in batches {
      try batch.forEach { operation in try apply(operation, transaction) }
    }
    guard allowsCommit() else { throw IndexError(code: EIO) }
    isOpen = false
    try Index.check(mdb_txn_commit(transaction))
  }

  private func apply(_ operation: Operations.Operation, _ transaction: OpaquePointer) throws {
    switch operation {
    case .put(let table, let key, let value):
      let code = Index.withValue(key) { key in
        Index.withValue(value) { value in mdb_put(transaction, handles[Int(table.rawValue)], &key, &value, 0) }
      }
      try Index.check(code)
    case .delete(let table, let key):
      let code = Index.withValue(key) { mdb_del(transaction, handles[Int(table.rawValue)], &$0, nil) }
      if code != MDB_NOTFOUND { try Index.check(code) }
    case .deletePrefix(let table, let prefix):
      try deletePrefix(table, prefix, transaction)
    }
  }

  private func deletePrefix(_ table: Table, _ prefix: [UInt8], _ transaction: OpaquePointer) throws(IndexError) {
    var cursor: OpaquePointer?
    try Index.check(mdb_cursor_open(transaction, handles[Int(table.rawValue)], &cursor))
    defer { mdb_cursor_close(cursor) }
    var value = MDB_val()
    var code = Index.withValue(prefix) { mdb_cursor_get(cursor, &$0, &value, MDB_SET_RANGE) }
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

  static func withValue<Result>(_ bytes: [UInt8], _ body: (inout MDB_val) -> Result) -> Result {
    bytes.withUnsafeBytes { pointer in
      var value = MDB_val(mv_size: pointer.count, mv_data: UnsafeMutableRawPointer(mutating: pointer.baseAddress))
      return body(&value)
    }
  }
}

/// A snapshot of the index, valid inside the closure it was given to.
struct IndexReader {
  fileprivate let transaction: OpaquePointer
  fileprivate let handles: [MDB_dbi]
  fileprivate let rows: Counter?

  /// The row's value, or nil when there is none.
  func get(_ table: Table, _ key: [UInt8]) -> [UInt8]? {
    rows?.add(1)
    var value = MDB_val()
    let code = Index.withValue(key) { mdb_get(transaction, handles[Int(table.rawValue)], &$0, &value) }
    guard code == 0 else { return nil }
    return Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
  }

  /// Gives the rows from the first whose key is not below `first`, in order, until `body` returns false.
  func scan(_ table: Table, from first: [UInt8], _ body: (_ key: RawSpan, _ value: RawSpan) -> Bool) {
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
      let bytes = UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
      guard body(key.bytes, bytes.bytes) else { return }
      code = mdb_cursor_get(cursor, &found, &value, MDB_NEXT)
    }
  }

  /// Gives the rows whose key begins with `prefix`, in order.
  func scan(_ table: Table, prefix: [UInt8], _ body: (_ key: RawSpan, _ value: RawSpan) -> Void) {
    scan(table, from: prefix) { key, value in
      guard key.byteCount >= prefix.count, key.withUnsafeBytes({ $0.starts(with: prefix) }) else { return false }
      body(key, value)
      return true
    }
  }
}
