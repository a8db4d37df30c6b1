// Making room: what was not used for longest goes first.
import CachePolicy
import Diagnostics
import Glibc
import Spans
import Synchronization

extension IndexThread {
  /// Evicts when the high watermark is passed, or when somebody waits for more room than there is: down to the low
  /// watermark, or until nothing is left to evict. Room comes with the commit that follows; whoever waits is told when
  /// there is enough, or no hope.
  func makeRoom() {
    repeat { evict(for: wantedRoom) } while giveRoom()
  }

  private func evict(for wanted: UInt64) {
    let account = engine.space.current
    let isShort = wanted > 0 && !engine.space.fits(wanted)
    guard isShort || engine.space.isAboveHigh || account.deviceFree == 0 else { return }
    for _ in 0..<16 {
      reclaimPacks(atLeast: 0.3)
      let excess = engine.space.excess(wanted: wanted)
      let coming = coming
      guard excess > coming else { break }
      var freed = evictOversized(excess - coming)
      if freed < excess - coming { freed += evictOldest(excess - coming - freed) }
      reclaimPacks(atLeast: 0.1)
      if freed == 0 { break }
    }
    if gathering.freeing != (0, 0) { seal() }
  }

  /// Room for all who wait, but not a quarter of the store at once: many that wait would clear it.
  private var wantedRoom: UInt64 {
    let together = roomWaiters.reduce(UInt64(0)) { $0.saturatingAdd($1.bytes) }
    let largest = roomWaiters.reduce(unplacedBytes) { max($0, $1.bytes) }
    return max(largest, min(together, engine.space.capacity / 4))
  }

  /// Bytes that will be free when the commits under way are done.
  private var coming: UInt64 {
    let first = gathering.freeing
    let second = inFlight?.freeing ?? (files: 0, packs: 0)
    // While copies are under way dead items cannot be reclaimed, but will be.
    return first.files + first.packs + second.files + second.packs + (hasCopies ? packs.deadBytes : 0)
  }

  /// Promises what room there is to who waits for it, here and now: of several that were told of the same, one would find
  /// it. Who can hope for none is told so.
  ///
  /// - Returns: whether more is to be evicted for those that are left.
  private func giveRoom() -> Bool {
    guard !roomWaiters.isEmpty else { return false }
    let waiters = roomWaiters
    roomWaiters = []
    for waiter in waiters {
      if engine.takesIn, engine.space.reserve(waiter.bytes) {
        waiter.done(Reservation(space: engine.space, bytes: waiter.bytes))
      } else {
        roomWaiters.append(waiter)
      }
    }
    if roomWaiters.count < waiters.count, !roomWaiters.isEmpty { return true }
    guard coming == 0 || !engine.takesIn else { return false }
    for waiter in roomWaiters { waiter.done(nil) }
    roomWaiters = []
    return false
  }

  /// What takes half the store or more while it is in use gives up what its readers have behind them, before anything
  /// else has to go for it: so an object larger than the store can pass through.
  private func evictOversized(_ excess: UInt64) -> UInt64 {
    let threshold = engine.space.capacity / 2
    var freed: UInt64 = 0
    for representation in engine.registry.all() where freed < excess {
      let isOversized = representation.state.withLock { $0.allocated >= threshold && $0.isInUse && $0.body == .file }
      if isOversized { freed += evictParts(of: representation, excess - freed) }
    }
    return freed
  }

  private func evictOldest(_ excess: UInt64) -> UInt64 {
    var freed: UInt64 = 0
    var batch = Operations()
    var spared = 0
    while freed < excess, spared < 256 {
      let candidates = usage.oldest(64)
      if candidates.isEmpty { break }
      for id in candidates where freed < excess {
        let representation = engine.registry.find(id)
        let size = usage.allocated(id) ?? 0
        if let representation, representation.state.withLock({ $0.isInUse }) {
          freed += evictParts(of: representation, excess - freed)
          // It is being used: not the oldest any more.
          _ = usage.use(id, allocated: nil)
          spared += 1
          continue
        }
        let packedBefore = packs.liveBytes
        guard evictWhole(id, representation, size, &batch) else {
          _ = usage.use(id, allocated: nil)
          spared += 1
          continue
        }
        let gone = size + packedBefore - packs.liveBytes
        freed += max(gone, 1)
        engine.counters.evictions.add(1)
        engine.counters.evictedBytes.add(Int(gone))
      }
    }
    flushKeys(&batch)
    add(batch)
    return freed
  }

