// Some extents of a representation, by their lower bounds.

/// Lower bounds of extents. Byte 0, where a small body's only extent begins as a rule, needs no memory beside the set.
struct ExtentBounds {
  private var hasFirst = false
  private var others: Set<UInt64> = []

  var isEmpty: Bool { !hasFirst && others.isEmpty }

  func contains(_ lower: UInt64) -> Bool { lower == 0 ? hasFirst : others.contains(lower) }

  func contains(where isMeant: (UInt64) -> Bool) -> Bool { hasFirst && isMeant(0) || others.contains(where: isMeant) }

  mutating func insert(_ lower: UInt64) {
    if lower == 0 { hasFirst = true } else { others.insert(lower) }
  }

  mutating func remove(_ lower: UInt64) {
    if lower == 0 { hasFirst = false } else { others.remove(lower) }
  }

  /// In no particular order.
  func forEach(_ body: (UInt64) -> Void) {
    if hasFirst { body(0) }
    others.forEach(body)
  }
}
