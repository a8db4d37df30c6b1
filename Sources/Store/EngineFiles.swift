// What the disk threads do for representations: open, write, read and check.
import Diagnostics
import Glibc
import HTTPMessage
import Spans
import Synchronization

extension RepresentationState {
  /// Puts bytes into the buffer; returns how much it grew.
  mutating func putIntoBuffer(_ bytes: UnsafeRawBufferPointer, at start: UInt64) -> Int {
    let end = Int(start) + bytes.count
    var growth = 0
    // In place: a second reference to the array would make each write a copy.
    if buffer == nil { buffer = [] }
    if let count = buffer?.count, count < end {
      if count == 0 { buffer?.reserveCapacity(max(end, total.map { Int(min($0, 1 << 20)) } ?? end)) }
      if count == Int(start) {
        buffer?.append(contentsOf: bytes)
        return bytes.count
      }
      growth = end - count
      buffer?.append(contentsOf: repeatElement(0, count: growth))
    }
    buffer?.withUnsafeMutableBytes { buffer in
      UnsafeMutableRawBufferPointer(rebasing: buffer[Int(start)..<end]).copyMemory(from: bytes)
    }
    return growth
  }
}

extension Representation {
  /// Lets go of the buffer if the bytes are on the disk as well; returns what that frees.
  func dropBuffer() -> Int? {
    state.withLock { state in
      guard let count = state.buffer?.count else { return 0 }
      if state.bufferWasUsed || state.phase != .stored || !state.dirty.isEmpty || state.isQueued
        || !state.writers.isEmpty
      {
        state.bufferWasUsed = false
        return nil
      }
      state.buffer = nil
      return count
    }
  }

  /// Lets go of the open file.
  func dropFile() -> Int? {
    state.withLock { state in
      guard state.file != nil else { return 0 }
      if state.fileWasUsed || !state.dirty.isEmpty || !state.writers.isEmpty {
        state.fileWasUsed = false
        return nil
      }
      state.file = nil
      return 1
    }
  }

  /// Forgets a segment that has no changes, so that the next look reads the index.
  func forgetClean(_ number: UInt64) {
    let charge = state.withLock { state -> Int in
      guard state.isRecorded, !state.hasChanges, let segment = state.segments[number], segment.isLoaded,
        segment.dirtyGeneration <= engine.committed.value
      else { return 0 }
      state.segments[number] = nil
      return segment.charge
    }
    engine.segments.count(-charge)
  }

  /// Lets go of a segment's extents if the index has them.
  func dropSegment(_ number: UInt64, committed: UInt64) -> Int? {
    state.withLock { state in
      guard let segment = state.segments[number] else { return 0 }
      let first = number * Segment.size
      let isClean =
        segment.dirtyGeneration <= committed && state.phase == .stored && !state.isQueued && !state.hasChanges
        && !state.writers.values.contains { Segment.number(of: $0.upper) == number }
        && !state.removed.contains { $0 >= first && $0 - first < Segment.size }
      guard isClean, !segment.wasUsed else {
        state.segments.change(number) { $0.wasUsed = false }
        return nil
      }
      state.segments[number] = nil
      return segment.charge
    }
  }
}

extension Engine {
  /// Reads a segment's extents from the index; false when it cannot be read. On a disk thread.
  func loadSegment(of representation: Representation, _ number: UInt64) -> Bool {
    let id = representation.id
    let lower = number * Segment.size
    var rows: [Extent] = []
    do throws(IndexError) {
      rows = try index.read(rows: counters.indexRowsRead) { reader -> [Extent] in
        var rows: [Extent] = []
        reader.scan(.extents, from: IndexKey.extent(id, lower)) { key, value in
          guard IndexKey.number(key) == id, let position = IndexKey.secondNumber(key), position - lower < Segment.size
          else { return false }
          if let extent = try? ExtentRecord.decode(value, lower: position) { rows.append(extent) }
          return true
        }
        return rows
      }
    } catch {
      faults.note(.indexRead, "reading the index failed: \(error.explanation)")
      counters.readErrors.add(1)
      return false
    }
    let charge = rows.count + 8
    let isNew = representation.state.withLock { state in
      // Another thread may have been faster.
      guard state.segments[number]?.isLoaded != true else { return false }
      state.load(number, rows)
      state.segments.change(number) { $0.charge = charge }
      return true
    }
    if isNew { segments.enter(representation, part: number, size: charge) }
    return true
  }

