// Representations in the order of their last use.

/// A linked list in two arrays: about 60 bytes a representation. Belongs to the index thread.
struct UsageTable {
  private struct Slot {
    var id: UInt64
    var allocated: UInt64
    /// Seconds since 1970 as the index has it.
    var recordedUse: UInt32
    var previous: Int32
    var next: Int32
  }

  private var slots: [Slot] = []
  private var free: [Int32] = []
  private var places: [UInt64: Int32] = [:]
  /// The least and the most recently used; -1 when there is none.
  private var oldest: Int32 = -1
  private var newest: Int32 = -1

  var count: Int { places.count }

  mutating func reserveCapacity(_ count: Int) {
    slots.reserveCapacity(count)
    places.reserveCapacity(count)
  }

  /// Puts it last in line; returns what it is charged for more than before.
  mutating func use(_ id: UInt64, allocated: UInt64?) -> Int64 {
    if let place = places[id] {
      unlink(place)
      linkNewest(place)
      guard let allocated else { return 0 }
      let before = slots[Int(place)].allocated
      slots[Int(place)].allocated = allocated
      return Int64(allocated) - Int64(before)
    }
    let slot = Slot(id: id, allocated: allocated ?? 0, recordedUse: 0, previous: -1, next: -1)
    let place: Int32
    if let reused = free.popLast() {
      place = reused
      slots[Int(place)] = slot
    } else {
      place = Int32(slots.count)
      slots.append(slot)
    }
    places[id] = place
    linkNewest(place)
    return Int64(allocated ?? 0)
  }

  /// Puts in what the index had at start, unless it was used since; older than everything used since.
  mutating func load(_ rows: [(id: UInt64, allocated: UInt64, lastUse: UInt64)]) {
    for row in rows.sorted(by: { ($0.lastUse, $0.id) > ($1.lastUse, $1.id) }) where places[row.id] == nil {
      let place = Int32(slots.count)
      slots.append(
        Slot(
          id: row.id, allocated: row.allocated, recordedUse: UInt32(clamping: row.lastUse), previous: -1,
          next: oldest))
      if oldest >= 0 { slots[Int(oldest)].previous = place } else { newest = place }
      oldest = place
      places[row.id] = place
    }
  }

  func contains(_ id: UInt64) -> Bool { places[id] != nil }

  func allocated(_ id: UInt64) -> UInt64? { places[id].map { slots[Int($0)].allocated } }

  /// Whether the last use on record is older than `seconds` before `now`; if so it counts as recorded now.
  mutating func isRecordStale(_ id: UInt64, now: UInt64, seconds: UInt64) -> Bool {
    guard let place = places[id] else { return false }
    guard UInt64(slots[Int(place)].recordedUse) + seconds <= now else { return false }
    slots[Int(place)].recordedUse = UInt32(clamping: now)
    return true
  }

  /// Takes it out; returns what it was charged for.
  @discardableResult
  mutating func remove(_ id: UInt64) -> UInt64? {
    guard let place = places.removeValue(forKey: id) else { return nil }
    unlink(place)
    free.append(place)
    return slots[Int(place)].allocated
  }

  /// From the least recently used on, at most `limit`.
  func oldest(_ limit: Int) -> [UInt64] {
    var found: [UInt64] = []
    var place = oldest
    while place >= 0, found.count < limit {
      found.append(slots[Int(place)].id)
      place = slots[Int(place)].next
    }
    return found
  }

  private mutating func linkNewest(_ place: Int32) {
    slots[Int(place)].previous = newest
    slots[Int(place)].next = -1
    if newest >= 0 { slots[Int(newest)].next = place } else { oldest = place }
    newest = place
  }

  private mutating func unlink(_ place: Int32) {
    let slot = slots[Int(place)]
    if slot.previous >= 0 { slots[Int(slot.previous)].next = slot.next } else { oldest = slot.next }
    if slot.next >= 0 { slots[Int(slot.next)].previous = slot.previous } else { newest = slot.previous }
  }
}
