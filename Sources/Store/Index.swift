// The index on LMDB: read by any thread, written by one.
internal import CLMDB
import Diagnostics
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
/// Every row ends with a checksum (`RowSeal`), which is put there and taken off here. After a failed write of its head
/// LMDB refuses everything until it is opened anew: that is done here as well.
///
/// Unchecked: `environment`, `handles` and `isClosed` are changed in `gate.write` only (opening the tables, reopening,
/// closing; and before anybody else has this) and read in `gate.read` or `gate.write` only, as is `begin`, which uses
/// them. LMDB lets all threads use an environment at once, with `MDB_NOTLS` also a transaction that reads, of which each
/// call here has its own; one that writes it grants to one thread at a time.
final class Index: @unchecked Sendable {
  /// The code of an index that another version wrote; LMDB has none.
  static let unknownFormat: Int32 = -1

  /// How the index is used.
  enum Mode {
    case readWrite
    /// Nothing is written, not even by another process's leave.
    case readOnly
  }

  /// What was found to be wrong with it.
  let damage: IndexDamage
  let mode: Mode
  private let directory: String
  private let mapBytes: Int
  private let gate = ReadWriteLock()
  // Under the gate.
  private var environment: OpaquePointer?
  private var handles: [MDB_dbi] = []
  private var isClosed = false

  /// Opens or makes the index in `directory`. The map is an address range, not memory or disk.
  init(
    directory: String, mapBytes: Int, mode: Mode = .readWrite, damage: IndexDamage = IndexDamage(log: .silent)
  ) throws(IndexError) {
    self.directory = directory
    self.mapBytes = mapBytes
    self.mode = mode
    self.damage = damage
    environment = try Index.open(directory, mapBytes, mode)
  }

  deinit { close() }

  private static func open(_ directory: String, _ mapBytes: Int, _ mode: Mode) throws(IndexError) -> OpaquePointer {
    var made: OpaquePointer?
    try check(mdb_env_create(&made))
    guard let made else { throw IndexError(code: ENOMEM) }
    do throws(IndexError) {
      try check(mdb_env_set_maxdbs(made, MDB_dbi(Table.allCases.count)))
      try check(mdb_env_set_mapsize(made, mapBytes))
      try check(mdb_env_set_maxreaders(made, 512))
      // Read-ahead would drag in rows nobody asked for; transactions may move between threads.
      let flags = MDB_NOTLS | MDB_NORDAHEAD | (mode == .readOnly ? MDB_RDONLY : 0)
      try check(mdb_env_open(made, directory, UInt32(flags), 0o644))
    } catch {
      mdb_env_close(made)
      throw error
    }
    return made
  }

  /// Ends the use of the index; what is asked of it afterwards fails.
  func close() {
    gate.write {
      if let environment { mdb_env_close(environment) }
      environment = nil
      isClosed = true
    }
  }

  static func check(_ code: Int32) throws(IndexError) {
    if code != 0 { throw IndexError(code: code) }
  }

  // MARK: Opening

  /// Whether the index has the tables of a store; false for one just made.
  func hasTables() throws(IndexError) -> Bool {
    try gate.read { () throws(IndexError) -> Bool in
      let transaction = try begin(UInt32(MDB_RDONLY))
      defer { mdb_txn_abort(transaction) }
      var handle: MDB_dbi = 0
      let code = mdb_dbi_open(transaction, Table.meta.name, 0, &handle)
      if code == MDB_NOTFOUND { return false }
      try Index.check(code)
      return true
    }
  }

  /// Reads a row of the meta table as it stands, with a checksum or without: the version comes first.
  func peekMeta(_ key: [UInt8]) throws(IndexError) -> [UInt8]? {
    try gate.read { () throws(IndexError) -> [UInt8]? in
      let transaction = try begin(UInt32(MDB_RDONLY))
      defer { mdb_txn_abort(transaction) }
      var handle: MDB_dbi = 0
      try Index.check(mdb_dbi_open(transaction, Table.meta.name, 0, &handle))
      return IndexReader(transaction: transaction, handles: [handle], rows: nil, damage: damage).raw(.meta, key)
    }
  }

  /// Opens the tables, making those that are missing; once, before anything else.
  func openTables() throws(IndexError) {
    try gate.write { () throws(IndexError) in handles = try openHandles() }
  }

