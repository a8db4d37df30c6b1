// One version of a resource's bytes, as far as they are present.
public import HTTPMessage
public import Spans
import Synchronization

/// What is at a position of a representation.
public enum Presence: Equatable, Sendable {
  /// The bytes up to here are present; more may be behind.
  case present(upTo: UInt64)
  /// The bytes up to here are absent; more may be behind.
  case absent(upTo: UInt64)
}

/// The bytes of one representation, shared by all that read and write it on any thread.
///
/// Its life, in phases: *unreferenced* (made, perhaps written, nothing persisted), *stored* (a response refers to it),
/// *superseded* (replaced or removed: those that hold it go on reading, then its data is deleted), *gone* (evicted, lost
/// or discarded: reading throws `absent`). One short lock guards what is in memory; it is never held across I/O.
public final class Representation: Sendable {
  /// Its number; never used again, also not after a restart.
  public let id: UInt64
  /// What identifies this version to the origin.
  public let validator: Validator

  let engine: Engine
  let state: Mutex<RepresentationState>
  /// Held by disk threads while they make or move the file, so that two do not.
  let fileGate = Mutex<Void>(())
  /// The round of the index thread in which it was last noted as used.
  let touchedRound = Atomic<UInt64>(0)

  init(id: UInt64, validator: Validator, state: consuming sending RepresentationState, engine: Engine) {
    self.id = id
    self.validator = validator
    self.engine = engine
    self.state = Mutex(state)
  }

  deinit {
    let (last, places) = state.withLock { state in (Remains(state), state.packedExtents) }
    engine.didForget(id, last, places, identity: UInt(bitPattern: ObjectIdentifier(self)))
  }

  /// What the deinit leaves to others.
  struct Remains {
    let phase: Phase
    let hasFile: Bool
    let bufferBytes: Int
    let unpacked: UInt64
    let allocated: UInt64
    let hasOpenFile: Bool
    let isRecorded: Bool
    let loadedSegments: Int

    fileprivate init(_ state: borrowing RepresentationState) {
      phase = state.phase
      hasFile = state.hasFile
      bufferBytes = state.buffer?.count ?? 0
      unpacked = state.unpacked
      allocated = state.allocated
      hasOpenFile = state.file != nil
      isRecorded = state.isRecorded
      loadedSegments = state.segments.charge
    }
  }

  /// Its length in bytes; nil while unknown.
  public var total: UInt64? { state.withLock { $0.total } }

  /// Makes the length known. False, and nothing changes, if another length is known or bytes beyond it are present.
  public func setTotal(_ total: UInt64) -> Bool {
    let isRight = state.withLock { state -> Bool in
      if let known = state.total { return known == total }
      let beyond = Segment.number(of: total)
      if let last = state.touched.last {
        guard last.upper <= beyond + 1 else { return false }
        if let segment = state.segments[beyond], let end = segment.extents.last?.upper, end > total { return false }
      }
      state.total = total
      state.isRecordDirty = true
      if let last = state.touched.last { state.noteCompleteness(last.upper - 1) }
      return true
    }
    if isRight { engine.noteChange(self) }
    return isRight
  }

  /// Whether the length is known and every byte is present.
  public var isComplete: Bool { state.withLock { $0.phase != .gone && $0.total == $0.presentBytes } }

  /// Whether another representation took its place, or its data is gone: it must not be extended.
  public var isSuperseded: Bool {
    state.withLock { state in
      switch state.phase {
      case .unreferenced, .stored: false
      case .superseded, .gone: true
      }
    }
  }

  /// How many bytes are present.
  public var presentBytes: UInt64 { state.withLock { $0.presentBytes } }

  /// Whether the byte at `position` is present and how far at least that holds, at most up to `upper`.
  ///
  /// Includes what writers have written so far. The work is bounded and does not depend on the number of spans: the
  /// answer may be shorter than the truth. Suspends only when a part of the index must be read.
  public func presence(at position: UInt64, upTo upper: UInt64) async -> Presence {
    guard position < upper else { return .absent(upTo: upper) }
    while true {
      switch state.withLock({ $0.presence(at: position, upTo: upper) }) {
      case .known(let presence): return presence
      case .needs(let segment):
        guard await load(segment) else { return .absent(upTo: upper) }
      }
    }
  }

  /// The first `limit` runs of absent bytes of `span`, in ascending order; empty only if all of it is present.
  ///
  /// Neither the number of spans nor the size counts: complete and empty stretches are known without their extents. The
  /// last gap may be shorter than the truth.
  public func gaps(in span: ByteSpan, limit: Int) async -> [ByteSpan] {
    guard limit > 0 else { return [] }
    var loads = 0
    while true {
      let (gaps, needed) = state.withLock { $0.gaps(in: span, limit: limit) }
      guard let needed, gaps.isEmpty || loads < 8 else { return gaps }
      loads += 1
      guard await load(needed) else { return gaps.isEmpty ? [span] : gaps }
    }
  }

  /// Writes from `offset` on, for one fill.
  public func writer(at offset: UInt64) -> ExtentWriter { ExtentWriter(self, at: offset) }

  /// Spares the bytes of `span` from eviction until the pin has moved past them or is released.
  public func pin(_ span: ByteSpan) -> Pin { Pin(self, span) }

  /// The same for bytes on their way out of `file`, which stays open as long as the pin lives.
  public func pin(_ span: ByteSpan, in file: OpenFile) -> Pin { Pin(self, span, file: file) }

  /// Marks it as bad: nothing of it is present from now on, no response refers to it, and its data is deleted after
  /// the last user has left.
  public func discard() {
    engine.discard(self)
  }

  /// Marks it as replaced: no response refers to it from now on, and it must not be extended. Those that hold it go on
  /// reading what is present; its data is deleted after the last user has left.
  public func supersede() {
    engine.withdraw(self)
  }

  /// Reads a segment's extents from the index; false when the index cannot be read.
  private func load(_ segment: UInt64) async -> Bool {
    await engine.pool.run { [self] in engine.loadSegment(of: self, segment) }
  }
}

extension RepresentationState {
  /// Enters a pin; the token takes it out again.
  mutating func pin(_ span: ByteSpan) -> Int {
    let token = token()
    pins[token] = span
    return token
  }

  /// The extents that stand in packs.
  var packedExtents: [Extent] {
    body == .memory ? segments.all.flatMap { $0.extents.filter { $0.pack != 0 } } : []
  }
}

/// Keeps bytes from being evicted while a reader still has to send them.
public final class Pin: Sendable {
  private let representation: Representation
  private let token: Int
  private let file: OpenFile?

  init(_ representation: Representation, _ span: ByteSpan, file: OpenFile? = nil) {
    self.representation = representation
    self.file = file
    token = representation.state.withLock { $0.pin(span) }
  }

  /// For a span that has been pinned already.
  init(_ representation: Representation, token: Int) {
    self.representation = representation
    self.token = token
    file = nil
  }

  deinit {
    representation.state.withLock { $0.pins[token] = nil }
  }

  /// The bytes before `position` are not needed any more.
  public func advance(to position: UInt64) {
    representation.state.withLock { state in
      guard let span = state.pins[token], position > span.lower else { return }
      state.pins[token] = ByteSpan(min(position, span.upper), span.upper)
    }
  }
}
