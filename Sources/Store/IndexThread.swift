// The one thread that changes the index: journal, commits, eviction, packs.
import CachePolicy
import Diagnostics
import Glibc
import HTTPMessage
import Spans
import Synchronization

/// The work of the index thread. Everything here runs on it and may block.
///
/// What has changed is gathered in *flushes* (some every half second): each becomes one batch, appended to the journal,
/// so that a killed process loses no more than that. *Commits* follow at longer intervals: first the data files that the
/// batches speak of are synced, then all batches go into the index in one durable transaction, then the journal begins
/// anew. So the index never claims bytes that a loss of power could take.
final class IndexThread {
  let engine: Engine
  /// The batches of the commit that is being gathered, its number, and what must be synced and kept for it.
  var batches: [Operations] = []
  var generation: UInt64
  var unsynced: [UInt64: OpenFile] = [:]
  var unsyncedPacks: [UInt32: OpenFile] = [:]
  var held: [UInt64: Representation] = [:]
  /// What may be removed once this commit is durable.
  var doomed: [Doom] = []
  var firstChange: UInt64?
  var journal: Journal?
  var packs: PackStore
  var usage = UsageTable()
  let boot: String
  /// Whether a batch could not be appended, so that later ones must not be either.
  var journalHasHole = false
  private var round: UInt64 = 1

  /// Data to be removed after a commit.
  enum Doom {
    case body(UInt64, allocated: UInt64, isRecorded: Bool)
    case pack(UInt32, size: UInt64)
  }

  init(engine: Engine, generation: UInt64, boot: String, packs: consuming PackStore) {
    self.engine = engine
    self.generation = generation
    self.boot = boot
    self.packs = packs
    engine.space.change { $0.packs = self.packs.totalSize }
  }

  /// Serves until told to stop.
  func run() {
    warmUp()
    let flushInterval = UInt64(engine.options.journalInterval * 1e9)
    let syncInterval = UInt64(engine.options.syncInterval * 1e9)
    while true {
      let deadline = firstChange.map { $0 + syncInterval }
      let content = engine.inbox.take(changesAfter: flushInterval, deadline: deadline)
      if content.commands.contains(where: { if case .abandon = $0 { true } else { false } }) { return }
      flush(content)
      var mustStop = false
      for command in content.commands {
        switch command {
        case .flush(let done): done()
        case .commit(let done):
          commit()
          done()
        case .makeRoom(let bytes, let done):
          evict(wanted: bytes)
          done()
        case .stop: mustStop = true
        case .abandon: return
        }
      }
      lookAtDevice()
      if content.needsRoom || engine.space.isAboveHigh { evict(wanted: 0) }
      let isDue = firstChange.map { $0 == 0 || monotonicNanoseconds() >= $0 + syncInterval } ?? false
      if mustStop || isDue || pendingBytes > 16 << 20 { commit() }
      if mustStop {
        // What was put in while the last commit ran.
        flush(engine.inbox.take(changesAfter: 0, deadline: 0))
        commit()
        return
      }
      reclaimPacks(atLeast: 0.5)
    }
  }

  var pendingBytes: Int { batches.reduce(0) { $0 + $1.bytes.count } }

  /// Reads the small rows: what there is, its size, its last use, its key. In the background of the first requests.
  private func warmUp() {
    var rows: [(id: UInt64, allocated: UInt64, lastUse: UInt64)] = []
    var files: UInt64 = 0
    do throws(IndexError) {
      try engine.index.read { reader in
        reader.scan(.usage, from: []) { key, value in
          guard let id = IndexKey.number(key), let record = try? UsageRecord.decode(value) else { return true }
          rows.append((id, record.allocated, record.lastUse))
          files += record.allocated
          engine.keys.note(record.key)
          return true
        }
      }
    } catch {
      engine.log.error("cache: reading the index failed: \(error.explanation)")
    }
    engine.keys.isWarm.store(true, ordering: .releasing)
    usage.load(rows)
    engine.representationCount.set(UInt64(usage.count))
    engine.space.change { $0.files += files }
    lookAtDevice()
  }

  /// Asks the file system how much it would still take.
  func lookAtDevice() {
    guard let free = engine.calls.freeBytes(at: engine.layout.root) else { return }
    let kept = min(engine.options.keepFree, engine.options.capacity / 100)
    engine.space.change { $0.deviceFree = free > kept ? free - kept : 0 }
  }

  // MARK: Flush

