// Bringing bytes in from the disk, and checking them the first time.
import Diagnostics
import Glibc
import HTTPMessage
import Spans
import Synchronization

extension Engine {
  /// How many reads of a representation may fail in a row before it is given up.
  private static let mostFailedReads = 3

  /// Makes the bytes of `window` resident and checked; returns those from its beginning on. On a disk thread.
  func bringIn(_ representation: Representation, _ window: ByteSpan) throws(StoreError) -> StoredBytes {
    if representation.state.withLock({ $0.body == .memory }) {
      try loadBuffer(of: representation)
      if let bytes = representation.inMemory(window) { return .memory(bytes) }
      guard representation.state.withLock({ $0.body == .file }) else { throw .absent }
    }
    let file: OpenFile
    do throws(SystemError) {
      file = try openFile(of: representation, makes: false)
    } catch {
      guard error.code == ENOENT else {
        counters.readErrors.add(1)
        faults.note(.bodyRead, "opening \(layout.body(representation.id)) failed: \(error.explanation)")
        throw StoreError(error)
      }
      noteMissing(representation)
      throw .absent
    }
    let extents = representation.state.withLock { state -> [Extent] in
      guard let segment = state.segments[Segment.number(of: window.lower)] else { return [] }
      var found: [Extent] = []
      var place = segment.index(beyond: window.lower)
      var position = window.lower
      while place < segment.extents.count, position < window.upper, segment.extents[place].lower <= position {
        found.append(segment.extents[place])
        position = segment.extents[place].upper
        place += 1
      }
      return found
    }
    var end = window.lower
    for extent in extents {
      do throws(StoreError) {
        try check(extent, of: representation, file)
      } catch {
        // What is good in front of it is served first; the next call meets the bad one.
        if end > window.lower { break }
        throw error
      }
      end = min(extent.upper, window.upper)
    }
    guard end > window.lower else { throw .absent }
    posix_fadvise(file.descriptor, off_t(end), off_t(2 << 20), POSIX_FADV_WILLNEED)
    return .file(file, offset: window.lower, count: Int(end - window.lower))
  }

  /// Reads an extent, and compares its checksum unless that was done before.
  private func check(_ extent: Extent, of representation: Representation, _ file: OpenFile) throws(StoreError) {
    let count = Int(extent.length)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
    defer { buffer.deallocate() }
    let path = layout.body(representation.id)
    let got: Int
    do throws(SystemError) {
      got = try calls.read(into: buffer, from: file.descriptor, at: extent.lower)
    } catch {
      counters.readErrors.add(1)
      faults.note(.bodyRead, "reading \(path) at \(extent.lower) failed: \(error.explanation)")
      let reason = StoreError(error)
      guard !error.isPassing else { throw reason }
      // What the disk does not give back is lost: a gap now. Where it gives nothing back, not even what has just been
      // fetched, the representation is no use.
      let failures = representation.state.withLock { state -> Int in
        state.failedReads += 1
        return state.failedReads
      }
      if failures > Engine.mostFailedReads {
        discard(representation)
      } else {
        drop(extent, of: representation, path: path, offset: extent.lower, reason)
      }
      throw reason
    }
    representation.state.withLock { $0.failedReads = 0 }
    guard got == count else {
      distrust(representation, path: path)
      drop(extent, of: representation, path: path, offset: extent.lower, .absent)
      throw .absent
    }
    guard !extent.isChecked else { return }
    counters.bytesChecked.add(count)
    guard checksum(UnsafeRawBufferPointer(buffer)) == extent.checksum else {
      drop(extent, of: representation, path: path, offset: extent.lower, .corrupted)
      throw .corrupted
    }
    representation.state.withLock { $0.noteChecked(extent.lower, checksum: extent.checksum) }
  }

  /// The file is not what was written: nothing of it is believed without a look at its checksum.
  func distrust(_ representation: Representation, path: String) {
    log.warning("cache: \(path) was cut short by somebody else: all of it is checked again")
    representation.state.withLock { $0.distrust() }
  }

  /// Takes a bad extent out, so that it is fetched again.
  func drop(_ extent: Extent, of representation: Representation, path: String, offset: UInt64, _ reason: StoreError) {
    var removed: [Extent] = []
    var charge: Int64 = 0
    representation.state.withLock { state in
      (removed, charge) = state.remove(from: Segment.number(of: extent.lower)) { found in
        found.lower == extent.lower && found.checksum == extent.checksum && found.length == extent.length
      }
      if state.body == .file, !removed.isEmpty { state.dropped.insert(extent.span) }
    }
    guard !removed.isEmpty else { return }
    let change = charge
    space.change { $0.files = UInt64(max(0, Int64($0.files) + change)) }
    let place =
      "\(path): \(extent.length) bytes at offset \(offset) (bytes \(extent.lower)-\(extent.upper - 1) of a "
      + "representation)"
    switch reason {
    case .corrupted:
      counters.checksumErrors.add(1)
      log.warning("cache: \(place): does not have its checksum, dropped and fetched again")
    case .absent:
      counters.missingData.add(1)
      log.warning("cache: \(place): is missing, dropped and fetched again")
    case .io, .noSpace, .noRoom, .readOnly:
      faults.note(.lost, "\(place): \(reason.explanation), dropped and fetched again")
    }
    let packed = removed.filter { $0.pack != 0 }
    if !packed.isEmpty { inbox.release(packed) }
    noteChange(representation)
  }
}

extension Representation {
  /// The bytes of a small body from `span.lower` on, if they are in memory.
  func inMemory(_ span: ByteSpan) -> ArraySlice<UInt8>? {
    state.withLock { state in
      guard let buffer = state.buffer, let segment = state.segments[0],
        let end = segment.presentEnd(from: span.lower, limit: span.upper), end <= UInt64(buffer.count)
      else { return nil }
      return buffer[Int(span.lower)..<Int(end)]
    }
  }
}

extension RepresentationState {
  /// The bytes stand in a file from now on: rows are to be written anew. Returns the bytes charged for it.
  mutating func becomeFile() -> UInt64 {
    body = .file
    buffer = nil
    unpacked = 0
    allocated = 0
    isRecordDirty = true
    guard var segment = segments[0] else { return 0 }
    for extent in segment.extents {
      segment.place(extent.lower, pack: 0, offset: 0)
      dirty.insert(extent.lower)
    }
    segments[0] = segment
    var base: UInt64 = 0
    while let extent = segment.extents.last, base <= extent.lower {
      allocated += UInt64(segment.blocks(around: base).nonzeroBitCount) * 4096
      base += Extent.largest
    }
    return allocated
  }
}
