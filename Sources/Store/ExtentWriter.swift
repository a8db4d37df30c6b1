// Writing bytes into a representation as they come from upstream.
import Glibc
import Spans
import Synchronization

/// Appends bytes to a representation, for one fill on one loop.
///
/// Bytes go to memory or straight to the page cache, and readers see them when `write` returns. When the disk throttles,
/// or the file is not open yet, they are kept here instead: `needsDrain` is true, and readers see them after `drain`.
/// Bytes that are present already are passed over: nothing is stored twice.
public final class ExtentWriter {
  private let representation: Representation
  private let engine: Engine
  private let token: Int
  private var isFinished = false
  private var sum = StreamedChecksum()
  /// The open extent `[opened, offset)`, or nothing when they are equal.
  private var opened: UInt64
  /// Up to here no byte is present, so that no look-up is needed.
  private var freeUpTo: UInt64
  /// How often the file had been distrusted when the open extent began.
  private var knownDistrusts: Int
  /// Bytes for `[recorded, offset)` that wait for `drain`, and what keeps eviction from where they go.
  private var pending: [UInt8] = []
  private let pendingToken: Int
  /// Where the next byte goes.
  public private(set) var offset: UInt64

  /// Up to here the file was given blocks.
  private var allocated: UInt64 = 0
  /// Blocks are given to pieces of these sizes, in bytes.
  private static let leastAhead: UInt64 = 1 << 20
  private static let mostAhead: UInt64 = 8 << 20
  /// So many bytes are worth a disk thread's turn.
  private static let gathered = 1 << 20

  /// Where written bytes are taken from; without one they are written only while the store has room to spare.
  public var reservation: Reservation?

  init(_ representation: Representation, at offset: UInt64) {
    self.representation = representation
    self.offset = offset
    engine = representation.engine
    opened = offset
    freeUpTo = offset
    (token, pendingToken, knownDistrusts) = representation.state.withLock { state in
      let tokens = (state.token(), state.token())
      state.writers[tokens.0] = ByteSpan(offset, offset)
      return (tokens.0, tokens.1, state.distrusts)
    }
  }

  deinit { unregister() }

  /// Whether bytes wait for `drain`.
  public var needsDrain: Bool { !pending.isEmpty }

  /// How many bytes wait for `drain`: they are to be taken from the reservation.
  public var keptBytes: UInt64 { UInt64(pending.count) }

  /// Whether more bytes, where they are at hand, should be written before `drain`: each takes two changes of threads.
  public var hasRoomToGather: Bool { pending.count < Self.gathered }

  /// Appends bytes at `offset`. They are visible to readers on return, or after `drain()` if `needsDrain`.
  ///
  /// Where it throws (`noSpace`, `readOnly`, `io`; `absent` when the representation is gone), what was written before
  /// stays and `offset` is behind the last byte of it.
  public func write(_ bytes: RawSpan) throws(StoreError) {
    // What was free the last time may have been brought by another writer since.
    freeUpTo = min(freeUpTo, offset)
    var taken = 0
    while taken < bytes.byteCount {
      let rest = bytes.extracting(taken..<bytes.byteCount)
      if offset >= freeUpTo, pending.isEmpty, let skipped = try findFree(rest.byteCount) {
        taken += skipped
        continue
      }
      let free = pending.isEmpty ? freeUpTo - offset : UInt64(rest.byteCount)
      let count = Int(min(UInt64(rest.byteCount), free))
      let part = rest.extracting(0..<count)
      try take(part)
      taken += count
    }
  }