  /// Removes a representation and the responses that refer to it. False when somebody has begun to use it.
  private func evictWhole(
    _ id: UInt64, _ representation: Representation?, _ size: UInt64, _ batch: inout Operations
  ) -> Bool {
    var key: KeyHash?
    var places: [Extent] = []
    var allocated = size
    var hasFile = false
    if representation == nil, engine.registry.isDeparting(id) { return false }
    if let representation {
      let isFree = representation.state.withLock { state -> Bool in
        guard !state.isInUse else { return false }
        state.phase = .gone
        key = state.key
        places = state.packedExtents
        allocated = state.allocated
        hasFile = state.hasFile
        return true
      }
      guard isFree else { return false }
    }
    if key == nil {
      let row = try? engine.index.read { $0.get(.usage, IndexKey.representation(id)) }
      key = row.flatMap { $0 }.flatMap { try? UsageRecord.decode($0.span.bytes) }?.key
    }
    if let key {
      _ = engine.keys.remove(key) { $0.representation.id == id }
      try? engine.index.read { reader in
        reader.scan(.responses, prefix: IndexKey.key(key)) { row, value in
          guard let variant = IndexKey.variant(row), let decoded = try? ResponseRecord.decodeSubject(value),
            decoded.representation == id
          else { return }
          _ = engine.keys.bury(CacheKey(stored: decoded.key), variant: variant) { $0.representation.id == id }
        }
      }
    }
    delete(Deletion(id: id, places: places, isRecorded: true, allocated: allocated, hasFile: hasFile), &batch)
    return true
  }

  /// Removes the segments of a representation in use that no reader and no writer needs, from the first on. Their blocks
  /// go after the commit that says so; until then nobody may write there.
  private func evictParts(of representation: Representation, _ excess: UInt64) -> UInt64 {
    // Without that a part's blocks go with the whole file only.
    guard engine.cannotPunch.value == 0 else { return 0 }
    var freed: UInt64 = 0
    var segments: [UInt64] = []
    for number in representation.unprotectedSegments(limit: 4096) where freed < excess {
      let isLoaded = representation.state.withLock { $0.segments[number]?.isLoaded == true }
      guard isLoaded || engine.loadSegment(of: representation, number) else { continue }
      let charge = representation.state.withLock { state -> Int64 in
        guard !state.isProtected(number), !state.punching.contains(number) else { return 0 }
        let (removed, charge) = state.remove(from: number) { _ in true }
        if !removed.isEmpty { state.punching.insert(number) }
        return removed.isEmpty ? 0 : min(charge, -1)
      }
      guard charge < 0 else { continue }
      segments.append(number)
      freed += UInt64(-charge)
    }
    guard !segments.isEmpty else { return 0 }
    gathering.doomed.append(.segments(representation, segments, allocated: freed))
    // The rows must go with this commit, not with one after it.
    var batch = Operations()
    encode(representation, &batch)
    add(batch)
    engine.counters.evictions.add(segments.count)
    engine.counters.evictedBytes.add(Int(freed))
    return freed
  }
}

extension Representation {
  /// Segments with bytes that nobody needs now, in ascending order.
  func unprotectedSegments(limit: Int) -> [UInt64] {
    state.withLock { state in
      var found: [UInt64] = []
      for span in state.touched.spans {
        for number in span.lower..<span.upper where !state.isProtected(number) {
          found.append(number)
          if found.count == limit { return found }
        }
      }
      return found
    }
  }
}

extension RepresentationState {
  /// Whether a reader still has to send bytes of this segment, or a writer is in it.
  func isProtected(_ number: UInt64) -> Bool {
    let segment = ByteSpan(number * Segment.size, (number + 1) * Segment.size)
    if pins.values.contains(where: { $0.overlaps(segment) }) { return true }
    return writers.values.contains { Segment.number(of: $0.lower) <= number && number <= Segment.number(of: $0.upper) }
  }
}
