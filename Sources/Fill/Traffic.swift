// Who fills and who reads one representation right now: claims, readers, and the waits between them.

public import EventLoop
public import Spans
import Synchronization

/// What a fill does next.
enum FillDirective: Sendable {
  /// Goes on.
  case run
  /// Waits until a reader has come closer.
  case pause
  /// Ends: nobody reads any more and too much is missing.
  case stop
}

/// How a wait for a fill ended.
public enum FollowEvent: Sendable {
  /// The fill has passed the position.
  case moved
  /// The fill has ended; what it brought up to then is in the store.
  case ended(FillOutcome)
  /// The time given was over first.
  case slow
  /// The waiting task was cancelled.
  case cancelled
}

/// The limits that decide whether a fill runs on.
public struct FillLimits: Sendable {
  /// How many bytes a fill may be ahead of the furthest reader in its claim.
  public var readAhead: UInt64
  /// A fill without readers goes on if at most this many bytes are missing.
  public var finishIfMissing: UInt64
  /// A fill without readers goes on if at least this share of the representation is present, 0 to 1.
  public var finishIfDone: Double

  public init(readAhead: UInt64, finishIfMissing: UInt64, finishIfDone: Double) {
    self.readAhead = readAhead
    self.finishIfMissing = finishIfMissing
    self.finishIfDone = finishIfDone
  }
}

/// The claims and readers of one representation, shared by all workers.
///
/// Guarantees that claims never overlap, so that no byte is asked for twice at a time, and that whoever waits
/// for a claim is woken when it moves past the position or ends. One lock, never held across I/O.
public final class Traffic: Sendable {
  struct ReaderState {
    var position: UInt64
    var upper: UInt64
  }

  struct Waiter {
    let id: UInt64
    /// Waits for the byte at this offset.
    let position: UInt64
    let continuation: UnsafeContinuation<FollowEvent, Never>
  }

  struct ClaimState {
    var span: ByteSpan
    /// Everything before it is in the store.
    var position: UInt64
    /// The bytes before it are being written, or are: they are not taken over any more.
    var held: UInt64
    /// Whether the fill may stop reading upstream: only where the rest can be asked for again.
    var isResumable: Bool
    /// How fast it is being brought, in bytes per second; 0 while that is not known.
    var rate = 0.0
    var waiters: [Waiter] = []
    var paused: UnsafeContinuation<Void, Never>?
    var stop: (@Sendable () -> Void)?

    /// From here on others may take it over.
    var reached: UInt64 { max(position, held) }

    /// What it is still to bring. What it has brought may have been evicted since, and is anybody's to bring again.
    var rest: ByteSpan { ByteSpan(min(position, span.upper), span.upper) }
  }

  struct State {
    var readers: [UInt64: ReaderState] = [:]
    var claims: [UInt64: ClaimState] = [:]
    /// How the last claims ended, for who joined one and had not begun to wait.
    var outcomes: [(id: UInt64, outcome: FillOutcome)] = []
    var nextID: UInt64 = 1

    mutating func makeID() -> UInt64 {
      defer { nextID += 1 }
      return nextID
    }
  }

  let limits: FillLimits
  let state = Mutex(State())
  private let rangesServed = Atomic<Bool>(false)
  /// Bytes present and total of the representation, for the rule on finishing.
  let remaining: @Sendable (_ from: UInt64, _ to: UInt64) -> (missing: UInt64, share: Double)

  init(
    limits: FillLimits,
    remaining: @escaping @Sendable (_ from: UInt64, _ to: UInt64) -> (missing: UInt64, share: Double)
  ) {
    self.limits = limits
    self.remaining = remaining
  }

  /// Whether the origin has answered a range of this representation with that range.
  var hasServedRanges: Bool { rangesServed.load(ordering: .relaxed) }

  func noteServedRange() { rangesServed.store(true, ordering: .relaxed) }

  // MARK: Readers

  /// Makes a reader of `span` known: fills keep going for it, up to the read-ahead.
  public func enter(_ span: ByteSpan) -> Reader {
    let (id, woken) = state.withLock { state in
      let id = state.makeID()
      state.readers[id] = ReaderState(position: span.lower, upper: span.upper)
      return (id, takePaused(&state))
    }
    for continuation in woken { continuation.resume() }
    return Reader(traffic: self, id: id)
  }

  /// A reader has sent everything before `position`.
  func move(_ reader: UInt64, to position: UInt64) {
    let woken = state.withLock { state in
      state.readers[reader]?.position = position
      return takePaused(&state)
    }
    for continuation in woken { continuation.resume() }
  }

  /// A reader is done or gone; fills that nobody else reads learn of it at once.
  func leave(_ reader: UInt64) {
    let (stops, woken) = state.withLock { state -> ([@Sendable () -> Void], [UnsafeContinuation<Void, Never>]) in
      state.readers[reader] = nil
      guard !state.claims.isEmpty else { return ([], []) }
      let stops = state.claims.values.compactMap { claim in
        directive(for: claim, in: state) == .stop ? claim.stop : nil
      }
      return (stops, takePaused(&state))
    }
    for stop in stops { stop() }
    for continuation in woken { continuation.resume() }
  }

