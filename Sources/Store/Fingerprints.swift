// Which keys may be in the index, in a few bytes each.

/// A set of 64-bit numbers by open addressing: about 12 bytes a member.
struct Fingerprints: Sendable {
  private var slots: [UInt64] = []
  private(set) var count = 0

  /// Zero marks a free slot.
  private static func filled(_ number: UInt64) -> UInt64 { number == 0 ? 1 : number }

  mutating func insert(_ number: UInt64) {
    if (count + 1) * 4 > slots.count * 3 { grow() }
    let number = Fingerprints.filled(number)
    let slot = find(number)
    if slots[slot] == 0 {
      slots[slot] = number
      count += 1
    }
  }

  func contains(_ number: UInt64) -> Bool {
    guard !slots.isEmpty else { return false }
    return slots[find(Fingerprints.filled(number))] != 0
  }

  mutating func remove(_ number: UInt64) {
    guard !slots.isEmpty else { return }
    var free = find(Fingerprints.filled(number))
    guard slots[free] != 0 else { return }
    slots[free] = 0
    count -= 1
    // Members behind it that were pushed on by it move up, so that no search stops short of them.
    let mask = slots.count - 1
    var slot = (free + 1) & mask
    while slots[slot] != 0 {
      let home = Int(truncatingIfNeeded: slots[slot]) & mask
      if (slot &- home) & mask >= (slot &- free) & mask {
        slots[free] = slots[slot]
        slots[slot] = 0
        free = slot
      }
      slot = (slot + 1) & mask
    }
  }

  /// The slot of a member, or the free one where it would be.
  private func find(_ number: UInt64) -> Int {
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: number) & mask
    while slots[slot] != 0, slots[slot] != number { slot = (slot + 1) & mask }
    return slot
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: 0, count: max(64, old.count * 2))
    for number in old where number != 0 { slots[find(number)] = number }
  }
}