  /// Makes one batch of all changes and appends it to the journal.
  func flush(_ content: Inbox.Content) {
    round += 1
    engine.round.set(round)
    var batch = Operations()
    noteUses(content.used, &batch)
    for extent in content.released where extent.pack != 0 { packs.release(extent.pack, length: extent.length) }
    for deletion in content.deletions { delete(deletion, &batch) }
    // Representations before keys: what is lost between the two is then a body without response, which eviction finds.
    flush(content.changed, &batch)
    if content.hasKeys { flushKeys(&batch) }
    for (number, record) in packs.takeChanged() { batch.put(.packs, IndexKey.pack(number), record.encoded()) }
    add(batch)
  }

  /// Adds a batch to the journal and to the next commit.
  func add(_ batch: Operations) {
    defer {
      engine.pendingBytes.set(UInt64(pendingBytes))
      engine.representationCount.set(UInt64(usage.count))
    }
    guard !batch.isEmpty else { return }
    if firstChange == nil { firstChange = monotonicNanoseconds() }
    batches.append(batch)
    do throws(SystemError) {
      guard !journalHasHole else { return }
      if journal == nil {
        let path = engine.layout.journal(generation)
        journal = try Journal(path: path, generation: generation, boot: boot, calls: engine.calls)
      }
      try journal?.append(batch)
    } catch {
      // The commit will have it; a journal with a hole must not go on.
      engine.counters.writeErrors.add(1)
      engine.log.error("cache: writing the journal failed: \(error.explanation)")
      journalHasHole = true
      firstChange = 0
    }
  }

  private func noteUses(_ used: [UInt64], _ batch: inout Operations) {
    let now = wallSeconds()
    for id in used where usage.contains(id) {
      _ = usage.use(id, allocated: nil)
      // Coarse on record: an hour's error in the order of eviction after a restart costs little, a row for every use
      // would cost much.
      guard usage.isRecordStale(id, now: now, seconds: 600), let representation = engine.registry.find(id) else {
        continue
      }
      representation.state.withLock { state in
        guard let key = state.key, state.phase == .stored else { return }
        let record = UsageRecord(lastUse: now, allocated: state.allocated, key: key)
        batch.put(.usage, IndexKey.representation(id), record.encoded())
      }
    }
  }

  private func flush(_ changed: [Representation], _ batch: inout Operations) {
    var ready: [Representation] = []
    for representation in changed {
      do throws(SystemError) {
        try pack(representation)
        ready.append(representation)
      } catch {
        retry(representation, error)
      }
    }
    do throws(SystemError) {
      try packs.writeTail()
    } catch {
      for representation in ready { unpack(representation) }
      for representation in ready { retry(representation, error) }
      return
    }
    for representation in ready { encode(representation, &batch) }
  }

  private func retry(_ representation: Representation, _ error: SystemError) {
    engine.counters.writeErrors.add(1)
    engine.log.error("cache: writing a pack failed: \(error.explanation)")
    representation.state.withLock { $0.isQueued = false }
    // Without a place on the disk it is no more than a body in memory; another change tries again.
    if error.code == ENOSPC || error.code == EDQUOT { engine.space.change { $0.deviceFree = 0 } }
  }

  /// Lays a small body's new extents out in the pack.
  private func pack(_ representation: Representation) throws(SystemError) {
    let parts = representation.state.withLock { state -> [(extent: Extent, bytes: ArraySlice<UInt8>)] in
      for extent in state.outgrown { packs.release(extent.pack, length: extent.length) }
      state.outgrown = []
      guard state.body == .memory, state.phase == .stored, let buffer = state.buffer, let segment = state.segments[0]
      else { return [] }
      return segment.extents.filter { state.dirty.contains($0.lower) && $0.pack == 0 }.map {
        ($0, buffer[Int($0.lower)..<Int($0.upper)])
      }
    }
    for (extent, bytes) in parts {
      let place = try packs.append(
        id: representation.id, lower: extent.lower, checksum: extent.checksum, bytes: bytes)
      if let file = packs.file { unsyncedPacks[place.pack] = file }
      var inMemoryOnly: UInt64 = 0
      let isPlaced = representation.state.withLock { state -> Bool in
        guard state.body == .memory, let now = state.segments[0]?.extent(beginningAt: extent.lower),
          now.length == extent.length, now.checksum == extent.checksum
        else { return false }
        state.segments[0]?.change(extent.lower) { extent in
          extent.pack = place.pack
          extent.packOffset = place.offset
        }
        inMemoryOnly = min(state.unpacked, UInt64(extent.length))
        state.unpacked -= inMemoryOnly
        return true
      }
      let (size, moved) = (UInt64(bytes.count + PackStore.headerSize), inMemoryOnly)
      engine.space.change { account in
        account.packs += size
        account.unpacked -= min(account.unpacked, moved)
      }
      // Grown meanwhile: the next flush writes it anew.
      if !isPlaced { packs.release(place.pack, length: extent.length) }
    }
  }

