// From what a store's last run has left on the disk to one that works.
import Diagnostics
import Glibc

extension Opening {
  /// Takes in the journal, and starts the threads.
  func start(_ index: Index, _ lock: StoreLock) throws(StoreOpenError) -> OpenedStore {
    do throws(IndexError) {
      let known = try knownNumbers(index)
      let names = calls.names(in: layout.root)
      let generations = names.compactMap(Layout.journalGeneration).filter { $0 > known.journal }.sorted()
      var generation = known.journal
      var replayed: [Operations] = []
      if index.mode == .readWrite {
        (replayed, generation) = replay(generations, after: known.journal)
      } else if !generations.isEmpty {
        log.warning("cache: the file system is read-only: the changes of the last run's last moments are not seen")
      }
      let beginning = beginning(incarnation: known.incarnation, journal: generation)
      let state = try commit(replayed, beginning, index)
      if state == .saved {
        removeJournals()
        calls.keepRoom(behind: layout.indexData)
      }
      let engine = Engine(
        options: options, layout: layout, calls: calls, log: log, index: index, incarnation: known.incarnation,
        generation: generation)
      if state != .saved { engine.isFailing.set(1) }
      let packs = try preparePacks(index, engine.pool)
      let boot = boot
      let doomed = try takeDoomed(index)
      let firstPack = packs.nextNumber
      let (box, next) = (Handover(packs), generation + 1)
      let thread = startStoreThread("larder-index") {
        let worker = IndexThread(engine: engine, generation: next, boot: boot, packs: box.take())
        switch state {
        case .saved: worker.finish(doomed)
        case .unsaved: worker.begin(with: beginning)
        case .readOnly: return worker.runReadOnly()
        }
        worker.run()
      }
      var sweeper: pthread_t?
      if state == .saved {
        let sweep = Sweep(engine: engine, incarnation: known.incarnation, firstPack: firstPack)
        // Not on the disk threads: in a large store they would be one fewer for a long time.
        sweeper = startStoreThread("larder-sweep") { sweep.run() }
      }
      return OpenedStore(engine: engine, lock: lock, thread: thread, sweeper: sweeper)
    } catch {
      throw StoreOpenError(error, layout)
    }
  }

  /// The number of this run, and of the last journal that the index has taken in.
  private func knownNumbers(_ index: Index) throws(IndexError) -> (incarnation: UInt32, journal: UInt64) {
    let (row, last, journal) = try index.read { reader in
      (
        reader.get(.meta, IndexKey.incarnation).flatMap { Opening.decode($0) as UInt32? },
        [Table.usage, .representations].compactMap { reader.lastKey($0) }.compactMap { IndexKey.number($0.span.bytes) },
        reader.get(.meta, IndexKey.journal).flatMap { Opening.decode($0) as UInt64? }
      )
    }
    if let row { return (row + 1, journal ?? 0) }
    // A new index, or one whose row is damaged: numbers of representations are not used again.
    var highest = last.max() ?? 0
    let files = (0...255).flatMap { calls.names(in: layout.shard(UInt8($0))) }
    if !files.isEmpty || !calls.names(in: layout.packs).isEmpty {
      highest = max(highest, files.compactMap { UInt64($0, radix: 16) }.max() ?? 0)
      if last.isEmpty {
        log.warning("cache: there are bodies and no index of them: the cache begins anew, and they are removed")
      }
    }
    return (UInt32(truncatingIfNeeded: highest >> 32) + 1, journal ?? 0)
  }

  private func beginning(incarnation: UInt32, journal: UInt64) -> Operations {
    var beginning = Operations()
    var bytes: [UInt8] = []
    bytes.put(Opening.format)
    beginning.put(.meta, IndexKey.format, bytes)
    bytes = []
    bytes.put(incarnation)
    beginning.put(.meta, IndexKey.incarnation, bytes)
    bytes = []
    bytes.put(journal)
    beginning.put(.meta, IndexKey.journal, bytes)
    return beginning
  }

  /// How the first commit went.
  private enum Beginning {
    case saved
    /// The disk does not take it now.
    case unsaved
    case readOnly
  }

  /// The first commit. Where the disk does not take it, a store that is there is opened all the same.
  private func commit(_ replayed: [Operations], _ beginning: Operations, _ index: Index) throws(IndexError) -> Beginning
  {
    guard index.mode == .readWrite else {
      log.error(
        "cache: the file system of \(layout.root) is read-only: what is stored is served, nothing more is stored")
      return .readOnly
    }
    do {
      try index.apply(replayed + [beginning]) { calls.allowsCommit() }
      return .saved
    } catch {
      let error = error as? IndexError ?? IndexError(code: EINVAL)
      let isNew = try index.peekMeta(IndexKey.format) == nil
      guard !isNew, [ENOSPC, EDQUOT, EIO, EROFS].contains(error.code) else { throw error }
      log.error(
        "cache: the index in \(layout.index) cannot be written: \(error.explanation); what is stored is served"
          + (replayed.isEmpty ? "" : ", but for the last moments of the last run"))
      return .unsaved
    }
  }

  /// The batches that were journalled and not committed, their data synced, and the generation they make.
  private func replay(_ generations: [UInt64], after last: UInt64) -> (batches: [Operations], generation: UInt64) {
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
    let found = try index.read { reader in
      var records: [UInt32: PackRecord] = [:]
      var isDamaged = false
      reader.scanRaw(.packs, from: []) { key, value in
        guard let count = RowSeal.payloadCount(.packs, key: key, sealed: value) else {
          reader.damage.note(.packs, key: key, "does not have its checksum")
          isDamaged = true
          return true
        }
        var numbers = RecordReader()
        if let number: UInt32 = try? numbers.keyNumber(key.bytes),
          let record = try? PackRecord.decode(UnsafeRawBufferPointer(rebasing: value[..<count]).bytes)
        {
          records[number] = record
        }
        return true
      }
      return (records: records, isDamaged: isDamaged)
    }
    var records = found.records
    var highest = records.keys.max() ?? 0
    for name in calls.names(in: layout.packs) {
      guard let number = UInt32(name, radix: 16) else { continue }
      highest = max(highest, number)
      guard records[number] == nil else { continue }
      if found.isDamaged || index.damage.count.value > 0 || index.mode == .readOnly {
        // It may be the one whose row is damaged: all of it counts as meant.
        let size = calls.size(of: layout.pack(number))?.length ?? 0
        records[number] = PackRecord(size: size, live: size)
      } else {
        try? calls.unlink(layout.pack(number))
      }
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
/// Unchecked: `packs` is put in before the index thread is started, which orders that before all it does; from then on
/// that thread alone uses this, once.
private final class Handover: @unchecked Sendable {
  private var packs: PackStore?

  init(_ packs: consuming PackStore) { self.packs = consume packs }

  func take() -> PackStore {
    guard let taken = packs.take() else { preconditionFailure("taken twice") }
    return taken
  }
}