  // MARK: Claims

  /// The claim that is to bring `position`, where there is one.
  public func running(at position: UInt64) -> FollowedClaim? {
    state.withLock { state in
      state.claims.first { $0.value.rest.contains(position) }.map { FollowedClaim(id: $0.key) }
    }
  }

  /// Whether a fill under way has brought the byte at `position` already.
  public func hasPassed(_ position: UInt64) -> Bool {
    state.withLock { state in
      state.claims.values.contains { $0.span.contains(position) && !$0.rest.contains(position) }
    }
  }

  /// Joins the claim that is to bring `position`, or makes a new one from there.
  ///
  /// - Parameter upper: where the gap ends; the new claim ends there, or where another claim begins.
  /// - Parameter takingOver: takes the position away from a claim that is still far from it.
  public func claim(
    at position: UInt64, upTo upper: UInt64, isResumable: Bool, takingOver: Bool = false
  ) -> ClaimAnswer {
    let (answer, ready) = state.withLock { state -> (ClaimAnswer, [Waiter]) in
      var upper = upper
      var ready: [Waiter] = []
      if let (id, claim) = state.claims.first(where: { $0.value.rest.contains(position) }) {
        guard takingOver, claim.isResumable, claim.position < position, claim.reached <= position else {
          return (.follow(FollowedClaim(id: id)), [])
        }
        upper = min(upper, claim.span.upper)
        ready = state.cut(id, at: position)
      }
      upper = min(upper, state.nextClaim(from: position.saturatingAdd(1)))
      let claim = Claim(traffic: self, adding: ByteSpan(position, upper), isResumable: isResumable, to: &state)
      return (.lead(claim), ready)
    }
    // Who waited for bytes behind the cut looks who has them now.
    for waiter in ready { waiter.continuation.resume(returning: .ended(.complete)) }
    return answer
  }

  /// Waits until the claim has moved past `position` or has ended, at most until `patience` is over.
  public func wait(
    for claim: FollowedClaim, past position: UInt64, patience: (deadline: Deadline, loop: EventLoop)? = nil
  ) async -> FollowEvent {
    let waiterID = state.withLock { $0.makeID() }
    let timer = patience.map { patience in
      patience.loop.timer(at: patience.deadline) { [weak self] in self?.release(waiterID, of: claim, with: .slow) }
    }
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { (continuation: UnsafeContinuation<FollowEvent, Never>) in
        let known = state.withLock { state -> FollowEvent? in
          if let outcome = state.outcomes.first(where: { $0.id == claim.id }) { return .ended(outcome.outcome) }
          guard let running = state.claims[claim.id] else { return .ended(.complete) }
          if running.position > position { return .moved }
          if !running.span.contains(position) { return .ended(.complete) }
          if Task.isCancelled { return .cancelled }
          // The timer may have fired on the way here, and found no wait to end.
          if let patience, patience.deadline <= .now { return .slow }
          state.claims[claim.id]?.waiters.append(
            Waiter(id: waiterID, position: position, continuation: continuation))
          return nil
        }
        if let known { continuation.resume(returning: known) }
      }
    } onCancel: {
      release(waiterID, of: claim, with: .cancelled)
    }
  }

  /// Ends one wait, where it still waits.
  private func release(_ waiterID: UInt64, of claim: FollowedClaim, with event: FollowEvent) {
    let continuation = state.withLock { state -> UnsafeContinuation<FollowEvent, Never>? in
      guard let index = state.claims[claim.id]?.waiters.firstIndex(where: { $0.id == waiterID }) else { return nil }
      return state.claims[claim.id]?.waiters.remove(at: index).continuation
    }
    continuation?.resume(returning: event)
  }

  // MARK: The rules on running, pausing and stopping

  /// What the fill of `claim` does, given who reads.
  func directive(for claim: ClaimState, in state: State) -> FillDirective {
    var furthest: UInt64?
    for reader in state.readers.values where reader.upper > claim.position && reader.position < claim.span.upper {
      furthest = max(furthest ?? 0, reader.position)
    }
    guard let furthest else {
      // A fill that cannot be resumed would lose what it has begun; one that nearly has all is worth its end.
      let (missing, share) = remaining(claim.position, claim.span.upper)
      return missing <= limits.finishIfMissing || share >= limits.finishIfDone ? .run : .stop
    }
    let (edge, overflow) = max(furthest, claim.span.lower).addingReportingOverflow(limits.readAhead)
    return claim.isResumable && !overflow && claim.position >= edge ? .pause : .run
  }

  /// Takes out the paused fills that are to look again: a reader has moved, come or gone.
  private func takePaused(_ state: inout State) -> [UnsafeContinuation<Void, Never>] {
    guard !state.claims.isEmpty else { return [] }
    var continuations: [UnsafeContinuation<Void, Never>] = []
    for (id, claim) in state.claims {
      guard let paused = claim.paused else { continue }
      switch directive(for: claim, in: state) {
      case .pause: continue
      case .run, .stop:
        state.claims[id]?.paused = nil
        continuations.append(paused)
      }
    }
    return continuations
  }
}
