// Reading a key's responses from the index.
import CachePolicy
import Diagnostics
import HTTPMessage
import Spans
import Synchronization

extension Engine {
  /// The responses of a key, with their representations; on a disk thread.
  func loadEntries(_ key: CacheKey) -> [StoredEntry] {
    struct Row {
      var response: StoredResponse
      var id: UInt64
      var record: RepresentationRecord
      var usage: UsageRecord?
      var extents: [Extent]?
    }
    var rows: [Row] = []
    do throws(IndexError) {
      rows = try index.read(rows: counters.indexRowsRead) { reader -> [Row] in
        var found: [ResponseRecord.Decoded] = []
        reader.scan(.responses, prefix: IndexKey.key(key.hash)) { _, value in
          do throws(RecordError) {
            let decoded = try ResponseRecord.decode(value)
            if decoded.key == key.text { found.append(decoded) }
          } catch {
            log.warning("cache: a response of \(key.text) in the index cannot be read: \(error)")
          }
        }
        return found.compactMap { decoded in
          let id = decoded.representation
          guard let value = reader.get(.representations, IndexKey.representation(id)),
            let record = try? RepresentationRecord.decode(value.span.bytes)
          else { return nil }
          let usage = reader.get(.usage, IndexKey.representation(id)).flatMap { try? UsageRecord.decode($0.span.bytes) }
          let extents = record.isPacked ? packedRows(of: id, reader) : nil
          return Row(response: decoded.response, id: id, record: record, usage: usage, extents: extents)
        }
      }
    } catch {
      counters.readErrors.add(1)
      faults.note(.indexRead, "reading the index failed: \(error.explanation)")
      return []
    }
    let entries = rows.map { row in
      let found = representation(row.id, row.record, row.usage, key: key.hash, extents: row.extents)
      return StoredEntry(key: key, response: row.response, representation: found)
    }
    let (known, removed) = keys.load(key, entries)
    for entry in removed.entries { supersede(entry.representation) }
    if !removed.entries.isEmpty { inbox.noteKeys() }
    // One small body is fetched along, so that its reader needs no second trip here. Should that fail, the reader's own
    // look says why.
    if known.count == 1, let only = known.first?.representation, only.state.withLock({ $0.isColdSmallBody }) {
      try? loadBuffer(of: only)
    }
    return known
  }

  /// The object of a representation that is on record, made of its rows where nobody has one.
  ///
  /// - Parameter extents: of a small body, where they have been read.
  func representation(
    _ id: UInt64, _ record: RepresentationRecord, _ usage: UsageRecord?, key: KeyHash, extents: [Extent]? = nil
  ) -> Representation {
    registry.find(id) {
      Representation(
        id: id, validator: record.validator,
        state: Engine.state(of: record, allocated: usage?.allocated ?? 0, key: key, extents: extents), engine: self)
    }
  }

  private func packedRows(of id: UInt64, _ reader: IndexReader) -> [Extent] {
    var extents: [Extent] = []
    reader.scan(.extents, prefix: IndexKey.representation(id)) { key, value in
      if let lower = IndexKey.secondNumber(key), let extent = try? ExtentRecord.decode(value, lower: lower) {
        extents.append(extent)
      }
    }
    return extents
  }

  /// The state of a representation as the index has it.
  private static func state(
    of record: RepresentationRecord, allocated: UInt64, key: KeyHash, extents: [Extent]?
  ) -> RepresentationState {
    var state = RepresentationState(
      phase: .stored, body: record.isPacked ? .memory : .file, total: record.total, hasFile: !record.isPacked)
    state.isRecorded = true
    state.presentBytes = record.presentBytes
    state.allocated = allocated
    state.key = key
    state.touched = record.touched
    state.complete = record.complete
    // A small body's extents are few, and it will be read.
    if record.isPacked, let extents { state.load(0, extents) }
    return state
  }
}

extension RepresentationState {
  /// Whether it is small and has bytes, none of them in memory.
  fileprivate var isColdSmallBody: Bool { body == .memory && buffer == nil && presentBytes > 0 }
}
