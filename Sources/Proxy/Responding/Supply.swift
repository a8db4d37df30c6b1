// Sees to it that bytes which are not present come: joins the fill that has claimed them, or begins one.

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import Spans
import Store
import Upstream

/// The fills behind one response. Bound to its worker's loop.
final class Supply {
  let entry: StoredEntry
  private let parts: WorkerParts
  private let source: FillSource
  private let traffic: Traffic
  /// What this response itself has asked upstream for, for the count of bytes from upstream.
  private var own = SpanSet()
  /// What is known to fills of this response's reading, until it reads another span.
  private var latest: Reader?
  /// Whether this response has waited for a fill that another request began.
  private(set) var hasFollowed = false
  /// Why the store could not take what this response wanted; the origin is not asked to fill anything once more. Where
  /// only room was refused, that is so of the gap for which it was: room may come back before the next one, and a fill
  /// sees to that before it asks the origin.
  private var storageFailure: StoreError?
  /// The first byte of the last gap that the store had no room for, and the answer that was to bring it, until it is
  /// relayed.
  private var refused: (position: UInt64, answer: OpenedExchange?)?
  /// The fill that this response began, where its exchange is the only one that can bring the rest.
  private var onlyFill: FillRunner?

  var representation: Representation { entry.representation }
  var hasFetched: Bool { !own.isEmpty }

  init(entry: StoredEntry, parts: WorkerParts, source: FillSource) {
    self.entry = entry
    self.parts = parts
    self.source = source
    traffic = parts.context.fills.traffic(of: entry.representation)
  }

  /// How bytes can be had.
  enum Result {
    /// They are there, or the fill has moved on: look again.
    case lookAgain
    /// They cannot be had through the store.
    case failed(FillOutcome)
    /// The client is gone.
    case cancelled
  }

  /// Waits until the byte at `position`, which is not present, has come or cannot come.
  ///
  /// - Parameter upper: where what the reader wants ends.
  func obtain(_ position: UInt64, upTo upper: UInt64) async -> Result {
    if isRelayed(position) { return .failed(.storage(storageFailure ?? .noRoom)) }
    switch await claim(position, upTo: upper) {
    case .present: return .lookAgain
    case .follow(let claim):
      if !hasFollowed {
        hasFollowed = true
        parts.context.fills.counters.follows.add()
      }
      return await follow(claim, past: position, upTo: upper)
    case .lead(let claim, _):
      return await lead(claim, past: position)
    case .impossible: return .failed(unobtainable)
    }
  }

  /// Whether the byte at `position`, which is missing, is to be relayed, because the store could not take it.
  func isRelayed(_ position: UInt64) -> Bool { storageFailure != nil || refused?.position == position }

  /// Whether an answer is at hand that goes on at `position`.
  func hasRefused(at position: UInt64) -> Bool { refused?.position == position && refused?.answer != nil }

  /// Whether the store could not take something that this response wanted.
  var wasRefused: Bool { storageFailure != nil || refused != nil }

  /// How a fill would end that is to bring what can only be fetched whole.
  var unobtainable: FillOutcome {
    .failed(.unusable(Origin(source.target), reason: "the rest of it cannot be asked for"))
  }

  /// What stands in the way of a byte.
  enum Gap {
    case present
    case follow(FollowedClaim)
    /// The gap is the caller's to fill; the spans are present ones inside it.
    case lead(Claim, bridged: [ByteSpan])
    /// What is missing can neither be asked for nor is on its way.
    case impossible
  }