  /// The places given in this flush were not written: they are none.
  private func unpack(_ representation: Representation) {
    representation.state.withLock { state in
      guard state.body == .memory, let extents = state.segments[0]?.extents else { return }
      for extent in extents where state.dirty.contains(extent.lower) {
        state.segments[0]?.change(extent.lower) { $0.pack = 0 }
      }
    }
  }

  /// Encodes what changed of a representation.
  private func encode(_ representation: Representation, _ batch: inout Operations) {
    let id = representation.id
    let generation = generation
    var allocated: UInt64?
    var file: OpenFile?
    var needsFile = false
    representation.state.withLock { state in
      state.isQueued = false
      guard state.phase == .stored, let key = state.key else { return }
      for lower in state.removed where !state.dirty.contains(lower) {
        batch.delete(.extents, IndexKey.extent(id, lower))
      }
      state.removed = []
      var waiting: Set<UInt64> = []
      for lower in state.dirty {
        let number = Segment.number(of: lower)
        guard let extent = state.segments[number]?.extent(beginningAt: lower) else { continue }
        if state.body == .memory, extent.pack == 0 {
          waiting.insert(lower)
          continue
        }
        batch.put(.extents, IndexKey.extent(id, lower), ExtentRecord.encode(extent))
        state.segments[number]?.dirtyGeneration = generation
        needsFile = state.body == .file
      }
      state.dirty = waiting
      for number in state.segments.keys where state.segments[number]?.dirtyGeneration == .max {
        if waiting.isEmpty { state.segments[number]?.dirtyGeneration = generation }
      }
      let record = RepresentationRecord(
        validator: representation.validator, total: state.total, isPacked: state.body == .memory,
        presentBytes: state.presentBytes, touched: state.touched, complete: state.complete)
      batch.put(.representations, IndexKey.representation(id), record.encoded())
      let row = UsageRecord(lastUse: wallSeconds(), allocated: state.allocated, key: key)
      batch.put(.usage, IndexKey.representation(id), row.encoded())
      state.isRecordDirty = !waiting.isEmpty
      state.isRecorded = true
      allocated = state.allocated
      file = state.file
    }
    guard let allocated else { return }
    _ = usage.use(id, allocated: allocated)
    held[id] = representation
    if needsFile {
      if let file = file ?? (try? engine.openFile(of: representation, makes: false)) { unsynced[id] = file }
    }
    engine.noteChange(representation)
  }

  /// Encodes what changed of keys.
  func flushKeys(_ batch: inout Operations) {
    for (change, entry) in engine.keys.takeChanges(generation: generation) {
      let row = IndexKey.response(change.hash, variant: change.variant)
      let before = recordedRepresentation(row)
      if let entry {
        let id = entry.representation.id
        let value = ResponseRecord.encode(entry.response, key: entry.key.text, representation: id)
        batch.put(.responses, row, value)
        if let before, before != id { supersedeRecorded(before, &batch) }
      } else {
        batch.delete(.responses, row)
        if let before { supersedeRecorded(before, &batch) }
        forgetKeyIfEmpty(change.hash, besides: change.variant)
      }
    }
  }

  /// The representation that the index has under a response's row.
  func recordedRepresentation(_ row: [UInt8]) -> UInt64? {
    guard let value = try? engine.index.read({ $0.get(.responses, row) }) else { return nil }
    return (try? ResponseRecord.decode(value.span.bytes))?.representation
  }

  /// A representation lost its response: its data goes now, or when the last user has left.
  private func supersedeRecorded(_ id: UInt64, _ batch: inout Operations) {
    batch.put(.doomed, IndexKey.doomed(id, segment: nil), [1])
    if let representation = engine.registry.find(id) {
      engine.supersede(representation)
    } else if usage.contains(id) {
      delete(Deletion(id: id, places: [], isRecorded: true, allocated: usage.allocated(id) ?? 0), &batch)
    }
  }

  private func forgetKeyIfEmpty(_ hash: KeyHash, besides variant: UInt64) {
    var others = false
    try? engine.index.read { reader in
      reader.scan(.responses, prefix: IndexKey.key(hash)) { key, _ in
        if IndexKey.variant(key) != variant { others = true }
      }
    }
    if !others { engine.keys.forget(hash) }
  }
}