  /// Hands what `write` kept to the disk threads and waits until readers can see it.
  public func drain() async throws(StoreError) {
    while !pending.isEmpty {
      let bytes = pending
      let start = offset - UInt64(bytes.count)
      let (representation, engine) = (representation, engine)
      let ahead = spanAhead(from: start)
      let outcome = await engine.pool.run { () -> Result<Engine.WrittenTo, StoreError> in
        do throws(StoreError) {
          return .success(try engine.writeThrough(bytes, at: start, of: representation, ahead: ahead))
        } catch {
          return .failure(error)
        }
      }
      pending = []
      offset = start
      defer { if pending.isEmpty { representation.state.withLock { $0.writers[pendingToken] = nil } } }
      switch outcome {
      case .success(.memory): try write(bytes.span.bytes)
      case .success(.file):
        if let ahead { allocated = ahead.upper }
        endExtentIfDistrusted()
        try recordWritten(bytes)
      case .failure(let error):
        engine.noteWriteError(error, representation)
        close(at: start)
        throw error
      }
    }
  }

  /// Notes bytes that a disk thread wrote to the file. What became present meanwhile had the same value.
  private func recordWritten(_ bytes: [UInt8]) throws(StoreError) {
    freeUpTo = min(freeUpTo, offset)
    var taken = 0
    while taken < bytes.count {
      if offset >= freeUpTo, let skipped = try findFree(bytes.count - taken) {
        taken += skipped
        continue
      }
      let count = Int(min(UInt64(bytes.count - taken), freeUpTo - offset))
      bytes.withUnsafeBytes {
        _ = record(UnsafeRawBufferPointer(rebasing: $0[taken..<taken + count]), isInMemory: false)
      }
      taken += count
    }
  }

  /// Ends the open extent. Bytes that wait for `drain` are dropped: nobody has seen them.
  public func finish() {
    let end = offset - UInt64(pending.count)
    pending = []
    close(at: end)
    unregister()
  }

  private func close(at position: UInt64) {
    offset = position
    opened = position
    freeUpTo = position
    sum.reset()
    representation.state.withLock { $0.writers[token] = ByteSpan(position, position) }
  }

  /// Looks up what is free from `offset` on; returns how many of the next `count` bytes are present and passed over.
  private func findFree(_ count: Int) throws(StoreError) -> Int? {
    enum Place {
      case gone
      case present(UInt64)
      case free(UInt64)
    }
    let place = representation.state.withLock { state -> Place in
      guard state.phase != .gone else { return .gone }
      let number = Segment.number(of: offset)
      let end = (number + 1) * Segment.size
      guard let segment = state.segments[number] else { return .free(end) }
      if let present = segment.presentEnd(from: offset, limit: end) { return .present(present) }
      return .free(segment.nextLower(after: offset) ?? end)
    }
    switch place {
    case .gone: throw .absent
    case .present(let end):
      let skipped = min(end - offset, UInt64(count))
      close(at: offset + skipped)
      return Int(skipped)
    case .free(let end):
      freeUpTo = end
      return nil
    }
  }

  /// Writes bytes none of which is present, or keeps them.
  private func take(_ bytes: RawSpan) throws(StoreError) {
    guard engine.mayWrite(reservation, UInt64(bytes.byteCount)) else { throw .noSpace }
    if !pending.isEmpty {
      return try keep(bytes)
    }
    enum Way {
      case memory
      case file(OpenFile)
      case later
      case none
    }
    let end = offset + UInt64(bytes.byteCount)
    let way = representation.state.withLock { state -> Way in
      switch state.body {
      case .memory:
        guard end <= UInt64(engine.options.smallBody), state.buffer != nil || state.presentBytes == 0 else {
          return .later
        }
        return .memory
      case .file:
        state.fileWasUsed = true
        guard !state.punching.contains(Segment.number(of: offset)) else { return .none }
        guard !state.ahead.isReturning else { return .later }
        return state.file.map(Way.file) ?? .later
      }
    }
    switch way {
    case .later: try keep(bytes)
    case .none:
      // What was here has just made room for others, and its blocks are still to be freed.
      throw .noSpace
    case .memory:
      // It may have become a file's in between.
      if !bytes.withUnsafeBytes({ record($0, isInMemory: true) }) { try keep(bytes) }
    case .file(let file):
      if engine.throttle.isClosed {
        engine.counters.throttledWrites.add(1)
        return try keep(bytes)
      }
      if file.wasCut(engine.calls) { engine.distrust(representation, path: engine.layout.body(representation.id)) }
      endExtentIfDistrusted()
      if let ahead = spanAhead(from: offset) {
        allocated = ahead.upper
        representation.state.withLock { $0.ahead.add(ahead) }
        engine.pool.submit { [engine, representation] in engine.allocate(ahead, of: representation, file) }
      }
      let outcome = bytes.withUnsafeBytes { pointer -> Result<Void, SystemError> in
        do throws(SystemError) {
          try engine.throttle.watch { () throws(SystemError) in
            try engine.calls.write(pointer, to: file.descriptor, at: offset)
          }
          return .success(())
        } catch {
          return .failure(error)
        }
      }
      switch outcome {
      case .success:
        file.noteWritten(upTo: end)
        bytes.withUnsafeBytes { _ = record($0, isInMemory: false) }
      case .failure(let error):
        engine.noteWriteError(StoreError(error), representation)
        throw StoreError(error)
      }
    }
  }

