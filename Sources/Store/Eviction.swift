// Making room: what was not used for longest goes first.
import CachePolicy
import Diagnostics
import Glibc
import Spans
import Synchronization

extension IndexThread {
  /// Evicts until the low watermark is reached with `wanted` more bytes promised, or nothing is left to evict.
  ///
  /// Does nothing while the high watermark is not passed and what is wanted fits.
  func evict(wanted: UInt64) {
    for _ in 0..<16 {
      let mustEvict = wanted > 0 ? !engine.space.fits(wanted) || engine.space.isAboveHigh : engine.space.isAboveHigh
      guard mustEvict || engine.space.current.deviceFree == 0 else { return }
      reclaimPacks(atLeast: 0.3)
      let excess = engine.space.excess(wanted: wanted)
      guard excess > 0 else { return }
      var freed = evictOversized(excess)
      if freed < excess { freed += evictOldest(excess - freed) }
      commit()
      reclaimPacks(atLeast: 0.1)
      lookAtDevice()
      if freed == 0 { return }
    }
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
    if let representation {
      let isFree = representation.state.withLock { state -> Bool in
        guard !state.isInUse else { return false }
        if state.phase == .stored { state.phase = .gone }
        key = state.key
        places = state.packedExtents
        allocated = state.allocated
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
          guard let variant = IndexKey.variant(row), let decoded = try? ResponseRecord.decode(value),
            decoded.representation == id
          else { return }
          _ = engine.keys.bury(CacheKey(stored: decoded.key), key, variant: variant) { $0.representation.id == id }
        }
      }
    }
    delete(Deletion(id: id, places: places, isRecorded: true, allocated: allocated), &batch)
    return true
  }

  /// Removes the segments of a representation in use that no reader and no writer needs, from the first on. The index
  /// says so durably before the blocks go.
  private func evictParts(of representation: Representation, _ excess: UInt64) -> UInt64 {
    representation.fileGate.withLock { _ in
      var freed: UInt64 = 0
      var punched: [UInt64] = []
      for number in representation.unprotectedSegments(limit: 4096) where freed < excess {
        let isLoaded = representation.state.withLock { $0.segments[number]?.isLoaded == true }
        guard isLoaded || engine.loadSegment(of: representation, number) else { continue }
        let charge = representation.state.withLock { state -> Int64 in
          guard !state.isProtected(number) else { return 0 }
          let (removed, charge) = state.remove(from: number) { _ in true }
          guard !removed.isEmpty else { return 0 }
          state.punching.insert(number)
          return charge
        }
        guard charge < 0 else { continue }
        punched.append(number)
        freed += UInt64(-charge)
      }
      guard !punched.isEmpty else { return 0 }
      engine.noteChange(representation)
      flushNow()
      commit()
      let file = try? engine.openFile(of: representation, makes: false)
      for number in punched {
        if let file, engine.isFailing.value == 0 {
          do throws(SystemError) {
            try engine.calls.punch(file.descriptor, offset: number * Segment.size, count: Segment.size)
          } catch {
            engine.counters.writeErrors.add(1)
            engine.log.warning(
              "cache: freeing a part of \(engine.layout.body(representation.id)) failed: \(error.explanation)")
          }
        }
        representation.state.withLock { _ = $0.punching.remove(number) }
        engine.counters.evictions.add(1)
      }
      engine.counters.evictedBytes.add(Int(freed))
      let amount = freed
      engine.space.change { $0.files -= min($0.files, amount) }
      return freed
    }
  }

  /// Takes what is in the box into a batch now.
  private func flushNow() {
    flush(engine.inbox.takeChanges())
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
