// What is in memory of one cache key.
import CachePolicy

/// What is known of one key. Whatever has not been committed is always here, so that the index is never asked for it.
struct KeyState {
  /// What is stored under it, each with a variant of its own. Hardly ever more than one.
  private(set) var entries: [StoredEntry] = []
  /// The variants that were removed and that the index may still have. A client that makes up variants makes many.
  private(set) var buried: Set<UInt64> = []
  let key: CacheKey
  /// Whether the variants are all there are.
  var isLoaded: Bool
  /// The commit that brings the last change to the disk; `.max` before one is known.
  var dirtyGeneration: UInt64 = 0
  /// While not loaded: what the index has of representations with smaller numbers has been removed.
  var removedBelow: UInt64 = 0
  var wasUsed = true
  var cost = 0

  init(key: CacheKey, isLoaded: Bool) {
    self.key = key
    self.isLoaded = isLoaded
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
    entries.removeAll { $0.variant == variant }
    buried.remove(variant)
  }
}
