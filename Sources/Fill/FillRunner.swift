// Runs one fill: takes its claim gap by gap from upstream into the store, and resumes what is cut off.

import Configuration
import Diagnostics
import EventLoop
import HTTPMessage
public import Spans
public import Store
public import Upstream

/// A fill under way, on the loop of the worker that began it.
public final class FillRunner {
  let team: FillTeam
  var table: FillTable { team.table }
  var representation: Representation { team.representation }
  var source: FillSource { team.source }
  private(set) var claim: Claim
  /// Whether it was begun beside another and its first answer has not come.
  var isOpening = false
  /// Where the running exchange ends; nil without one, or where upstream did not say.
  var exchangeUpper: UInt64?
  var writer: ExtentWriter?
  /// Writers that are done but may have to be drained.
  var retired: [ExtentWriter] = []
  var reservation: Reservation?
  /// The exchange for whose rest the store had no room, where that cannot be asked for again.
  var leftover: OpenedExchange?
  /// The next byte to bring; everything of the claim before it is in the store.
  var position: UInt64
  var throughput = Throughput(interval: Pace.interval)
  var retry: RetryPolicy
  private var window: UInt64
  var approach = Approach.range
  /// Answers in a row that did not fit what was asked.
  var misfits = 0
  /// Answers in a row that were much shorter than asked.
  var crumbs = 0
  private var stop: @Sendable () -> Void = {}

  /// How the rest is asked for.
  enum Approach {
    /// `Range` under the validator.
    case range
    /// From byte 0 under the validator, because ranges did not work; what is present is skipped.
    case whole
  }

  /// Why the work on an exchange ended before the claim did.
  enum Interruption: Error {
    case ended(FillOutcome)
    case retry(UpstreamError, after: Double?)
    /// Upstream did not let it have an exchange, and others bring what it had claimed.
    case left(reason: String)
  }

  /// - Parameter response: what is stored of the representation's head.
  /// - Parameter claim: one of the representation's own traffic.
  /// - Parameter reservation: space that has been made already for the first bytes.
  /// - Parameter spawn: begins a task on the loop.
  /// - Parameter onClaim: told of every further claim that the fill takes, on the loop it runs on.
  /// - Parameter onEnd: called whenever the fill, or one begun beside it, has ended, on the same loop.
  public convenience init(
    table: FillTable, pool: ConnectionPool, representation: Representation, response: FillResponse, source: FillSource,
    claim: Claim, reservation: Reservation? = nil,
    spawn: @escaping (@escaping () async -> Void) -> Task<Void, Never>, onClaim: @escaping (ByteSpan) -> Void,
    onEnd: @escaping () -> Void
  ) {
    let team = FillTeam(
      table: table, pool: pool, representation: representation, response: response, source: source, spawn: spawn,
      onClaim: onClaim, onEnd: onEnd)
    self.init(team: team, claim: claim)
    self.reservation = reservation
    team.join(self)
  }

  init(team: FillTeam, claim: Claim) {
    self.team = team
    self.claim = claim
    position = claim.span.lower
    retry = RetryPolicy(team.table.settings)
    window = team.table.settings.fills.window
  }

  /// Begins to bring the claim, and goes on behind it while readers want more. Ends the claim with its outcome.
  ///
  /// - Parameter first: an exchange whose head has been checked already, with its body to come.
  public func begin(_ first: OpenedExchange? = nil) {
    let task = team.spawn { [self] in await run(first) }
    stop = { task.cancel() }
    claim.onStop(stop)
  }

  /// The exchange that goes on at `position`, where the store had no room for that and it cannot be asked for again; once.
  /// Taken on the loop that the fill ran on.
  public func takeLeftover(at position: UInt64) -> OpenedExchange? {
    leftover?.offset == position ? leftover.take() : nil
  }

  /// Ends it, before its exchange has brought anything.
  func callOff() {
    team.leave(self)
    claim.end(.cancelled)
    stop()
  }

  private func run(_ first: OpenedExchange?) async {
    table.counters.begun.add()
    if let first, first.isPart { team.traffic.noteServedRange() }
    do throws(Interruption) {
      let outcome = try await fillClaims(first)
      writer?.finish()
      reservation = nil
      report(outcome)
      claim.end(outcome)
      team.leave(self)
    } catch {
      writer?.finish()
      reservation = nil
      switch error {
      case .left(let reason): team.noteRefusal(of: self, reason: reason)
      case .ended, .retry:
        claim.end(.cancelled)
        team.leave(self)
      }
    }
    team.onEnd()
  }