  /// The representation's file, opened (and made, for one that has none yet). On a disk thread.
  func openFile(of representation: Representation, makes: Bool) throws(SystemError) -> OpenFile {
    let (open, hasFile, hasBytes) = representation.state.withLock { ($0.file, $0.hasFile, $0.presentBytes > 0) }
    if let open { return open }
    let path = layout.body(representation.id)
    let descriptor: Int32
    do throws(SystemError) {
      // One that is on record with no byte may never have come to have a file: the last run was killed before. Where bytes
      // should be, a new file would stand for them.
      descriptor = makes && !(hasFile && hasBytes) ? try makeFile(path) : try calls.open(path, flags: O_RDWR)
    } catch {
      // On a file system that is read-only now, what is there can still be read.
      guard error.code == EROFS, hasFile else { throw error }
      descriptor = try calls.open(path, flags: O_RDONLY)
    }
    let file = OpenFile(descriptor: descriptor, pool: pool)
    if !hasFile { _ = newNames.withLock { $0.insert(UInt8(truncatingIfNeeded: representation.id)) } }
    let (kept, isNew) = representation.state.withLock { state -> (OpenFile, Bool) in
      if let other = state.file { return (other, false) }
      state.file = file
      state.hasFile = true
      state.fileWasUsed = true
      return (file, true)
    }
    if isNew { files.enter(representation, part: 0, size: 1) }
    return kept
  }

  private func makeFile(_ path: String) throws(SystemError) -> Int32 {
    do throws(SystemError) {
      return try calls.open(path, flags: O_RDWR | O_CREAT)
    } catch {
      guard error.code == ENOENT, let slash = path.lastIndex(of: "/") else { throw error }
      // Somebody has removed the directory.
      _ = try calls.makeDirectory(layout.bodies)
      _ = try calls.makeDirectory(String(path[..<slash]))
      return try calls.open(path, flags: O_RDWR | O_CREAT)
    }
  }

  /// Where `writeThrough` put bytes.
  enum WrittenTo {
    case file
    /// Nowhere yet: the body is small and in memory now, so that the writer can go on there.
    case memory
  }

  /// Writes bytes to the representation's file, which is made, or filled from memory, as needed. On a disk thread.
  ///
  /// - Parameter ahead: what gets its blocks first, if it goes to the file.
  func writeThrough(
    _ bytes: [UInt8], at offset: UInt64, of representation: Representation, ahead: ByteSpan?
  ) throws(StoreError) -> WrittenTo {
    let needsLoad = representation.state.withLock { $0.body == .memory && $0.buffer == nil && $0.presentBytes > 0 }
    if needsLoad { try loadBuffer(of: representation) }
    let end = offset + UInt64(bytes.count)
    let outcome = representation.fileGate.withLock { _ -> Result<WrittenTo, SystemError> in
      do throws(SystemError) {
        let staysInMemory = representation.state.withLock { state in
          state.body == .memory && end <= UInt64(options.smallBody)
        }
        if staysInMemory { return .success(.memory) }
        let file = try openFile(of: representation, makes: true)
        try moveToFile(representation, file)
        if file.wasCut(calls) { distrust(representation, path: layout.body(representation.id)) }
        if let ahead {
          representation.state.withLock { $0.ahead.add(ahead) }
          allocateNow(ahead, file)
        }
        let written = bytes.withUnsafeBytes { pointer -> Result<Void, SystemError> in
          do throws(SystemError) {
            try throttle.watch { () throws(SystemError) in
              try calls.write(pointer, to: file.descriptor, at: offset)
            }
            return .success(())
          } catch {
            return .failure(error)
          }
        }
        try written.get()
        file.noteWritten(upTo: end)
        return .success(.file)
      } catch {
        return .failure(error)
      }
    }
    switch outcome {
    case .success(let place): return place
    case .failure(let error):
      guard error.code == ENOENT, representation.state.withLock({ $0.hasFile }) else { throw StoreError(error) }
      noteMissing(representation)
      throw .absent
    }
  }

  /// The file is gone, and what it held with it: the representation is fetched again.
  func noteMissing(_ representation: Representation) {
    counters.missingData.add(1)
    log.warning("cache: \(layout.body(representation.id)) is missing: its bytes are fetched again")
    discard(representation)
  }

