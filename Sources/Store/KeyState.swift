// What is in memory of one cache key.
import CachePolicy

/// What is known of one key. Whatever has not been committed is always here, so that the index is never asked for it.
struct KeyState {
  /// What is stored under it, each with a variant of its own. Hardly ever more than one.
  private(set) var entries: [StoredEntry] = []
  /// The variants that were removed and that the index may still have. A client that makes up variants makes many.
  private(set) var buried: Set<UInt64> = []
  private(set) var key: CacheKey
  /// The variants that have changed since they were last written. Hardly ever more than one.
  private var firstChanged: UInt64?
  private var othersChanged: Set<UInt64> = []
  /// Whether the variants are all there are.
  var isLoaded: Bool
  /// Whether the index may have rows of it: not before those of a key that it did not have have been written.
  var mayBeRecorded: Bool
  /// The commit that brings the last change to the disk; `.max` before one is known.
  var dirtyGeneration: UInt64 = 0
  /// While not loaded: what the index has of representations with smaller numbers has been removed.
  var removedBelow: UInt64 = 0
  var wasUsed = true
  var cost = 0

  init(key: CacheKey, isLoaded: Bool) {
    self.key = key
    self.isLoaded = isLoaded
    mayBeRecorded = !isLoaded
  }

  /// What is stored under a key that has this state's hash, for a look-up; nil where the index has to be read for that.
  mutating func use(for key: CacheKey) -> [StoredEntry]? {
    wasUsed = true
    guard isLoaded else { return nil }
    return self.key == key ? entries : []
  }

  /// The entry of a variant; nil where there is none, or none is known.
  func entry(_ variant: UInt64) -> StoredEntry? { entries.first { $0.variant == variant } }

  /// Whether it is known what there is of a variant, which may be nothing.
  func knows(_ variant: UInt64) -> Bool { entry(variant) != nil || buried.contains(variant) }

  /// Whether something has changed that is still to be written.
  var hasChanges: Bool { firstChanged != nil }

  /// Notes that a variant has changed.
  ///
  /// - Returns: whether it is the first that has.
  mutating func noteChange(of variant: UInt64) -> Bool {
    dirtyGeneration = .max
    guard let firstChanged else {
      firstChanged = variant
      return true
    }
    if firstChanged != variant { othersChanged.insert(variant) }
    return false
  }

  /// Appends what has changed, to be written for the commit `generation`.
  mutating func takeChanges(generation: UInt64, into changes: inout [KeyChange]) {
    guard let first = firstChanged else { return }
    if isLoaded || removedBelow == 0 { dirtyGeneration = generation }
    changes.append(change(of: first))
    if !othersChanged.isEmpty {
      for variant in othersChanged { changes.append(change(of: variant)) }
      othersChanged = []
    }
    firstChanged = nil
    mayBeRecorded = true
  }

  private func change(of variant: UInt64) -> KeyChange {
    KeyChange(hash: key.hash, variant: variant, entry: entry(variant), mayBeRecorded: mayBeRecorded)
  }

  /// Another key has the same hash, and is known from now on. What there was has been buried.
  mutating func makeWay(for other: CacheKey) {
    key = other
    isLoaded = false
    mayBeRecorded = true
    removedBelow = 0
    wasUsed = true
  }

  /// All variants that something is known of.
  var variants: [UInt64] { entries.map(\.variant) + buried }

  /// Puts an entry in, in the place of the one with its variant.
  mutating func put(_ entry: StoredEntry) {
    remove(entry.variant)
    entries.append(entry)
  }

  /// Takes out what there is of a variant, and notes that it was.
  mutating func bury(_ variant: UInt64) {
    remove(variant)
    buried.insert(variant)
  }

  private mutating func remove(_ variant: UInt64) {
    if !entries.isEmpty { entries.removeAll { $0.variant == variant } }
    if !buried.isEmpty { buried.remove(variant) }
  }
}
