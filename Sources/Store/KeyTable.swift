// The cache keys that are in memory, and a fingerprint of each that is only on the disk.
import CachePolicy
import Synchronization

/// What has changed of a key, to be made durable.
struct KeyChange {
  let hash: KeyHash
  let variant: UInt64
  /// What is stored now.
  let entry: StoredEntry?
  /// Whether the index may have a row of it.
  let mayBeRecorded: Bool
}

/// Keys spread over locks by their hash.
final class KeyTable: Sendable {
  struct Shard {
    var states: [KeyHash: KeyState] = [:]
    /// Of keys the index may have, once it has been read; also of those in memory.
    var fingerprints = Fingerprints()
    /// Keys with changes, each once.
    var changed: [KeyHash] = []
    /// Keys in about the order they came in; a key may stand here more than once.
    var queue: [KeyHash] = []
    var queueHead = 0
    var cost = 0
    /// Not before the cost is this is it worth looking again for what could be forgotten.
    var shrinkAt = 0
  }

  /// What a look-up in memory says.
  enum Lookup {
    case known([StoredEntry])
    case onDisk
  }

  private final class Lane: Sendable {
    let shard = Mutex(Shard())
  }

  private let lanes: [Lane] = (0..<16).map { _ in Lane() }
  /// Whether the fingerprints of all keys in the index are there.
  let isWarm = Atomic<Bool>(false)
  private let committed: Atomic<UInt64> = Atomic(0)
  private let costLimit: Int

  init(costLimit: Int) { self.costLimit = max(1, costLimit / 16) }

  private func withShard<Value>(_ hash: KeyHash, _ body: (inout sending Shard) -> sending Value) -> sending Value {
    lanes[Int(truncatingIfNeeded: hash.low & 15)].shard.withLock(body)
  }

  func lookup(_ key: CacheKey) -> Lookup {
    withShard(key.hash) { shard in
      if let index = shard.states.index(forKey: key.hash) {
        return shard.states.values[index].use(for: key).map { .known($0) } ?? .onDisk
      }
      if isWarm.load(ordering: .acquiring), !shard.fingerprints.contains(key.hash.high) { return .known([]) }
      return .onDisk
    }
  }

  /// Takes in what the index has; what was changed meanwhile stays. Returns all entries of the key, and those that turn
  /// out to have been removed.
  func load(_ key: CacheKey, _ found: [StoredEntry]) -> (entries: [StoredEntry], removed: Replaced) {
    withShard(key.hash) { shard in
      var state = shard.states[key.hash] ?? KeyState(key: key, isLoaded: false)
      guard state.key == key else { return ([], Replaced()) }
      var removed = Replaced()
      if !state.isLoaded {
        for entry in found where !state.knows(entry.variant) {
          if entry.representation.id < state.removedBelow {
            removed.entries.append(entry)
            state.bury(entry.variant)
            note(entry.variant, &state, &shard)
          } else {
            state.put(entry)
          }
        }
        state.isLoaded = true
        if state.removedBelow > 0 {
          // What kept it from being forgotten is done once these are written (again).
          state.removedBelow = 0
          for variant in state.buried { note(variant, &state, &shard) }
          // What was stored under it meanwhile is in the commit after the one in flight at the latest.
          if !state.hasChanges { state.dirtyGeneration = committed.load(ordering: .relaxed) + 2 }
        }
      }
      keep(state, &shard)
      return (state.entries, removed)
    }
  }

  /// Takes all entries of a key out. What only the index has, of representations numbered below `limit`, is removed when
  /// it is loaded; true if that is still to be done.
  func removeAll(_ key: CacheKey, below limit: UInt64) -> (removed: Replaced, mustLoad: Bool) {
    withShard(key.hash) { shard in
      if shard.states[key.hash] == nil, isUnknown(key.hash, shard) { return (Replaced(), false) }
      var state = shard.states[key.hash] ?? KeyState(key: key, isLoaded: false)
      guard state.key == key else { return (Replaced(), false) }
      var removed = Replaced()
      for entry in state.entries {
        removed.entries.append(entry)
        state.bury(entry.variant)
        note(entry.variant, &state, &shard)
      }
      if !state.isLoaded { state.removedBelow = limit }
      // Not to be forgotten before it is done.
      state.dirtyGeneration = .max
      keep(state, &shard)
      return (removed, !state.isLoaded)
    }
  }

  /// What a change put aside.
  struct Replaced {
    var entries: [StoredEntry] = []
  }

  /// Puts an entry in; returns the one it replaces, if that is known.
  func put(_ entry: StoredEntry) -> Replaced {
    let hash = entry.key.hash
    return withShard(hash) { shard in
      var state = shard.states[hash] ?? KeyState(key: entry.key, isLoaded: isUnknown(hash, shard))
      var replaced = Replaced()
      if state.key != entry.key {
        // Another key with the same 128 bits: it makes way.
        replaced.entries = state.entries
        for variant in state.variants {
          state.bury(variant)
          note(variant, &state, &shard)
        }
        state.makeWay(for: entry.key)
      } else if let old = state.entry(entry.variant) {
        replaced.entries = [old]
      }
      state.put(entry)
      note(entry.variant, &state, &shard)
      keep(state, &shard)
      shard.fingerprints.insert(hash.high)
      return replaced
    }
  }