  private func fillClaims(_ first: OpenedExchange?) async throws(Interruption) -> FillOutcome {
    var opened = first
    while true {
      let outcome = try await fillClaim(opened)
      opened = nil
      guard case .complete = outcome else { return outcome }
      let next = team.isShared ? await team.nextPiece(window: window) : await nextWindow()
      guard let next else { return outcome }
      take(next)
      window = min(window * 2, table.settings.fills.windowMax)
    }
  }

  /// Goes on with another claim. What the last one has not brought is free.
  func take(_ next: Claim) {
    writer?.finish()
    writer = nil
    claim.end(.complete)
    claim = next
    approach = .range
    claim.onStop(stop)
    team.onClaim(next.span)
    // Another may have brought the beginning, and somebody else may have asked for that again.
    position = next.rest.lower
  }

  /// The next gap behind a finished claim, where readers are near enough to want it soon.
  private func nextWindow() async -> Claim? {
    let end = claim.upper
    guard team.isResumable, !representation.isSuperseded, let wanted = claim.wantedBeyondEnd(),
      wanted > end
    else { return nil }
    let search = ByteSpan(end, min(wanted, end.saturatingAdd(window)))
    let gaps = await representation.gaps(in: search, limit: Self.gapLimit)
    guard let group = Coalescing.exchanges(gaps: gaps, closerThan: table.settings.fills.coalesceGaps).first
    else { return nil }
    switch team.traffic.claim(at: group.claim.lower, upTo: group.claim.upper, isResumable: true) {
    case .follow: return nil
    case .lead(let claim): return claim
    }
  }

  private func fillClaim(_ first: OpenedExchange?) async throws(Interruption) -> FillOutcome {
    var opened = first
    while true {
      do throws(Interruption) {
        if let exchange = opened {
          opened = nil
          try await transfer(exchange)
        }
        try await fillGaps()
        return .complete
      } catch {
        switch error {
        case .left: throw error
        case .ended(let outcome): return outcome
        case .retry(let failure, let retryAfter):
          guard let outcome = await waitToRetry(after: failure, retryAfter: retryAfter) else { continue }
          if team.hasOthers, !Task.isCancelled { throw .left(reason: failure.explanation) }
          return outcome
        }
      }
    }
  }

  /// Asks for what is missing of the claim: others may have brought part of it before it was made.
  private func fillGaps() async throws(Interruption) {
    while position < claim.upper {
      let gaps = await representation.gaps(in: ByteSpan(position, claim.upper), limit: Self.gapLimit)
      guard let next = Coalescing.exchanges(gaps: gaps, closerThan: table.settings.fills.coalesceGaps).first
      else { return try advance(to: claim.upper) }
      if next.claim.lower > position { try advance(to: next.claim.lower) }
      guard team.isResumable else {
        throw Interruption.ended(.failed(.closedEarly(source.origin)))
      }
      // First of all: what there is no room for is relayed, and is to be asked for once.
      try await reserveSpace(upTo: next.claim.upper, knowing: representation.total)
      guard let opened = try await open(next) else { continue }
      let before = position
      try await transfer(opened)
      guard position > before else {
        throw Interruption.retry(.unusable(source.origin, reason: "it brought nothing new"), after: nil)
      }
    }
  }

  /// Sleeps before the next attempt; an outcome where there is none.
  private func waitToRetry(after failure: UpstreamError, retryAfter: Double?) async -> FillOutcome? {
    writer?.finish()
    writer = nil
    guard team.isResumable else { return FillOutcome(failure) }
    switch retry.failed(retryAfter: retryAfter, jitter: Double.random(in: 0...1)) {
    case .giveUp: return FillOutcome(failure)
    case .again(let seconds):
      table.counters.resumptions.add()
      table.log.info("\(source.target.absolute): \(failure.explanation); asking again from byte \(position)")
      if seconds > 0 { await team.pool.loop.sleep(until: .after(seconds: seconds)) }
      return Task.isCancelled ? .cancelled : nil
    }
  }

  func advance(to position: UInt64) throws(Interruption) {
    self.position = position
    switch claim.advance(to: position) {
    case .run, .pause: return
    case .stop: throw .ended(.cancelled)
    }
  }

  private func report(_ outcome: FillOutcome) {
    switch outcome {
    case .complete: return
    case .cancelled: table.counters.cancelled.add()
    case .changed:
      table.counters.superseded.add()
      representation.supersede()
    case .storage: table.counters.storageFailures.add()
    case .refused, .failed, .wrong, .timedOut: break
    }
    let line = "\(source.target.absolute): fill ended at byte \(position): \(outcome.explanation)"
    if case .cancelled = outcome { table.log.info(line) } else { table.log.warning(line) }
  }

  /// Gaps looked at in one go.
  public static let gapLimit = 64
}
