// Opening a store: the directory, the lock, the index, the journal.
import Diagnostics
import Glibc
import HTTPMessage

/// What an open store must end: its threads, its index, its lock.
///
/// Unchecked: nothing of it changes, and only the one that ends the store uses it.
final class OpenedStore: @unchecked Sendable {
  let engine: Engine
  private let lock: Int32
  private let thread: pthread_t

  init(engine: Engine, lock: Int32, thread: pthread_t) {
    self.engine = engine
    self.lock = lock
    self.thread = thread
  }

  /// Ends the threads, with or without making everything durable, and lets others open the store. Blocks.
  func end(_ command: Command) {
    engine.inbox.send(command)
    pthread_join(thread, nil)
    engine.committer.stop()
    engine.pool.stop()
    engine.packFiles.forgetAll()
    engine.index.close()
    close(lock)
  }
}

/// The steps of opening. Whatever it has made is removed if a later step fails.
struct Opening {
  /// The version of the directory's layout and of the index.
  static let format: UInt32 = 1
  /// What the file system must have free for the index to be opened, in bytes.
  private static let leastFree: UInt64 = 1 << 20

  let options: StoreOptions
  let log: Log
  let calls: SystemCalls
  let boot: String
  private let layout: Layout
  private var made: [String] = []

  init(options: StoreOptions, log: Log, calls: SystemCalls, boot: String) {
    self.options = options
    self.log = log
    self.calls = calls
    self.boot = boot
    var directory = options.directory
    while directory.utf8.count > 1, directory.hasSuffix("/") { directory.removeLast() }
    layout = Layout(root: directory)
  }

  mutating func open() throws(StoreOpenError) -> OpenedStore {
    do throws(StoreOpenError) {
      return try openAll()
    } catch {
      // Directories only go if they are empty: nothing that others put there is lost.
      for path in made.reversed() where Glibc.unlink(path) != 0 { rmdir(path) }
      throw error
    }
  }

  private mutating func openAll() throws(StoreOpenError) -> OpenedStore {
    try makeDirectories(layout.root)
    let lock = try takeLock()
    do throws(StoreOpenError) {
      for path in [layout.index, layout.bodies, layout.packs] { try makeDirectory(path) }
      for number in 0...255 { try makeDirectory(layout.shard(UInt8(number))) }
      let index = try openIndex()
      do throws(StoreOpenError) {
        return try start(index, lock)
      } catch {
        index.close()
        throw error
      }
    } catch {
      close(lock)
      throw error
    }
  }

  // MARK: The directory

  private mutating func makeDirectories(_ path: String) throws(StoreOpenError) {
    guard access(path, F_OK) != 0 else { return }
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex { try makeDirectories(String(path[..<slash])) }
    try makeDirectory(path)
  }

  private mutating func makeDirectory(_ path: String) throws(StoreOpenError) {
    if mkdir(path, 0o755) == 0 {
      made.append(path)
    } else if errno != EEXIST {
      throw failure(path, errno)
    }
  }

  private func failure(_ path: String, _ code: Int32) -> StoreOpenError {
    code == ENOSPC || code == EDQUOT ? .noSpace(path: path) : .unusable(path: path, code: code)
  }

  private mutating func takeLock() throws(StoreOpenError) -> Int32 {
    let isNew = access(layout.lock, F_OK) != 0
    let descriptor: Int32
    do throws(SystemError) {
      descriptor = try calls.open(layout.lock, flags: O_RDWR | O_CREAT)
    } catch {
      throw failure(layout.lock, error.code)
    }
    if isNew { made.append(layout.lock) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      close(descriptor)
      throw code == EWOULDBLOCK ? .inUse(directory: layout.root) : failure(layout.lock, code)
    }
    return descriptor
  }

  // MARK: The index

