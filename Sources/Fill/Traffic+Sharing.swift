// How several fills share what is missing of one representation: free pieces, halves of what is slow, and ends moved.

import Spans
import Synchronization

extension Traffic {
  /// Claims the first piece of `gaps` that nobody has claimed.
  ///
  /// - Parameter limit: no claim is made where there are so many already; nil for a fill that goes on.
  /// - Parameter piece: cuts the piece from a free run of bytes.
  func claimFirst(of gaps: [ByteSpan], limit: Int?, piece: (ByteSpan) -> ByteSpan) -> Claim? {
    state.withLock { state in
      if let limit, state.claims.count >= limit { return nil }
      guard let free = Splitting.firstFree(of: gaps, without: state.claims.values.lazy.map(\.span)) else { return nil }
      return Claim(traffic: self, adding: piece(free), isResumable: true, to: &state)
    }
  }

  /// Takes the latter half of the claim that will take longest, where that is more than a few seconds.
  func claimHalf(longerThan seconds: Double) -> Claim? {
    let (claim, ready) = state.withLock { state -> (Claim?, [Waiter]) in
      var slowest: (id: UInt64, seconds: Double)?
      for (id, claim) in state.claims where claim.isResumable && claim.rate > 0 && claim.span.upper != .max {
        let left = claim.span.upper - min(claim.reached, claim.span.upper)
        guard left >= 2 * Splitting.grain, Double(left) / claim.rate > (slowest?.seconds ?? seconds) else { continue }
        slowest = (id, Double(left) / claim.rate)
      }
      guard let id = slowest?.id, let old = state.claims[id] else { return (nil, []) }
      let middle = ((old.reached + (old.span.upper - old.reached) / 2) / Splitting.grain + 1) * Splitting.grain
      guard middle < old.span.upper else { return (nil, []) }
      let ready = state.cut(id, at: middle)
      let claim = Claim(traffic: self, adding: ByteSpan(middle, old.span.upper), isResumable: true, to: &state)
      return (claim, ready)
    }
    for waiter in ready { waiter.continuation.resume(returning: .ended(.complete)) }
    return claim
  }

  /// What fills may bring from `base` on: for each reader as far as the read-ahead lets them; without readers what
  /// lies before `goal`, if so little is missing that it is worth its end.
  func wanted(from base: UInt64, upTo goal: UInt64) -> [ByteSpan] {
    state.withLock { state in
      var wanted = SpanSet()
      for reader in state.readers.values {
        let upper = min(reader.upper, reader.position.saturatingAdd(limits.readAhead))
        if upper > max(base, reader.position) { wanted.insert(ByteSpan(max(base, reader.position), upper)) }
      }
      guard wanted.isEmpty, goal > base else { return wanted.spans }
      let (missing, share) = remaining(base, goal)
      return missing > 0 && (missing <= limits.finishIfMissing || share >= limits.finishIfDone)
        ? [ByteSpan(base, goal)] : []
    }
  }

  /// Where what readers want ends; nil without readers.
  var furthestWanted: UInt64? { state.withLock { $0.readers.values.lazy.map(\.upper).max() } }

  /// Whether a response waits for bytes at this moment: upstream is what is slow.
  var isAwaited: Bool { state.withLock { $0.claims.values.contains { !$0.waiters.isEmpty } } }

  /// Whether who wants the byte at `position` had better ask for it than follow `claim`.
  ///
  /// So it is where the claim can end before it, and at its present rate will not be there within `patience` seconds.
  /// Where nobody else wants what lies between, a quarter of that is enough, and so is that the claim would have to run
  /// on beyond the read-ahead. What others want will come anyway: cutting it off costs what is on its way.
  public func isFar(_ claim: FollowedClaim, from position: UInt64, patience: Double) -> Bool {
    state.withLock { state in
      guard let claim = state.claims[claim.id], claim.isResumable, position > claim.position else { return false }
      let distance = position - claim.position
      let isWanted = state.readers.values.contains { $0.position < position && $0.upper > claim.position }
      if claim.rate > 0, Double(distance) / claim.rate > (isWanted ? patience : patience / 4) { return true }
      return distance > limits.readAhead && !isWanted
    }
  }
}

extension Traffic.State {
  /// Where another claim begins that lies at `position` or behind it, or what one around `position` is still to bring.
  func nextClaim(from position: UInt64, besides id: UInt64? = nil) -> UInt64 {
    claims.lazy.filter { $0.key != id }
      .map { _, claim in claim.span.lower >= position ? claim.span.lower : claim.rest.lower }
      .filter { $0 >= position }.min() ?? .max
  }

  /// Ends a claim at `upper`, somewhere inside it.
  ///
  /// - Returns: who waited for something behind that.
  mutating func cut(_ id: UInt64, at upper: UInt64) -> [Traffic.Waiter] {
    guard let claim = claims[id] else { return [] }
    claims[id]?.span = ByteSpan(claim.span.lower, upper)
    return takeWaiters(of: id) { $0.position >= upper }
  }
}

extension Claim {
  /// How fast the claim is being brought, in bytes per second.
  func note(rate: Double) {
    traffic.state.withLock { $0.claims[id]?.rate = rate }
  }

  /// Moves the claim's end on, at most to where another claim begins.
  func extend(to upper: UInt64) {
    traffic.state.withLock { state in
      guard let span = state.claims[id]?.span, upper > span.upper else { return }
      let next = state.nextClaim(from: span.upper, besides: id)
      state.claims[id]?.span = ByteSpan(span.lower, min(upper, next))
    }
  }
}
