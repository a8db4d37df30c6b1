// Blocks for bytes that are about to be written: the kernel takes a third less time to write where they are there already.
// What is left of them without a writer is given back.
import Glibc
import Spans
import Synchronization

/// What of a file was given blocks before it was written.
struct AllocationAhead {
  /// Where the blocks are of no use without a writer.
  private(set) var spans = SpanSet()
  /// How many disk threads give blocks back, or are about to: until they are done who writes waits at the file's gate.
  private var returns = 0

  var isReturning: Bool { returns > 0 }

  mutating func add(_ span: ByteSpan) { spans.insert(span) }

  fileprivate mutating func beginReturn() {
    spans = SpanSet()
    returns += 1
  }

  fileprivate mutating func endReturn() { returns -= 1 }

  fileprivate mutating func forget() { spans = SpanSet() }
}

extension RepresentationState {
  /// What may have blocks that hold nothing, once the last writer has left; `Engine.giveBack` is to follow.
  mutating func takeSurplus() -> [ByteSpan] {
    guard writers.isEmpty, !ahead.spans.isEmpty else { return [] }
    let isOfUse = phase != .gone && total != presentBytes
    let surplus = isOfUse ? ahead.spans.spans.filter { mayLack($0) } : []
    if surplus.isEmpty { ahead.forget() } else { ahead.beginReturn() }
    return surplus
  }

  /// Whether bytes of `span` are absent, as far as can be told without the index.
  private mutating func mayLack(_ span: ByteSpan) -> Bool {
    let (gaps, needed) = gaps(in: span, limit: 1)
    return needed != nil || !gaps.isEmpty
  }
}

extension Engine {
  /// Gives blocks to `span` of the file, unless the last writer has left meanwhile. On a disk thread.
  func allocate(_ span: ByteSpan, of representation: Representation, _ file: OpenFile) {
    representation.fileGate.withLock { _ in
      guard representation.state.withLock({ $0.ahead.spans.contains(span) }) else { return }
      allocateNow(span, file)
    }
  }

  /// The same, for who holds the file's gate and is writing.
  func allocateNow(_ span: ByteSpan, _ file: OpenFile) {
    if !calls.allocate(file.descriptor, span) { cannotAllocate.set(1) }
  }

  /// Gives back the blocks of what is absent in `surplus`, unless somebody has begun to write meanwhile: then the last
  /// of those does. On a disk thread.
  func giveBack(_ surplus: [ByteSpan], of representation: Representation) {
    representation.fileGate.withLock { _ in
      // Who begins from here on comes to the gate first. Of one who has been here the bytes are perhaps written and not
      // noted yet.
      let isFree = representation.state.withLock { state in
        if !state.writers.isEmpty { for span in surplus { state.ahead.add(span) } }
        return state.writers.isEmpty
      }
      guard isFree, let file = try? openFile(of: representation, makes: false) else { return }
      for span in surplus { punchGaps(of: span, of: representation, file) }
      // Behind the end of the file there is nothing to punch for the kernel.
      if let end = surplus.last?.upper, let length = calls.length(of: file.descriptor), end > length {
        ftruncate(file.descriptor, off_t(length))
      }
    }
    representation.state.withLock { $0.ahead.endReturn() }
  }

  /// At the end of the store's use, when nobody writes any more: gives back what is left of fills that never ended.
  func giveBackAll() {
    for representation in registry.all() {
      let surplus = representation.state.withLock { state in
        guard state.hasFile else { return [ByteSpan]() }
        for span in state.writers.values { state.ahead.add(span) }
        state.writers = [:]
        return state.takeSurplus()
      }
      if !surplus.isEmpty { pool.submit { self.giveBack(surplus, of: representation) } }
    }
  }

  /// Whether a file of so many blocks has more of them than it is charged for, by more than a file system needs for
  /// itself.
  func hasSurplus(_ size: FileSize, _ allocated: UInt64) -> Bool {
    size.blocks > allocated + max(64 << 10, allocated / 64)
  }

  /// Frees the blocks of a file that hold nothing that is present, whoever has left them there, and charges those that
  /// the file system does not take back. May take long; not on a loop, nor on the index thread.
  func settle(_ representation: Representation) {
    let path = layout.body(representation.id)
    guard let size = calls.size(of: path) else { return }
    let surplus = representation.state.withLock { state in
      guard state.body == .file else { return [ByteSpan]() }
      // Where somebody is writing, the last to do so gives back.
      state.ahead.add(ByteSpan(0, max(size.length, state.total ?? 0, 1)))
      return state.takeSurplus()
    }
    if !surplus.isEmpty { giveBack(surplus, of: representation) }
    guard cannotPunch.value == 1, let left = calls.size(of: path) else { return }
    let charge = representation.state.withLock { state -> UInt64 in
      guard state.phase == .stored, state.writers.isEmpty, state.ahead.spans.isEmpty,
        hasSurplus(left, state.allocated)
      else { return 0 }
      let charge = left.blocks - state.allocated
      state.allocated = left.blocks
      state.isRecordDirty = true
      return charge
    }
    guard charge > 0 else { return }
    space.change { $0.files += charge }
    noteChange(representation)
  }

  /// Takes the blocks of a part of a file back; notes where the file system cannot.
  func punch(_ file: OpenFile, _ span: ByteSpan) throws(SystemError) {
    do throws(SystemError) {
      try calls.punch(file.descriptor, offset: span.lower, count: span.count)
    } catch {
      if error.code == EOPNOTSUPP || error.code == ENOSYS { cannotPunch.set(1) }
      throw error
    }
  }

  private func punchGaps(of span: ByteSpan, of representation: Representation, _ file: OpenFile) {
    var position = span.lower
    while position < span.upper {
      let (gaps, needed, kept) = representation.state.withLock { state in
        let (gaps, needed) = state.gaps(in: ByteSpan(position, span.upper), limit: 1)
        // Evicted parts go when the index does not claim them any more.
        var kept = state.dropped
        for number in state.punching { kept.insert(ByteSpan(number * Segment.size, (number + 1) * Segment.size)) }
        return (gaps, needed, kept)
      }
      guard let gap = gaps.first else {
        guard let needed, loadSegment(of: representation, needed) else { return }
        continue
      }
      position = gap.upper
      var free = SpanSet([gap])
      for span in kept.spans { free.remove(span) }
      for span in free.spans {
        // The blocks that the bytes before and behind it stand in are not its own.
        let (lower, upper) = ((span.lower + 4095) / 4096 * 4096, span.upper / 4096 * 4096)
        if lower < upper { try? punch(file, ByteSpan(lower, upper)) }
      }
    }
  }
}