  /// Claims the gap at `position`, one window of it at most.
  func claim(_ position: UInt64, upTo upper: UInt64, takingOver: Bool = false) async -> Gap {
    let fills = parts.context.settings.fills
    let (edge, overflow) = position.addingReportingOverflow(fills.window)
    let search = ByteSpan(position, overflow ? upper : min(upper, max(edge, position + 1)))
    let gaps = await representation.gaps(in: search, limit: FillRunner.gapLimit)
    guard let gap = Coalescing.exchanges(gaps: gaps, closerThan: fills.coalesceGaps).first,
      gap.claim.lower == position
    else { return .present }
    switch traffic.claim(at: position, upTo: gap.claim.upper, isResumable: entry.isResumable, takingOver: takingOver) {
    case .follow(let claim): return .follow(claim)
    case .lead(let claim):
      guard entry.isResumable else {
        claim.end(.cancelled)
        return .impossible
      }
      // Between the look and the claim a fill may have ended that brought it.
      if case .present = await representation.presence(at: position, upTo: position + 1) {
        claim.end(.cancelled)
        return .present
      }
      return .lead(claim, bridged: gap.bridged)
    }
  }

  /// Runs a fill for a claim of ours, and waits until the byte at `position` has come or cannot come.
  private func lead(_ claim: Claim, past position: UInt64) async -> Result {
    begin(claim)
    return await wait(for: claim.followed, past: position)
  }

  /// The same on an exchange whose head is known.
  func lead(_ claim: Claim, opened: OpenedExchange, past position: UInt64) async -> Result {
    await begin(claim, ifRoomFor: opened)
    return await wait(for: claim.followed, past: position)
  }

  /// Runs a fill for a claim of ours on an exchange whose head is known. Where the store has no room for what that brings
  /// the claim ends, and the exchange is kept for whoever relays the bytes: they are asked for once.
  func begin(_ claim: Claim, ifRoomFor opened: OpenedExchange) async {
    let store = parts.context.store
    guard let reservation = await store.makeRoom(for: FillRunner.firstReservation(of: claim, on: opened)) else {
      parts.context.fills.counters.storageFailures.add()
      refused = (claim.span.lower, opened)
      return claim.end(.storage(.noRoom))
    }
    begin(claim, opened: opened, reservation: reservation)
  }

  /// The answer that was to bring the byte at `position`, where the store had no room for it; once.
  func takeRefused(at position: UInt64) -> OpenedExchange? {
    guard refused?.position == position else { return nil }
    return refused?.answer.take()
  }

  /// Runs a fill for a claim of ours; it goes on when this response is over, as far as the rules let it.
  func begin(_ claim: Claim, opened: OpenedExchange? = nil, reservation: Reservation? = nil) {
    own.insert(claim.span)
    let runner = FillRunner(
      table: parts.context.fills, pool: parts.pool, representation: representation,
      response: FillResponse(entry.response.fields, isResumable: entry.isResumable), source: source, claim: claim,
      reservation: reservation,
      spawn: parts.spawn, onClaim: { [weak self] span in self?.own.insert(span) }, onEnd: onEnd)
    if !entry.isResumable { onlyFill = runner }
    runner.begin(opened)
  }

  /// What follows when a fill has ended: a completed object is compared with the digest its origin stated.
  private var onEnd: () -> Void {
    let followUp = DigestFollowUp(parts: parts, key: entry.key, source: source)
    return { [representation] in followUp.begin(representation) }
  }

  /// Begins the fill of a representation that this very request has brought, on an exchange whose head is known.
  func begin(_ span: ByteSpan, opened: OpenedExchange, reservation: Reservation) {
    guard !span.isEmpty else {
      opened.exchange.finish()
      return onEnd()
    }
    // The same representation once more, from an origin that does not look at conditions: all of it is here.
    guard !representation.isComplete else { return opened.exchange.abandon() }
    switch traffic.claim(at: span.lower, upTo: span.upper, isResumable: entry.isResumable) {
    case .follow: opened.exchange.abandon()
    case .lead(let claim):
      // Once more as well, beside a fill that is on its way: what is missing of it is asked for as such.
      guard !traffic.hasPassed(span.lower) else {
        claim.end(.cancelled)
        return opened.exchange.abandon()
      }
      begin(claim, opened: opened, reservation: reservation)
    }
  }

  /// This very request has brought the representation, whole.
  func noteWhole() { own.insert(ByteSpan(0, representation.total ?? 0)) }

