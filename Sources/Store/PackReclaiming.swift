// Getting the space of dead small bodies back.
import Diagnostics
import Glibc
import Synchronization

extension IndexThread {
  /// Copies the live items out of the packs of which at least `part` is dead, and removes those packs.
  func reclaimPacks(atLeast part: Double) {
    // Where items stand is read from the index, which does not know yet of copies that are under way.
    guard !hasCopies else { return }
    var batch = Operations()
    var isDone = false
    for _ in 0..<8 {
      guard let number = packs.mostDead(atLeast: part, besides: Set(gathering.copied.keys)),
        let record = packs.packs[number]
      else { break }
      if record.live > 0 {
        // The copies stand beside the pack until the commit. Where they have no room, whole packs die by eviction.
        guard engine.space.reserve(record.live) else { break }
        defer { engine.space.release(record.live) }
        guard copyLive(from: number, &batch) else { continue }
      }
      packs.forget(number)
      batch.delete(.packs, IndexKey.pack(number))
      gathering.doomed.append(.pack(number, size: record.size))
      engine.counters.packsReclaimed.add(1)
      isDone = true
    }
    guard isDone else { return }
    for (number, record) in packs.takeChanged() { batch.put(.packs, IndexKey.pack(number), record.encoded()) }
    add(batch)
    seal()
  }

  /// Whether items were copied by a commit that is not done.
  var hasCopies: Bool { !gathering.copied.isEmpty || !(inFlight?.copied.isEmpty ?? true) }

  private enum CopyFailure: Error {
    /// What is to be copied cannot be read, or not found in the index.
    case reading(reason: String)
    case writing(SystemError)
  }

  /// False when something could not be copied: nothing has changed then.
  private func copyLive(from number: UInt32, _ batch: inout Operations) -> Bool {
    var moved: [(id: UInt64, extent: Extent)] = []
    do throws(CopyFailure) {
      try copyLive(from: number, &moved)
    } catch {
      let reason: String
      switch error {
      case .reading(let cause):
        engine.counters.readErrors.add(1)
        reason = cause
        // What is in it may be read another time, and must not go with it.
        packs.noteUnreadable(number)
        try? packs.writeTail()
      case .writing(let cause):
        engine.counters.writeErrors.add(1)
        reason = cause.explanation
      }
      engine.faults.note(.reclaiming, "copying out of \(engine.layout.pack(number)) failed: \(reason)")
      for (_, extent) in moved { packs.release(extent.pack, length: extent.length) }
      packs.endPack()
      let lost = packs.takeLost()
      engine.space.change { $0.packs -= min($0.packs, lost) }
      return false
    }
    for (id, extent) in moved { move(id, to: extent, from: number, &batch) }
    return true
  }

  private func copyLive(from number: UInt32, _ moved: inout [(id: UInt64, extent: Extent)]) throws(CopyFailure) {
    let descriptor: Int32
    let items: [PackStore.Item]
    do throws(SystemError) {
      descriptor = try engine.calls.open(engine.layout.pack(number), flags: O_RDONLY)
    } catch {
      // One that is not there has nothing to lose.
      if error.code == ENOENT { return }
      throw .reading(reason: error.explanation)
    }
    defer { close(descriptor) }
    do throws(SystemError) {
      items = try packs.items(of: number, descriptor)
    } catch {
      throw .reading(reason: error.explanation)
    }
    for item in items {
      guard let extent = try meant(item, in: number) else { continue }
      var bytes = [UInt8](repeating: 0, count: Int(item.length))
      do throws(SystemError) {
        let got = try packs.read(into: &bytes, from: descriptor, at: UInt64(item.offset))
        // A bad item is not copied: reading it fails then, and it is fetched again.
        guard got == bytes.count, bytes.withUnsafeBytes({ checksum($0) }) == extent.checksum else { continue }
      } catch {
        throw .reading(reason: error.explanation)
      }
      do throws(SystemError) {
        let place = try packs.append(id: item.id, lower: item.lower, checksum: item.checksum, bytes: bytes[...])
        let size = UInt64(bytes.count + PackStore.headerSize)
        engine.space.change { $0.packs += size }
        if let file = packs.file { gathering.packs[place.pack] = file }
        gathering.copied[place.pack, default: []].insert(item.id)
        var copy = extent
        copy.pack = place.pack
        copy.packOffset = place.offset
        moved.append((item.id, copy))
      } catch {
        throw .writing(error)
      }
    }
    do throws(SystemError) {
      try packs.writeTail()
    } catch {
      throw .writing(error)
    }
  }

  /// The extent an item is meant for, if the index (or memory, which is newer) still says so.
  private func meant(_ item: PackStore.Item, in number: UInt32) throws(CopyFailure) -> Extent? {
    // One that was evicted may still be held by somebody; its items are dead all the same.
    guard usage.contains(item.id) else { return nil }
    let isThis = { (extent: Extent) in extent.pack == number && extent.packOffset == item.offset }
    if let representation = engine.registry.find(item.id) {
      let known = representation.state.withLock { state -> Extent?? in
        guard let segment = state.segments[0], segment.isLoaded else { return nil }
        return segment.extent(beginningAt: item.lower)
      }
      if let known { return known.flatMap { isThis($0) ? $0 : nil } }
    }
    do throws(IndexError) {
      let row = try engine.index.read { $0.get(.extents, IndexKey.extent(item.id, item.lower)) }
      guard let row, let extent = try? ExtentRecord.decode(row.span.bytes, lower: item.lower) else { return nil }
      return isThis(extent) ? extent : nil
    } catch {
      throw .reading(reason: error.explanation)
    }
  }

  private func move(_ id: UInt64, to extent: Extent, from number: UInt32, _ batch: inout Operations) {
    let generation = gathering.generation
    var isStillMeant = true
    if let representation = engine.registry.find(id) {
      isStillMeant = representation.state.withLock { state in
        guard let known = state.segments[0]?.extent(beginningAt: extent.lower) else {
          return state.segments[0]?.isLoaded != true
        }
        guard known.pack == number, known.length == extent.length, known.checksum == extent.checksum else {
          return false
        }
        state.segments.change(0) { segment in
          segment.place(extent.lower, pack: extent.pack, offset: extent.packOffset)
          segment.dirtyGeneration = generation
        }
        return true
      }
      gathering.held.append(representation)
    }
    guard isStillMeant else {
      packs.release(extent.pack, length: extent.length)
      return
    }
    batch.put(.extents, IndexKey.extent(id, extent.lower), ExtentRecord(extent).encoded())
  }
}