  /// What the open extent holds already may be gone from the file: the next bytes begin another.
  private func endExtentIfDistrusted() {
    let distrusts = representation.state.withLock { $0.distrusts }
    guard distrusts != knownDistrusts else { return }
    knownDistrusts = distrusts
    close(at: offset)
  }

  /// Keeps bytes for `drain`.
  private func keep(_ bytes: RawSpan) throws(StoreError) {
    let span = ByteSpan(offset - UInt64(pending.count), offset + UInt64(bytes.byteCount))
    let isFree = representation.state.withLock { state -> Bool in
      let segments = Segment.number(of: span.lower)...Segment.number(of: span.upper)
      guard !state.punching.contains(where: segments.contains) else { return false }
      state.writers[pendingToken] = span
      return true
    }
    guard isFree else { throw .noSpace }
    bytes.withUnsafeBytes { pending.append(contentsOf: $0) }
    offset += UInt64(bytes.byteCount)
  }

  private func unregister() {
    let surplus = representation.state.withLock { state in
      state.writers[token] = nil
      state.writers[pendingToken] = nil
      return state.takeSurplus()
    }
    guard !surplus.isEmpty else { return }
    engine.pool.submit { [engine, representation] in engine.giveBack(surplus, of: representation) }
  }

  /// What is to get its blocks before it is written: what is promised, shortly before the last such bytes are used up.
  private func spanAhead(from position: UInt64) -> ByteSpan? {
    guard let reservation, allocated < position + Self.leastAhead, engine.cannotAllocate.value == 0 else { return nil }
    let promised = position + min(reservation.remaining, Self.mostAhead)
    // Of one that has no known end nobody knows how much will come.
    guard let total = representation.total else { return nil }
    let span = ByteSpan(max(position, allocated), max(position, allocated, min(promised, total)))
    return span.count >= Self.leastAhead ? span : nil
  }

  /// Notes bytes as present that have just been written, or that are put into memory here, extent by extent. False,
  /// and nothing happened, when they are for memory and the body has moved to a file.
  private func record(_ bytes: UnsafeRawBufferPointer, isInMemory: Bool) -> Bool {
    var pieces: [(lower: UInt64, upper: UInt64, checksum: UInt64)] = []
    var done = 0
    let start = offset
    while done < bytes.count {
      let boundary = (offset / Extent.largest + 1) * Extent.largest
      let count = min(bytes.count - done, Int(boundary - offset))
      sum.update(UnsafeRawBufferPointer(rebasing: bytes[done..<done + count]))
      offset += UInt64(count)
      done += count
      pieces.append((opened, offset, sum.value))
      if offset == boundary {
        opened = offset
        sum.reset()
      }
    }
    guard engine.record(representation, pieces, from: start, writer: token, memory: isInMemory ? bytes : nil)
    else {
      close(at: start)
      return false
    }
    engine.counters.bytesWritten.add(bytes.count)
    reservation?.consume(UInt64(bytes.count))
    return true
  }
}
