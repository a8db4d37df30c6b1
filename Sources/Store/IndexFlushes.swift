// Turning what has changed into rows of the index.
import CachePolicy
import Glibc
import HTTPMessage
import Synchronization
import Threads

extension IndexThread {
  /// Encodes what changed of a representation.
  func encode(_ representation: Representation, _ batch: inout Operations) {
    let id = representation.id
    let generation = gathering.generation
    var allocated: UInt64?
    var file: OpenFile?
    var needsFile = false
    representation.state.withLock { state in
      state.isQueued = false
      guard state.phase == .stored, let key = state.key else {
        // Nothing of it is written any more. But what is about to be freed must not be spoken of as long as its rows are
        // there, which is until its last user has left.
        guard state.isRecorded else { return }
        state.removed.forEach { batch.delete(.extents, IndexKey.extent(id, $0)) }
        state.removed = ExtentBounds()
        return
      }
      let (dirty, removed) = (state.dirty, state.removed)
      removed.forEach { lower in
        if !dirty.contains(lower) { batch.delete(.extents, IndexKey.extent(id, lower)) }
      }
      state.removed = ExtentBounds()
      var waiting = ExtentBounds()
      dirty.forEach { lower in
        let number = Segment.number(of: lower)
        guard let extent = state.segments[number]?.extent(beginningAt: lower) else { return }
        if state.body == .memory, extent.pack == 0 { return waiting.insert(lower) }
        batch.put(
          .extents, atMost: IndexKey.most, key: { IndexKey.put(extent: lower, of: id, into: &$0) },
          value: ExtentRecord(extent))
        state.segments.change(number) { $0.dirtyGeneration = generation }
        needsFile = state.body == .file
      }
      state.dirty = waiting
      if waiting.isEmpty {
        state.segments.changeAll { segment in
          if segment.dirtyGeneration == .max { segment.dirtyGeneration = generation }
        }
      }
      let record = RepresentationRecord(
        validator: representation.validator, total: state.total, isPacked: state.body == .memory,
        presentBytes: state.presentBytes, touched: state.touched, complete: state.complete)
      let row = UsageRecord(lastUse: wallSeconds(), allocated: state.allocated, key: key)
      let write = { (output: inout OutputSpan<UInt8>) in IndexKey.put(representation: id, into: &output) }
      batch.put(.representations, atMost: IndexKey.most, key: write, value: record)
      batch.put(.usage, atMost: IndexKey.most, key: write, value: row)
      state.isRecordDirty = !waiting.isEmpty
      state.isRecorded = true
      allocated = state.allocated
      file = state.file
    }
    guard let allocated else { return }
    _ = usage.use(id, allocated: allocated)
    gathering.held.append(representation)
    if needsFile {
      if let file = file ?? (try? engine.openFile(of: representation, makes: false)) { gathering.files[id] = file }
    }
    engine.noteChange(representation)
  }

  /// Encodes what changed of keys.
  func flushKeys(_ batch: inout Operations) {
    let changes = engine.keys.takeChanges(generation: gathering.generation)
    guard !changes.isEmpty else { return }
    let recorded = recordedRepresentations(changes)
    for (place, change) in changes.enumerated() {
      let before = recorded?[place]
      if let entry = change.entry {
        let id = entry.representation.id
        batch.put(
          .responses, atMost: IndexKey.most,
          key: { IndexKey.put(response: change.variant, of: change.hash, into: &$0) },
          value: ResponseRecord(response: entry.response, key: entry.key.text, representation: id))
        if let before, before != id, !isReferred(before, by: change.hash) {
          supersedeRecorded(before, &batch)
        }
      } else {
        batch.delete(.responses, IndexKey.response(change.hash, variant: change.variant))
        if let before, !isReferred(before, by: change.hash) { supersedeRecorded(before, &batch) }
        forgetKeyIfEmpty(change.hash, besides: change.variant)
      }
    }
  }

  /// The representation that the index has under each response's row; from one snapshot, for one costs as much as a
  /// look-up. Nil where it has none of them.
  private func recordedRepresentations(_ changes: [KeyChange]) -> [UInt64?]? {
    guard changes.contains(where: \.mayBeRecorded) else { return nil }
    return try? engine.index.read { reader in
      changes.map { change in
        guard change.mayBeRecorded else { return nil }
        let row = IndexKey.response(change.hash, variant: change.variant)
        return reader.get(.responses, row).flatMap { try? ResponseRecord.decodeSubject($0.span.bytes) }?.representation
      }
    }
  }

  /// Whether a response of this key has the representation, in memory or, where memory says nothing of it, in the index.
  private func isReferred(_ id: UInt64, by key: KeyHash) -> Bool {
    if let representation = engine.registry.find(id), engine.keys.refers(key, to: representation) { return true }
    var found = false
    try? engine.index.read { reader in
      reader.scan(.responses, prefix: IndexKey.key(key)) { row, value in
        guard !found, let variant = IndexKey.variant(row), !engine.keys.overrides(key, variant: variant) else { return }
        found = (try? ResponseRecord.decodeSubject(value))?.representation == id
      }
    }
    return found
  }

  /// A representation lost its responses: its data goes now, or when the last user has left.
  private func supersedeRecorded(_ id: UInt64, _ batch: inout Operations) {
    batch.put(.doomed, IndexKey.doomed(id, segment: nil), [1])
    if let representation = engine.registry.find(id) {
      engine.supersede(representation)
    } else if usage.contains(id), !engine.registry.isDeparting(id) {
      delete(
        Deletion(id: id, places: [], isRecorded: true, allocated: usage.allocated(id) ?? 0, hasFile: false), &batch)
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

  /// Deletes the rows of a representation that nobody can reach; its data follows after the commit.
  func delete(_ deletion: Deletion, _ batch: inout Operations) {
    let id = deletion.id
    guard deletion.isRecorded else {
      gathering.doomed.append(.body(id, allocated: deletion.allocated, isRecorded: false))
      if gathering.firstChange == nil { gathering.firstChange = monotonicNanoseconds() }
      return
    }
    // Deleted before, by another road.
    guard usage.remove(id) != nil else { return }
    var places = deletion.places
    if places.isEmpty, !deletion.hasFile {
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
    if places.isEmpty || deletion.hasFile {
      batch.put(.doomed, IndexKey.doomed(id, segment: nil), [1])
      gathering.doomed.append(.body(id, allocated: deletion.allocated, isRecorded: true))
    }
  }
}
