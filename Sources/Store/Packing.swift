// Giving small bodies their places in packs.
import Diagnostics
import Glibc
import HTTPMessage
import Synchronization
import Threads

extension IndexThread {
  /// Brings the bytes of small bodies to the disk and encodes what has changed. What finds no place is tried again
  /// later, and nothing more is taken in until then: else memory would fill with what can go nowhere.
  func flush(_ changed: [Representation], _ batch: inout Operations) {
    let tried = takeUnplaced() + changed
    var failures: [UInt64: SystemError] = [:]
    for representation in tried {
      do throws(SystemError) {
        try pack(representation)
      } catch {
        failures[representation.id] = error
      }
    }
    var last = failures.first?.value
    do throws(SystemError) {
      try packs.writeTail()
    } catch {
      last = error
    }
    let lost = packs.takeLost()
    if lost > 0 { engine.space.change { $0.packs -= min($0.packs, lost) } }
    for representation in tried {
      // A tail that could not be written may have held items of those that came before.
      let isLost = last != nil && unpackLost(representation)
      if let error = failures[representation.id] ?? (isLost ? last : nil) {
        setAside(representation, error)
      } else {
        encode(representation, &batch)
      }
    }
    notePlacing()
  }

  /// Those that are to be tried again now.
  private func takeUnplaced() -> [Representation] {
    guard let placeAgainAt, monotonicNanoseconds() >= placeAgainAt else { return [] }
    defer { unplaced = [] }
    return unplaced
  }

  private func setAside(_ representation: Representation, _ error: SystemError) {
    engine.counters.writeErrors.add(1)
    engine.faults.note(.packWrite, "writing a pack failed: \(error.explanation)")
    unplaced.append(representation)
    if error.code == ENOSPC || error.code == EDQUOT { engine.space.change { $0.deviceFree = 0 } }
  }

  private func notePlacing() {
    if !unplaced.isEmpty {
      engine.cannotPack.set(1)
      if placeAgainAt.map({ monotonicNanoseconds() >= $0 }) ?? true {
        placeAgainAt = monotonicNanoseconds() + UInt64(engine.options.syncInterval * 1e9)
      }
    } else if placeAgainAt != nil {
      placeAgainAt = nil
      engine.cannotPack.set(0)
      engine.log.info("cache: small bodies find their places on the disk again")
    }
  }

  /// How much room those take that found none.
  var unplacedBytes: UInt64 { unplaced.reduce(0) { sum, one in sum + one.state.withLock { $0.unpacked } } }

  /// Lays a small body's new extents out in the pack.
  private func pack(_ representation: Representation) throws(SystemError) {
    representation.state.withLock { state in
      for extent in state.outgrown { packs.release(extent.pack, length: extent.length) }
      state.outgrown = []
    }
    var looked: UInt64 = 0
    while let (extent, bytes) = nextUnplaced(of: representation, from: looked) {
      looked = extent.upper
      let place = try packs.append(
        id: representation.id, lower: extent.lower, checksum: extent.checksum, bytes: bytes)
      if gathering.packs[place.pack] == nil, let file = packs.file { gathering.packs[place.pack] = file }
      var inMemoryOnly: UInt64 = 0
      let isPlaced = representation.state.withLock { state -> Bool in
        guard state.body == .memory, let now = state.segments[0]?.extent(beginningAt: extent.lower),
          now.length == extent.length, now.checksum == extent.checksum
        else { return false }
        state.segments.change(0) { $0.place(extent.lower, pack: place.pack, offset: place.offset) }
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

  /// The first new extent of a small body at `position` or behind it that is in no pack.
  private func nextUnplaced(
    of representation: Representation, from position: UInt64
  ) -> (extent: Extent, bytes: ArraySlice<UInt8>)? {
    representation.state.withLock { state in
      guard state.body == .memory, state.phase == .stored, let buffer = state.buffer, let segment = state.segments[0]
      else { return nil }
      let found = segment.extents.first { extent in
        extent.lower >= position && extent.pack == 0 && state.dirty.contains(extent.lower)
      }
      return found.map { ($0, buffer[Int($0.lower)..<Int($0.upper)]) }
    }
  }

  /// Takes back the places that were given and not written; whether there were any.
  private func unpackLost(_ representation: Representation) -> Bool {
    var lost: [Extent] = []
    representation.state.withLock { state in
      guard state.body == .memory, let extents = state.segments[0]?.extents else { return }
      lost = extents.filter { $0.pack != 0 && state.dirty.contains($0.lower) && !packs.has($0) }
      for extent in lost {
        state.segments.change(0) { $0.place(extent.lower, pack: 0, offset: 0) }
        state.unpacked += UInt64(extent.length)
      }
    }
    for extent in lost { packs.release(extent.pack, length: extent.length) }
    let bytes = lost.reduce(0) { $0 + UInt64($1.length) }
    if bytes > 0 { engine.space.change { $0.unpacked += bytes } }
    return !lost.isEmpty
  }
}