  /// Sees to it that what a range of unknown total depends on becomes known: its last byte, or the total.
  ///
  /// It reads for that: what waits without being a reader does not keep a fill going. Where no fill is under way, the
  /// answer to a request for what is missing tells the total.
  ///
  /// - Parameter wanted: where the range lies, as far as that is known without the total.
  /// - Returns: `.lookAgain` once it is known.
  func findEnd(of range: ByteRange, in wanted: ByteSpan) async -> Result {
    // Beside the one before, for which the fill may be about to come to the end.
    let reader = traffic.enter(wanted)
    defer { latest = latest ?? reader }
    let pin = representation.pin(wanted)
    while representation.total == nil,
      let gap = await representation.gaps(in: wanted, limit: FillRunner.gapLimit).last
    {
      reader.advance(to: gap.lower)
      // The suffix of what has come up to now is spared, and no more: the object may be larger than the cache.
      if case .suffix(let count) = range { pin.advance(to: gap.lower - min(gap.lower, count)) }
      switch await obtain(gap.lower, upTo: gap.upper) {
      case .lookAgain: continue
      case .failed(let outcome): return .failed(outcome)
      case .cancelled: return .cancelled
      }
    }
    return .lookAgain
  }

  /// Whether a fill has claimed the byte at `position`.
  func isOnItsWay(_ position: UInt64) -> Bool { traffic.running(at: position) != nil }

  /// Makes a reader of a span known to fills. It stays known until the response reads another: without one in between a
  /// fill would stop.
  @discardableResult
  func read(_ span: ByteSpan) -> Reader {
    let reader = traffic.enter(span)
    latest = reader
    return reader
  }

  /// How many of these bytes this response itself had asked upstream for.
  func ownBytes(in span: ByteSpan) -> UInt64 {
    own.intersection(span).reduce(0) { $0 + $1.count }
  }

  /// Waits for another's claim; where that is far away, or still is after a while, the bytes are asked for directly.
  private func follow(_ claim: FollowedClaim, past position: UInt64, upTo upper: UInt64) async -> Result {
    guard entry.isResumable else { return await wait(for: claim, past: position) }
    let longest = parts.context.settings.fills.followPatience.inSeconds
    let end = Deadline.after(seconds: longest)
    // What is not known yet of the fill's pace may be in a moment.
    while !traffic.isFar(claim, from: position, patience: longest), .now < end {
      let pause = min(end, .after(seconds: longest / 8))
      switch await traffic.wait(for: claim, past: position, patience: (pause, parts.loop)) {
      case .moved: return .lookAgain
      case .ended(let outcome): return await result(of: outcome, at: position)
      case .cancelled: return .cancelled
      case .slow: continue
      }
    }
    switch await self.claim(position, upTo: upper, takingOver: true) {
    case .present: return .lookAgain
    case .follow(let claim): return await wait(for: claim, past: position)
    case .lead(let claim, _): return await lead(claim, past: position)
    case .impossible: return await wait(for: claim, past: position)
    }
  }

  private func wait(for claim: FollowedClaim, past position: UInt64) async -> Result {
    switch await traffic.wait(for: claim, past: position) {
    case .moved, .slow: return .lookAgain
    case .ended(let outcome): return await result(of: outcome, at: position)
    case .cancelled: return .cancelled
    }
  }

  private func result(of outcome: FillOutcome, at position: UInt64) async -> Result {
    switch outcome {
    // A fill that stopped because nobody read it leaves the rest for whoever wants it.
    case .complete, .cancelled: return .lookAgain
    case .changed, .refused, .failed, .wrong, .timedOut, .storage:
      // It may have passed the position before it failed, and all that there is arrives.
      if case .present = await representation.presence(at: position, upTo: position + 1) { return .lookAgain }
      if case .storage(let failure) = outcome { note(failure, at: position) }
      return .failed(outcome)
    }
  }

  private func note(_ failure: StoreError, at position: UInt64) {
    if failure != .noRoom {
      storageFailure = failure
    } else if refused?.position != position {
      refused = (position, onlyFill?.takeLeftover(at: position))
    }
  }
}