  private func openHandles() throws(IndexError) -> [MDB_dbi] {
    let transaction = try begin(mode == .readOnly ? UInt32(MDB_RDONLY) : 0)
    var handles: [MDB_dbi] = []
    for table in Table.allCases {
      var handle: MDB_dbi = 0
      let code = mdb_dbi_open(transaction, table.name, mode == .readOnly ? 0 : UInt32(MDB_CREATE), &handle)
      guard code == 0 else {
        mdb_txn_abort(transaction)
        throw IndexError(code: code)
      }
      handles.append(handle)
    }
    try Index.check(mdb_txn_commit(transaction))
    return handles
  }

  /// Under the gate.
  private func begin(_ flags: UInt32) throws(IndexError) -> OpaquePointer {
    guard !isClosed else { throw IndexError(code: EBADF) }
    guard let environment else { throw IndexError(code: MDB_PANIC) }
    var transaction: OpaquePointer?
    try Index.check(mdb_txn_begin(environment, nil, flags, &transaction))
    guard let transaction else { throw IndexError(code: ENOMEM) }
    return transaction
  }

  /// Opens LMDB anew after it has refused to go on. Where even that fails, the next use tries again.
  private func reopen() throws(IndexError) {
    try gate.write { () throws(IndexError) in
      guard !isClosed else { throw IndexError(code: EBADF) }
      if let refused = environment {
        // Another thread may have been quicker.
        var transaction: OpaquePointer?
        let code = mdb_txn_begin(refused, nil, UInt32(MDB_RDONLY), &transaction)
        if let transaction { mdb_txn_abort(transaction) }
        if code != MDB_PANIC { return }
        // First the end, then the new beginning: two at once in one process would share, and lose, LMDB's file lock.
        mdb_env_close(refused)
        environment = nil
      }
      environment = try Index.open(directory, mapBytes, mode)
      handles = try openHandles()
    }
  }

  // MARK: Reading and writing

  /// Reads from one snapshot; `rows` counts what was looked at.
  func read<Value>(rows: Counter? = nil, _ body: (IndexReader) -> Value) throws(IndexError) -> Value {
    do throws(IndexError) {
      return try readOnce(rows, body)
    } catch {
      guard error.code == MDB_PANIC else { throw error }
      try reopen()
      return try readOnce(rows, body)
    }
  }

  private func readOnce<Value>(_ rows: Counter?, _ body: (IndexReader) -> Value) throws(IndexError) -> Value {
    try gate.read { () throws(IndexError) -> Value in
      let transaction = try begin(UInt32(MDB_RDONLY))
      defer { mdb_txn_abort(transaction) }
      return body(IndexReader(transaction: transaction, handles: handles, rows: rows, damage: damage))
    }
  }

  /// Applies the batches in one transaction, on the disk when it returns; where it throws, nothing has changed.
  func apply(_ batches: [Operations], allowsCommit: () -> Bool) throws {
    do {
      try applyOnce(batches, allowsCommit)
    } catch let error as IndexError where error.code == MDB_PANIC {
      try reopen()
      try applyOnce(batches, allowsCommit)
    }
  }

  private func applyOnce(_ batches: [Operations], _ allowsCommit: () -> Bool) throws {
    try gate.read {
      // A reader that died, as `larder verify` may, would keep old pages from being used again.
      var dead: Int32 = 0
      if let environment { mdb_reader_check(environment, &dead) }
      let transaction = try begin(0)
      var isOpen = true
      defer { if isOpen { mdb_txn_abort(transaction) } }
      var writer = IndexWriter(transaction: transaction, handles: handles)
      for batch in batches { try writer.apply(batch) }
      guard allowsCommit() else { throw IndexError(code: EIO) }
      isOpen = false
      try Index.check(mdb_txn_commit(transaction))
    }
  }

  /// Reads and changes in one transaction: what is read is what has been changed so far. All or nothing.
  func transform(_ body: (_ reader: IndexReader, _ apply: (Operations) throws -> Void) throws -> Void) throws {
    try gate.read {
      let transaction = try begin(0)
      var isOpen = true
      defer { if isOpen { mdb_txn_abort(transaction) } }
      let reader = IndexReader(transaction: transaction, handles: handles, rows: nil, damage: damage)
      var writer = IndexWriter(transaction: transaction, handles: handles)
      try body(reader) { batch in try writer.apply(batch) }
      isOpen = false
      try Index.check(mdb_txn_commit(transaction))
    }
  }

  static func withValue<Result>(_ bytes: [UInt8], _ body: (inout MDB_val) -> Result) -> Result {
    bytes.withUnsafeBytes { pointer in
      var value = value(pointer)
      return body(&value)
    }
  }

  static func value(_ bytes: UnsafeRawBufferPointer) -> MDB_val {
    MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }
}