  /// Takes entries out for which it is true; returns them.
  func remove(_ hash: KeyHash, where isRemoved: (StoredEntry) -> Bool) -> Replaced {
    withShard(hash) { shard in
      guard var state = shard.states[hash] else { return Replaced() }
      var replaced = Replaced()
      for entry in state.entries where isRemoved(entry) {
        replaced.entries.append(entry)
        state.bury(entry.variant)
        note(entry.variant, &state, &shard)
      }
      if !replaced.entries.isEmpty { keep(state, &shard) }
      return replaced
    }
  }

  /// Whether a response of the key that is in memory has this representation.
  func refers(_ hash: KeyHash, to representation: Representation) -> Bool {
    withShard(hash) { shard in
      shard.states[hash]?.entries.contains { $0.representation === representation } ?? false
    }
  }

  /// Whether memory knows what is, or will be, in a key's row of the index.
  func overrides(_ hash: KeyHash, variant: UInt64) -> Bool {
    withShard(hash) { $0.states[hash]?.knows(variant) ?? false }
  }

  /// Notes that a variant the index has is to go, whether it is in memory or not.
  func bury(_ key: CacheKey, variant: UInt64, where isRemoved: (StoredEntry) -> Bool) -> StoredEntry? {
    withShard(key.hash) { shard in
      var state = shard.states[key.hash] ?? KeyState(key: key, isLoaded: false)
      guard state.key == key else { return nil }
      let present = state.entry(variant)
      if let present, !isRemoved(present) { return nil }
      state.bury(variant)
      note(variant, &state, &shard)
      keep(state, &shard)
      return present
    }
  }

  /// The changes since the last call.
  func takeChanges(generation: UInt64) -> [KeyChange] {
    var taken: [KeyChange] = []
    for lane in lanes {
      taken += lane.shard.withLock { shard in
        var changes: [KeyChange] = []
        changes.reserveCapacity(shard.changed.count)
        for hash in shard.changed {
          // What has changed is not forgotten before it is durable.
          guard let index = shard.states.index(forKey: hash) else { continue }
          shard.states.values[index].takeChanges(generation: generation, into: &changes)
        }
        shard.changed.removeAll(keepingCapacity: shard.changed.count < 4096)
        return changes
      }
    }
    return taken
  }

  func hasChanges() -> Bool {
    lanes.contains { lane in lane.shard.withLock { !$0.changed.isEmpty } }
  }

  /// Everything up to this commit is durable: those keys may be forgotten.
  func didCommit(_ generation: UInt64) { committed.store(generation, ordering: .relaxed) }

  /// Notes a key that the index has.
  func note(_ hash: KeyHash) {
    withShard(hash) { shard in shard.fingerprints.insert(hash.high) }
  }

  /// Notes that the index has nothing under a key any more, unless something was stored meanwhile.
  func forget(_ hash: KeyHash) {
    withShard(hash) { shard in
      if let state = shard.states[hash], !state.entries.isEmpty { return }
      shard.fingerprints.remove(hash.high)
    }
  }

  var count: Int { lanes.reduce(0) { sum, lane in sum + lane.shard.withLock { $0.fingerprints.count } } }

  /// Whether the index certainly has nothing under this key.
  private func isUnknown(_ hash: KeyHash, _ shard: Shard) -> Bool {
    isWarm.load(ordering: .acquiring) && !shard.fingerprints.contains(hash.high)
  }

  /// Notes that a variant has changed. The state is to be kept.
  private func note(_ variant: UInt64, _ state: inout KeyState, _ shard: inout Shard) {
    if state.noteChange(of: variant) { shard.changed.append(state.key.hash) }
  }

  private func keep(_ state: KeyState, _ shard: inout Shard) {
    var state = state
    let hash = state.key.hash
    // That of one that is not in the table yet is 0, and no other's.
    let before = state.cost
    state.cost = state.entries.reduce(160 + state.key.text.utf8.count) { $0 + $1.cost }
    shard.cost += state.cost - before
    shard.states[hash] = state
    if before == 0 { shard.queue.append(hash) }
    if shard.cost > max(costLimit, shard.shrinkAt) { shrink(&shard) }
  }

  /// Forgets keys that were not used for long and have nothing uncommitted; looks at a bounded number.
  private func shrink(_ shard: inout Shard) {
    let committed = committed.load(ordering: .relaxed)
    var looked = 0
    while shard.cost > costLimit, looked < 64, shard.queueHead < shard.queue.count {
      let hash = shard.queue[shard.queueHead]
      shard.queueHead += 1
      looked += 1
      guard let index = shard.states.index(forKey: hash) else { continue }
      if shard.states.values[index].wasUsed || shard.states.values[index].dirtyGeneration > committed {
        shard.states.values[index].wasUsed = false
        shard.queue.append(hash)
      } else {
        shard.cost -= shard.states.values[index].cost
        shard.states.remove(at: index)
      }
    }
    if shard.queueHead > 1024, shard.queueHead * 2 > shard.queue.count {
      shard.queue.removeFirst(shard.queueHead)
      shard.queueHead = 0
    }
    // Where all are in use or uncommitted, the next look is a while off.
    shard.shrinkAt = shard.cost > costLimit ? shard.cost + costLimit / 64 : 0
  }
}
