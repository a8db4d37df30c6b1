// The part of a gap that one fill has undertaken to bring, as its fill and its followers hold it.

public import Spans
import Synchronization

/// The answer to a request for a claim.
public enum ClaimAnswer: Sendable {
  /// Another fill has claimed the position: wait for it.
  case follow(FollowedClaim)
  /// The bytes are the asker's to bring.
  case lead(Claim)
}

/// A claim that someone else fills.
public struct FollowedClaim: Sendable {
  let id: UInt64
}

/// A claim of one's own. It ends with `end(_:)`; when it is dropped without, it ends as cancelled.
public final class Claim: Sendable {
  let traffic: Traffic
  let id: UInt64
  /// What was claimed at first; others may have taken its end over since.
  public let span: ByteSpan

  /// Adds a claim of `span` to `state`, the one of `traffic`, whose lock the caller holds.
  init(traffic: Traffic, adding span: ByteSpan, isResumable: Bool, to state: inout Traffic.State) {
    self.traffic = traffic
    self.span = span
    id = state.makeID()
    state.claims[id] = Traffic.ClaimState(
      span: span, position: span.lower, held: span.lower, isResumable: isResumable)
  }

  deinit { end(.cancelled) }

  /// The same claim as who waits for it sees it.
  public var followed: FollowedClaim { FollowedClaim(id: id) }

  /// Where the claim ends now.
  var upper: UInt64 { traffic.state.withLock { $0.claims[id]?.span.upper ?? span.lower } }

  /// What it is still to bring.
  var rest: ByteSpan { traffic.state.withLock { $0.claims[id]?.rest ?? ByteSpan(span.upper, span.upper) } }

  /// What stops the fill's task when nobody reads any more.
  public func onStop(_ stop: @escaping @Sendable () -> Void) {
    traffic.state.withLock { $0.claims[id]?.stop = stop }
  }

  /// The total has become known, or the exchange brings less than was claimed: the claim ends there.
  func shorten(to upper: UInt64) {
    let ready = traffic.state.withLock { state -> [Traffic.Waiter] in
      guard let claim = state.claims[id], claim.span.upper > upper, upper >= claim.span.lower else { return [] }
      return state.cut(id, at: upper)
    }
    for waiter in ready { waiter.continuation.resume(returning: .ended(.complete)) }
  }

  /// Takes the bytes before `end` to write them, as far as they are the claim's still: nobody takes these over from now
  /// on. Others may have cut the claim since its end was looked at.
  ///
  /// - Returns: where the bytes end that may be written.
  func hold(upTo end: UInt64) -> UInt64 {
    traffic.state.withLock { state in
      guard let claim = state.claims[id] else { return span.lower }
      let held = min(end, claim.span.upper)
      state.claims[id]?.held = max(claim.held, held)
      return held
    }
  }

  /// Everything before `position` is in the store: wakes who waited for it, and tells how to go on.
  func advance(to position: UInt64) -> FillDirective {
    let (ready, directive) = traffic.state.withLock { state -> ([Traffic.Waiter], FillDirective) in
      guard state.claims[id] != nil else { return ([], .stop) }
      state.claims[id]?.position = position
      let ready = state.takeWaiters(of: id) { $0.position < position }
      guard let claim = state.claims[id] else { return (ready, .stop) }
      return (ready, traffic.directive(for: claim, in: state))
    }
    for waiter in ready { waiter.continuation.resume(returning: .moved) }
    return directive
  }

  /// Waits until the directive is no longer to pause.
  func pause() async {
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      let waits = traffic.state.withLock { state -> Bool in
        guard let claim = state.claims[id], traffic.directive(for: claim, in: state) == .pause else { return false }
        state.claims[id]?.paused = continuation
        return true
      }
      if !waits { continuation.resume() }
    }
  }

  /// Ends the pause before its time: something else is to be done.
  func endPause() {
    let paused = traffic.state.withLock { state -> UnsafeContinuation<Void, Never>? in
      defer { state.claims[id]?.paused = nil }
      return state.claims[id]?.paused
    }
    paused?.resume()
  }

  /// The furthest byte that a reader of this claim wants, for a fill that could go on behind its end.
  ///
  /// - Returns: nil where nobody reads near enough to the end of the claim.
  func wantedBeyondEnd() -> UInt64? {
    traffic.state.withLock { state in
      guard let claim = state.claims[id] else { return nil }
      return state.readers.values.lazy
        .filter { reader in
          // One that is beyond the end already wants nothing of what comes right behind it.
          reader.position <= claim.span.upper && claim.span.upper < reader.upper
            && claim.span.upper - reader.position < self.traffic.limits.readAhead
        }
        .map(\.upper).max()
    }
  }

  /// Ends the claim: the bytes it has not brought are free for others. Later calls do nothing.
  public func end(_ outcome: FillOutcome) {
    let waiters = traffic.state.withLock { state -> [Traffic.Waiter] in
      guard let claim = state.claims.removeValue(forKey: id) else { return [] }
      state.outcomes.append((id, outcome))
      if state.outcomes.count > 16 { state.outcomes.removeFirst() }
      return claim.waiters
    }
    for waiter in waiters { waiter.continuation.resume(returning: .ended(outcome)) }
  }
}

extension Traffic.State {
  /// Removes the waiters of a claim that `isReady` names.
  mutating func takeWaiters(of id: UInt64, where isReady: (Traffic.Waiter) -> Bool) -> [Traffic.Waiter] {
    guard let all = claims[id]?.waiters, all.contains(where: isReady) else { return [] }
    claims[id]?.waiters.removeAll(where: isReady)
    return all.filter(isReady)
  }
}
