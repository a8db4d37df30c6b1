// The extents of one segment of a representation.
import Spans

/// Bytes that were written together, with their checksum; at most `Extent.largest`, never across a boundary of it.
struct Extent: Equatable, Sendable {
  /// Extents are cut where offsets are multiples of this.
  static let largest: UInt64 = 256 << 10

  /// The first byte's place in the representation.
  var lower: UInt64
  /// XXH3-64 of the bytes.
  var checksum: UInt64
  /// How many bytes.
  var length: UInt32
  /// Where the bytes stand in a pack file, for small bodies that are on disk; pack 0 is none.
  var pack: UInt32 = 0
  var packOffset: UInt32 = 0
  /// Whether the bytes were written or checked since the store was opened.
  var isChecked: Bool
  /// When the bytes were last written or found in the page cache.
  var seen = CoarseMoment.never

  var upper: UInt64 { lower + UInt64(length) }
  var span: ByteSpan { ByteSpan(lower, upper) }
}

/// The extents that lie in one stretch of `Segment.size` bytes, as far as they are known.
struct Segment: Sendable {
  /// Extents are read from the index by stretches of this size.
  static let size: UInt64 = 16 << 20

  /// Sorted and disjoint.
  private(set) var extents: [Extent] = []
  /// How many bytes the extents have.
  private(set) var presentBytes: UInt64 = 0
  /// False while only what was written since it was last forgotten is known, not what the index has.
  var isLoaded: Bool
  /// The commit that brings the last change to the disk; `.max` before one is known.
  var dirtyGeneration: UInt64 = 0
  /// Whether it was used since it was last looked at for forgetting.
  var wasUsed = true
  /// What it counts for among the segments that may be let go of; 0 for one that is not among them.
  var charge = 0

  init(isLoaded: Bool) { self.isLoaded = isLoaded }

  /// The segment that holds the byte at `position`.
  static func number(of position: UInt64) -> UInt64 { position / size }

  /// The first extent that ends beyond `position`.
  func index(beyond position: UInt64) -> Int {
    var low = 0
    var high = extents.count
    while low < high {
      let middle = (low + high) / 2
      if extents[middle].upper > position { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// The extent that holds the byte at `position`.
  func extent(at position: UInt64) -> Extent? {
    let index = index(beyond: position)
    guard index < extents.count, extents[index].lower <= position else { return nil }
    return extents[index]
  }

  /// One past the last byte of the unbroken run of present bytes from `position` on, or nil when it is absent.
  func presentEnd(from position: UInt64, limit: UInt64) -> UInt64? {
    var index = index(beyond: position)
    guard index < extents.count, extents[index].lower <= position else { return nil }
    var end = extents[index].upper
    index += 1
    while end < limit, index < extents.count, extents[index].lower == end {
      end = extents[index].upper
      index += 1
    }
    return min(end, limit)
  }

  /// No extent counts as checked any more.
  mutating func uncheck() {
    for index in extents.indices {
      extents[index].isChecked = false
      extents[index].seen = .never
    }
  }

  /// Where the next present byte after the absent one at `position` is, or nil when there is none.
  func nextLower(after position: UInt64) -> UInt64? {
    let index = index(beyond: position)
    return index < extents.count ? extents[index].lower : nil
  }

  /// Puts an extent in, or another value in the place of the one with the same lower bound. It must not overlap others.
  mutating func put(_ extent: Extent) {
    let index = firstIndex(notBelow: extent.lower)
    if index < extents.count, extents[index].lower == extent.lower {
      presentBytes -= UInt64(extents[index].length)
      extents[index] = extent
    } else {
      extents.insert(extent, at: index)
    }
    presentBytes += UInt64(extent.length)
  }

  /// Changes the extent that begins at `lower`, but not where its bytes are; nothing when there is none.
  mutating func change(_ lower: UInt64, _ body: (inout Extent) -> Void) {
    let index = firstIndex(notBelow: lower)
    guard index < extents.count, extents[index].lower == lower else { return }
    body(&extents[index])
  }

  /// Whether all extents in the same `Extent.largest` stretch as `position` are checked.
  func isStretchChecked(around position: UInt64) -> Bool {
    let base = position / Extent.largest * Extent.largest
    return extents[index(beyond: base)...].prefix { $0.lower < base + Extent.largest }.allSatisfy(\.isChecked)
  }

  /// Notes where the bytes of the extent that begins at `lower` stand in a pack; pack 0 is none.
  mutating func place(_ lower: UInt64, pack: UInt32, offset: UInt32) {
    change(lower) { extent in
      extent.pack = pack
      extent.packOffset = offset
    }
  }

  /// Notes that the bytes of a span were found in the page cache.
  mutating func noteResident(_ span: ByteSpan, at moment: CoarseMoment) {
    var place = index(beyond: span.lower)
    while place < extents.count, extents[place].lower < span.upper {
      extents[place].seen = moment
      place += 1
    }
  }

  func extent(beginningAt lower: UInt64) -> Extent? {
    let index = firstIndex(notBelow: lower)
    return index < extents.count && extents[index].lower == lower ? extents[index] : nil
  }

  /// Takes the extents out for which it is true and returns them.
  mutating func remove(where isRemoved: (Extent) -> Bool) -> [Extent] {
    let removed = extents.filter(isRemoved)
    if !removed.isEmpty { extents.removeAll(where: isRemoved) }
    for extent in removed { presentBytes -= UInt64(extent.length) }
    return removed
  }

  /// Takes in what the index has, below what was written meanwhile; returns the rows that contradict it.
  mutating func load(_ rows: [Extent]) -> [Extent] {
    let written = extents
    var refused: [Extent] = []
    extents = []
    extents.reserveCapacity(rows.count + written.count)
    var rest = written[...]
    for row in rows {
      while let first = rest.first, first.upper <= row.lower { extents.append(rest.removeFirst()) }
      if (rest.first.map { $0.lower < row.upper } ?? false) || (extents.last.map { $0.upper > row.lower } ?? false) {
        refused.append(row)
      } else {
        extents.append(row)
      }
    }
    extents.append(contentsOf: rest)
    presentBytes = extents.reduce(0) { $0 + UInt64($1.length) }
    isLoaded = true
    return refused
  }

  /// The 4 KiB blocks, one a bit, that the extents in the same `Extent.largest` stretch as `position` touch.
  func blocks(around position: UInt64) -> UInt64 {
    let base = position / Extent.largest * Extent.largest
    var index = index(beyond: base)
    var mask: UInt64 = 0
    while index < extents.count, extents[index].lower < base + Extent.largest {
      let first = (extents[index].lower - base) / 4096
      let end = (extents[index].upper - base + 4095) / 4096
      let ones = end - first >= 64 ? UInt64.max : (1 << (end - first)) - 1
      mask |= ones << first
      index += 1
    }
    return mask
  }

  private func firstIndex(notBelow lower: UInt64) -> Int {
    var low = 0
    var high = extents.count
    while low < high {
      let middle = (low + high) / 2
      if extents[middle].lower >= lower { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
