import Diagnostics
// Making batches durable, and removing what is then no longer claimed.
import Glibc
import Synchronization

extension IndexThread {
  /// Syncs the data, commits the batches, begins a new journal, removes doomed data.
  func commit() {
    guard !batches.isEmpty || !doomed.isEmpty else { return }
    var amendments = Operations()
    syncData(&amendments)
    amendments.put(.meta, IndexKey.journal, number(generation))
    do {
      try engine.index.apply(batches + [amendments]) { engine.calls.allowsCommit() }
    } catch {
      let reason = (error as? IndexError)?.explanation ?? "\(error)"
      engine.counters.writeErrors.add(1)
      engine.log.error("cache: committing the index failed: \(reason); nothing more is stored until it succeeds")
      engine.isFailing.set(1)
      firstChange = monotonicNanoseconds()
      return
    }
    if engine.isFailing.value != 0 {
      engine.isFailing.set(0)
      engine.log.info("cache: committing the index succeeds again")
    }
    engine.counters.commits.add(1)
    engine.didCommit(generation)
    let finished = generation
    generation += 1
    batches = []
    unsynced = [:]
    unsyncedPacks = [:]
    firstChange = nil
    journal = nil
    journalHasHole = false
    engine.pendingBytes.set(0)
    // Released only now: what was not durable had to stay in memory.
    held = [:]
    try? engine.calls.unlink(engine.layout.journal(finished))
    removeDoomed()
  }

  /// Removes what earlier runs had doomed.
  func finish(_ ids: [UInt64]) {
    var batch = Operations()
    for id in ids {
      let row = IndexKey.representation(id)
      batch.delete(.extents, prefix: row)
      batch.delete(.representations, row)
      batch.delete(.usage, row)
      doomed.append(.body(id, allocated: 0, isRecorded: true))
    }
    add(batch)
    commit()
  }

  private func number(_ value: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.put(value)
    return bytes
  }

  /// Brings the data that the batches speak of to the disk. What cannot be synced is not claimed.
  private func syncData(_ amendments: inout Operations) {
    for (id, file) in unsynced {
      do throws(SystemError) {
        try engine.calls.sync(file.descriptor)
      } catch {
        syncFailed(engine.layout.body(id), error)
        lose(id, &amendments)
      }
    }
    for (number, file) in unsyncedPacks {
      do throws(SystemError) {
        try engine.calls.sync(file.descriptor)
      } catch {
        syncFailed(engine.layout.pack(number), error)
        packs.endPack()
        for (id, representation) in held {
          let isInPack = representation.state.withLock { $0.packedExtents.contains { $0.pack == number } }
          if isInPack { lose(id, &amendments) }
        }
      }
    }
    if !unsyncedPacks.isEmpty { try? engine.calls.syncDirectory(engine.layout.packs) }
    let shards = engine.newNames.withLock { names in
      defer { names = [] }
      return names
    }
    for shard in shards { try? engine.calls.syncDirectory(engine.layout.shard(shard)) }
    unsynced = [:]
    unsyncedPacks = [:]
  }

  private func syncFailed(_ path: String, _ error: SystemError) {
    engine.counters.writeErrors.add(1)
    engine.log.error("cache: syncing \(path) failed: \(error.explanation); what was in it is fetched again")
  }

  /// After a failed sync nobody knows what is on the disk (the kernel may have dropped it): the representation goes.
  private func lose(_ id: UInt64, _ amendments: inout Operations) {
    guard let representation = held[id] else { return }
    engine.discard(representation)
    let row = IndexKey.representation(id)
    amendments.delete(.extents, prefix: row)
    amendments.delete(.representations, row)
    amendments.put(.doomed, IndexKey.doomed(id, segment: nil), [1])
  }

  /// Deletes the rows of a representation that nobody can reach; its data follows after the commit.
  func delete(_ deletion: Deletion, _ batch: inout Operations) {
    let id = deletion.id
    guard deletion.isRecorded else {
      doomed.append(.body(id, allocated: deletion.allocated, isRecorded: false))
      if firstChange == nil { firstChange = monotonicNanoseconds() }
      return
    }
    // Deleted before, by another road.
    guard usage.remove(id) != nil else { return }
    var places = deletion.places
    if places.isEmpty {
      try? engine.index.read { reader in
        reader.scan(.extents, prefix: IndexKey.representation(id)) { key, value in
          guard let lower = IndexKey.secondNumber(key), let extent = try? ExtentRecord.decode(value, lower: lower),
            extent.pack != 0
          else { return }
          places.append(extent)
        }
      }
    }
    for extent in places { packs.release(extent.pack, length: extent.length) }
    let row = IndexKey.representation(id)
    batch.delete(.extents, prefix: row)
    batch.delete(.representations, row)
    batch.delete(.usage, row)
    if places.isEmpty {
      batch.put(.doomed, IndexKey.doomed(id, segment: nil), [1])
      doomed.append(.body(id, allocated: deletion.allocated, isRecorded: true))
    }
  }

  /// Removes the data of what the index no longer has.
  private func removeDoomed() {
    let finished = doomed
    doomed = []
    var done = Operations()
    for doom in finished {
      switch doom {
      case .body(let id, let allocated, let isRecorded):
        remove(engine.layout.body(id))
        engine.space.change { $0.files -= min($0.files, allocated) }
        if isRecorded { done.delete(.doomed, IndexKey.doomed(id, segment: nil)) }
      case .pack(let number, let size):
        engine.packFiles.forget(number)
        remove(engine.layout.pack(number))
        engine.space.change { $0.packs -= min($0.packs, size) }
      }
    }
    add(done)
  }

  private func remove(_ path: String) {
    do throws(SystemError) {
      try engine.calls.unlink(path)
    } catch {
      engine.counters.writeErrors.add(1)
      engine.log.warning("cache: removing \(path) failed: \(error.explanation)")
    }
  }
}