  private mutating func openIndex() throws(StoreOpenError) -> Index {
    for file in ["/data.mdb", "/lock.mdb"] where access(layout.index + file, F_OK) != 0 {
      made.append(layout.index + file)
    }
    // LMDB maps its files: where the file system has no block for a page of them, a write to it would be SIGBUS.
    if let free = calls.freeBytes(at: layout.root), free < Self.leastFree { throw .noSpace(path: layout.root) }
    do throws(IndexError) {
      let index: Index
      // An address range costs nothing; where even that is limited, a smaller one serves.
      do throws(IndexError) {
        index = try Index(directory: layout.index, mapBytes: max(64 << 30, Int(clamping: options.capacity / 8)))
      } catch {
        guard error.code == ENOMEM else { throw error }
        index = try Index(directory: layout.index, mapBytes: 4 << 30)
      }
      do throws(IndexError) {
        if try index.hasTables() { try checkFormat(index) }
        try index.openTables()
      } catch {
        index.close()
        throw error
      }
      return index
    } catch {
      if error.code == Index.unknownFormat {
        throw .unknownVersion(directory: layout.root, found: UInt32(bitPattern: error.detail), expected: Opening.format)
      }
      switch error.code {
      case EACCES, EPERM, EROFS, EIO, ENOTDIR, EISDIR: throw .unusable(path: layout.index, code: error.code)
      case ENOSPC: throw .noSpace(path: layout.index)
      default: throw .badIndex(directory: layout.root, reason: error.explanation)
      }
    }
  }

  private func checkFormat(_ index: Index) throws(IndexError) {
    let found = try index.peekMeta(IndexKey.format).flatMap { Opening.decode($0) as UInt32? }
    guard found == Opening.format else {
      throw IndexError(code: Index.unknownFormat, detail: Int32(bitPattern: found ?? 0))
    }
  }

  private static func decode<Number: FixedWidthInteger & BitwiseCopyable>(_ bytes: [UInt8]) -> Number? {
    var reader = RecordReader()
    return try? reader.number(bytes.span.bytes)
  }

  // MARK: Recovery

  private func start(_ index: Index, _ lock: Int32) throws(StoreOpenError) -> OpenedStore {
    do throws(IndexError) {
      let (incarnation, lastJournal) = try index.read { reader in
        let incarnation: UInt32? = reader.get(.meta, IndexKey.incarnation).flatMap { Opening.decode($0) }
        let journal: UInt64? = reader.get(.meta, IndexKey.journal).flatMap { Opening.decode($0) }
        return ((incarnation ?? 0) + 1, journal ?? 0)
      }
      let (replayed, generation) = replay(after: lastJournal)
      var beginning = Operations()
      var bytes: [UInt8] = []
      bytes.put(Opening.format)
      beginning.put(.meta, IndexKey.format, bytes)
      bytes = []
      bytes.put(incarnation)
      beginning.put(.meta, IndexKey.incarnation, bytes)
      bytes = []
      bytes.put(generation)
      beginning.put(.meta, IndexKey.journal, bytes)
      do {
        try index.apply(replayed + [beginning]) { calls.allowsCommit() }
      } catch {
        throw error as? IndexError ?? IndexError(code: EINVAL)
      }
      removeJournals()
      let engine = Engine(
        options: options, layout: layout, calls: calls, log: log, index: index, incarnation: incarnation,
        generation: generation)
      let packs = try preparePacks(index, engine.pool)
      let boot = boot
      let doomed = try takeDoomed(index)
      let (box, next) = (Handover(packs), generation + 1)
      let thread = startThread("larder-index") {
        let worker = IndexThread(engine: engine, generation: next, boot: boot, packs: box.take())
        worker.finish(doomed)
        worker.run()
      }
      engine.pool.submit { Sweep(engine: engine, incarnation: incarnation).run() }
      return OpenedStore(engine: engine, lock: lock, thread: thread)
    } catch {
      switch error.code {
      case ENOSPC: throw .noSpace(path: layout.index)
      case EACCES, EPERM, EROFS, EIO: throw .unusable(path: layout.index, code: error.code)
      default: throw .badIndex(directory: layout.root, reason: error.explanation)
      }
    }
  }

