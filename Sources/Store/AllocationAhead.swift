// Blocks for bytes that are about to be written: the kernel takes a third less time to write where they are there already.
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

  private func punchGaps(of span: ByteSpan, of representation: Representation, _ file: OpenFile) {
    var position = span.lower
    while position < span.upper {
      let (gaps, needed) = representation.state.withLock { $0.gaps(in: ByteSpan(position, span.upper), limit: 1) }
      guard let gap = gaps.first else {
        guard let needed, loadSegment(of: representation, needed) else { return }
        continue
      }
      position = gap.upper
      // The blocks that the bytes before and behind it stand in are not its own.
      let (lower, upper) = ((gap.lower + 4095) / 4096 * 4096, gap.upper / 4096 * 4096)
      if lower < upper { try? calls.punch(file.descriptor, offset: lower, count: upper - lower) }
    }
  }
}