  /// Copies a body that has outgrown memory to its file. Others may go on writing to memory until it is done.
  private func moveToFile(_ representation: Representation, _ file: OpenFile) throws(SystemError) {
    while true {
      let (body, extents, buffer) = representation.state.withLock { state in
        (state.body, state.segments[0]?.extents ?? [], state.buffer ?? [])
      }
      if body == .file { return }
      for extent in extents {
        let outcome = buffer[Int(extent.lower)..<Int(extent.upper)].withUnsafeBytes {
          pointer -> Result<Void, SystemError> in
          do throws(SystemError) {
            return .success(try calls.write(pointer, to: file.descriptor, at: extent.lower))
          } catch {
            return .failure(error)
          }
        }
        try outcome.get()
      }
      var freed: (buffer: Int, unpacked: UInt64, allocated: UInt64, places: [Extent])?
      representation.state.withLock { state in
        guard (state.segments[0]?.extents ?? []) == extents else { return }
        let places = state.packedExtents
        let count = state.buffer?.count ?? 0
        freed = (count, state.unpacked, state.becomeFile(), places)
      }
      if let freed {
        buffers.count(-freed.buffer)
        space.change { account in
          account.unpacked -= min(account.unpacked, freed.unpacked)
          account.files += freed.allocated
        }
        if !freed.places.isEmpty { inbox.release(freed.places) }
        noteChange(representation)
        return
      }
    }
  }

  /// Reads a small body from its packs into memory, checking every extent. On a disk thread.
  func loadBuffer(of representation: Representation) throws(StoreError) {
    for attempt in 0..<3 {
      if representation.state.withLock({ $0.segments[0]?.isLoaded != true }) {
        guard loadSegment(of: representation, 0) else { throw .io(EIO) }
      }
      let (isThere, extents) = representation.state.withLock { state in
        (state.buffer != nil || state.body == .file, state.segments[0]?.extents ?? [])
      }
      if isThere { return }
      let size = Int(extents.last?.upper ?? 0)
      guard size <= options.smallBody * 4 else { throw .corrupted }
      var buffer = [UInt8](repeating: 0, count: size)
      var bad: [(extent: Extent, reason: StoreError)] = []
      for extent in extents {
        if let reason = try readPacked(extent, into: &buffer) { bad.append((extent, reason)) }
      }
      let isSame = representation.state.withLock { state -> Bool in
        guard
          (state.segments[0]?.extents ?? []).elementsEqual(extents, by: { $0.pack == $1.pack && $0.span == $1.span }),
          state.buffer == nil
        else { return false }
        if bad.isEmpty {
          state.buffer = buffer
          state.bufferWasUsed = true
          for extent in extents { state.noteChecked(extent.lower, checksum: extent.checksum) }
        }
        return true
      }
      if isSame, bad.isEmpty {
        buffers.enter(representation, part: 0, size: size)
        return
      }
      // Compaction may have moved the bytes since their rows were read: the last look is believed.
      if isSame, attempt == 2 {
        for (extent, reason) in bad {
          drop(extent, of: representation, path: layout.pack(extent.pack), offset: UInt64(extent.packOffset), reason)
        }
        throw bad.first?.reason ?? .corrupted
      }
      representation.forgetClean(0)
    }
    throw .absent
  }

  /// Reads an extent from its pack; says what is wrong with it, or throws when it cannot be told now.
  private func readPacked(_ extent: Extent, into buffer: inout [UInt8]) throws(StoreError) -> StoreError? {
    guard extent.pack != 0 else { return .absent }
    let path = layout.pack(extent.pack)
    do throws(SystemError) {
      let file = try packFiles.find(extent.pack) { () throws(SystemError) -> OpenFile in
        OpenFile(descriptor: try calls.open(path, flags: O_RDONLY), pool: pool)
      }
      let outcome = buffer.withUnsafeMutableBytes { pointer -> Result<StoreError?, SystemError> in
        let part = UnsafeMutableRawBufferPointer(rebasing: pointer[Int(extent.lower)..<Int(extent.upper)])
        do throws(SystemError) {
          let count = try calls.read(into: part, from: file.descriptor, at: UInt64(extent.packOffset))
          counters.bytesChecked.add(count)
          if count < part.count { return .success(.absent) }
          return .success(checksum(UnsafeRawBufferPointer(part)) == extent.checksum ? nil : .corrupted)
        } catch {
          return .failure(error)
        }
      }
      return try outcome.get()
    } catch {
      counters.readErrors.add(1)
      faults.note(.packRead, "reading \(path) failed: \(error.explanation)")
      if error.isPassing { throw StoreError(error) }
      return error.code == ENOENT ? .absent : StoreError(error)
    }
  }
}