  /// The batches that were journalled and not committed, their data synced, and the generation they make.
  private func replay(after last: UInt64) -> (batches: [Operations], generation: UInt64) {
    let names = calls.names(in: layout.root)
    let generations = names.compactMap(Layout.journalGeneration).filter { $0 > last }.sorted()
    var batches: [Operations] = []
    var generation = last
    for number in generations {
      // The one after the last commit, or none: a gap means that what is between is lost.
      guard number == generation + 1,
        let found = Journal.read(path: layout.journal(number), generation: number, boot: boot, calls: calls)
      else { break }
      generation = number
      batches += found
    }
    // Numbers of journals are not used twice.
    generation = max(generation, generations.last ?? 0)
    guard !batches.isEmpty else { return ([], generation) }
    guard syncData(of: batches) else {
      log.warning("cache: the data of the last moments cannot be synced: it is fetched again")
      return ([], generation)
    }
    log.info("cache: recovered \(batches.count) batches of the last run from its journal")
    return (batches, generation)
  }

  /// Brings the data that journalled batches speak of to the disk, before the index says so durably.
  private func syncData(of batches: [Operations]) -> Bool {
    var paths: Set<String> = []
    do {
      for batch in batches {
        try batch.forEach { operation in
          guard case .put(.extents, let key, let value) = operation, let id = IndexKey.number(key.span.bytes),
            let lower = IndexKey.secondNumber(key.span.bytes)
          else { return }
          let extent = try ExtentRecord.decode(value.span.bytes, lower: lower)
          paths.insert(extent.pack == 0 ? layout.body(id) : layout.pack(extent.pack))
        }
      }
      var directories: Set<String> = [layout.packs]
      for path in paths {
        // Deleted since: a later batch says so, or reading finds it missing.
        guard let descriptor = try? calls.open(path, flags: O_RDONLY) else { continue }
        defer { close(descriptor) }
        try calls.sync(descriptor)
        if let slash = path.lastIndex(of: "/") { directories.insert(String(path[..<slash])) }
      }
      for directory in directories { try calls.syncDirectory(directory) }
      return true
    } catch {
      return false
    }
  }

  private func removeJournals() {
    for name in calls.names(in: layout.root) where Layout.journalGeneration(name) != nil {
      try? calls.unlink(layout.root + "/" + name)
    }
  }

  /// The packs on record. Files that the index does not know are of a lost journal.
  private func preparePacks(_ index: Index, _ pool: DiskPool) throws(IndexError) -> PackStore {
    let records = try index.read { reader in
      var records: [UInt32: PackRecord] = [:]
      reader.scan(.packs, from: []) { key, value in
        var reader = RecordReader()
        if let number: UInt32 = try? reader.keyNumber(key), let record = try? PackRecord.decode(value) {
          records[number] = record
        }
        return true
      }
      return records
    }
    var highest = records.keys.max() ?? 0
    for name in calls.names(in: layout.packs) {
      guard let number = UInt32(name, radix: 16) else { continue }
      highest = max(highest, number)
      if records[number] == nil { try? calls.unlink(layout.pack(number)) }
    }
    return PackStore(
      layout: layout, calls: calls, pool: pool, packs: records, nextNumber: highest + 1, capacity: options.capacity)
  }

  /// Representations whose removal was decided and not finished.
  private func takeDoomed(_ index: Index) throws(IndexError) -> [UInt64] {
    try index.read { reader in
      var ids: [UInt64] = []
      reader.scan(.doomed, from: []) { key, _ in
        if let id = IndexKey.number(key) { ids.append(id) }
        return true
      }
      return ids
    }
  }
}

/// Carries what may not be copied to another thread, once.
///
/// Unchecked: its value is put in before the other thread is started, and only that thread takes it.
private final class Handover: @unchecked Sendable {
  private var packs: PackStore?

  init(_ packs: consuming PackStore) { self.packs = consume packs }

  func take() -> PackStore {
    guard let taken = packs.take() else { preconditionFailure("taken twice") }
    return taken
  }
}

/// Looks for body files that the index knows nothing of (of fills whose record was lost), by their names alone.
struct Sweep {
  let engine: Engine
  let incarnation: UInt32

  func run() {
    for number in 0...255 {
      let directory = engine.layout.shard(UInt8(number))
      for name in engine.calls.names(in: directory) {
        guard let id = UInt64(name, radix: 16), id >> 32 < UInt64(incarnation) else { continue }
        // Unreadable is not unknown.
        guard let isKnown = try? engine.index.read({ $0.get(.representations, IndexKey.representation(id)) != nil }),
          !isKnown
        else { continue }
        try? engine.calls.unlink(engine.layout.body(id))
      }
    }
  }
}
