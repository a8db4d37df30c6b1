// Reading a representation's bytes: what may be sent at once, and what the disk threads bring in first.
import Glibc
public import Spans
import Synchronization

/// Bytes that can be sent without waiting for the disk.
public enum StoredBytes: Sendable {
  /// Bytes in memory; never empty.
  case memory(ArraySlice<UInt8>)
  /// A region of a file; `count` is never 0.
  case file(OpenFile, offset: UInt64, count: Int)

  /// How many bytes.
  public var count: Int {
    switch self {
    case .memory(let bytes): bytes.count
    case .file(_, _, let count): count
    }
  }

  /// Copies the bytes out; nil when the file gives fewer than it should. For small parts and tests: blocks on a disk.
  public func copied() -> [UInt8]? {
    switch self {
    case .memory(let bytes): return Array(bytes)
    case .file(let file, let offset, let count):
      var bytes = [UInt8](repeating: 0, count: count)
      let calls = SystemCalls()
      let got = bytes.withUnsafeMutableBytes { try? calls.read(into: $0, from: file.descriptor, at: offset) }
      return got == count ? bytes : nil
    }
  }
}

extension Representation {
  /// The most bytes one call gives.
  static let window: UInt64 = 1 << 20

  private enum Step {
    case ready(StoredBytes)
    /// Checked bytes of an open file: ready if they are resident. All their extents were so a moment ago but those in
    /// `unseen`.
    case probe(OpenFile, ByteSpan, unseen: ByteSpan)
    case load(segment: UInt64)
    case bringIn(ByteSpan)
    case absent
  }

  /// What is present from `span.lower` on, at most 1 MiB and perhaps less than asked, never nothing; in memory or in the
  /// page cache, and checked since the store was opened.
  ///
  /// Returns without suspending when that is known to be so. Throws `absent` when the first byte is not there (it may
  /// have been evicted, or lost behind the store's back), `corrupted` when it was found not to be what was written and
  /// was dropped, `io` when the disk failed.
  public func bytes(in span: ByteSpan) async throws(StoreError) -> StoredBytes {
    guard !span.isEmpty else { throw .absent }
    var attempts = 0
    while attempts < 4 {
      attempts += 1
      switch state.withLock({ Self.step(&$0, span) }) {
      case .ready(let bytes): return bytes
      case .absent: throw .absent
      case .load(let segment):
        let isLoaded = await engine.pool.run { [self] in engine.loadSegment(of: self, segment) }
        guard isLoaded else { throw .io(EIO) }
      case .probe(let file, let window, let unseen):
        if isResident(file, window, unseen) {
          return .file(file, offset: window.lower, count: Int(window.count))
        }
        return try await broughtIn(window)
      case .bringIn(let window):
        return try await broughtIn(window)
      }
    }
    throw .absent
  }

  /// All bytes of `span`, where they can be sent without waiting and one piece holds them; nil where not. What is in a
  /// file is spared from eviction for as long as the pin lives.
  public func bytesAtOnce(in span: ByteSpan) -> (bytes: StoredBytes, pin: Pin?)? {
    guard !span.isEmpty else { return nil }
    let (step, token) = state.withLock { state -> (Step, Int?) in
      let step = Self.step(&state, span)
      guard case .probe = step else { return (step, nil) }
      return (step, state.pin(span))
    }
    let pin = token.map { Pin(self, token: $0) }
    switch step {
    case .ready(let bytes): return bytes.count == Int(clamping: span.count) ? (bytes, pin) : nil
    case .probe(let file, let window, let unseen):
      guard window == span, isResident(file, window, unseen) else { return nil }
      return (.file(file, offset: window.lower, count: Int(window.count)), pin)
    case .load, .bringIn, .absent: return nil
    }
  }

  private func broughtIn(_ window: ByteSpan) async throws(StoreError) -> StoredBytes {
    engine.counters.poolReads.add(1)
    let outcome = await engine.pool.run { [self] () -> Result<StoredBytes, StoreError> in
      do throws(StoreError) {
        return .success(try engine.bringIn(self, window))
      } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  /// Whether the bytes of `window` can be read without waiting for the disk, which is looked up only where it was not
  /// seen a moment ago.
  private func isResident(_ file: OpenFile, _ window: ByteSpan, _ unseen: ByteSpan) -> Bool {
    // There still, unless somebody has cut the file short; its length costs less than to touch a byte.
    if unseen.isEmpty { return (engine.calls.length(of: file.descriptor) ?? 0) >= window.upper }
    // Extents are seen as a whole or not at all.
    guard isFound(file, unseen) else { return isFound(file, window) }
    state.withLock { $0.noteResident(unseen, at: .now) }
    return true
  }

  /// Looks for a byte of every 128 KiB and the last one: read-ahead and writing bring in larger pieces than that.
  private func isFound(_ file: OpenFile, _ span: ByteSpan) -> Bool {
    var position = span.lower
    while position < span.upper {
      guard engine.calls.isResident(file.descriptor, at: position) else { return false }
      position += 128 << 10
    }
    return engine.calls.isResident(file.descriptor, at: span.upper - 1)
  }

  private static func step(_ state: inout RepresentationState, _ span: ByteSpan) -> Step {
    if state.phase == .gone { return .absent }
    let number = Segment.number(of: span.lower)
    guard state.touched.present(at: number) != nil else { return .absent }
    guard let segment = state.segments[number], segment.isLoaded || segment.extent(at: span.lower) != nil else {
      return .load(segment: number)
    }
    state.segments.change(number) { $0.wasUsed = true }
    let limit = min(span.upper, span.lower + window)
    guard let end = segment.presentEnd(from: span.lower, limit: limit) else { return .absent }
    let found = ByteSpan(span.lower, end)
    switch state.body {
    case .memory:
      guard let buffer = state.buffer else { return .bringIn(found) }
      state.bufferWasUsed = true
      return .ready(.memory(buffer[Int(found.lower)..<Int(found.upper)]))
    case .file:
      guard let file = state.file else { return .bringIn(found) }
      state.fileWasUsed = true
      // As much as has been checked; the rest is another call's.
      var place = segment.index(beyond: found.lower)
      var checkedEnd = found.lower
      var unseen: ByteSpan?
      let now = CoarseMoment.now
      while place < segment.extents.count, checkedEnd < found.upper, segment.extents[place].isChecked {
        let extent = segment.extents[place]
        if unseen != nil || !extent.seen.isJust(before: now) {
          unseen = ByteSpan(unseen?.lower ?? extent.lower, extent.upper)
        }
        checkedEnd = min(extent.upper, found.upper)
        place += 1
      }
      guard checkedEnd > found.lower else { return .bringIn(found) }
      return .probe(
        file, ByteSpan(found.lower, checkedEnd), unseen: unseen ?? ByteSpan(checkedEnd, checkedEnd))
    }
  }
}
