// Runs one fill: takes its claim gap by gap from upstream into the store, and resumes what is cut off.

import Configuration
import Diagnostics
import EventLoop
public import HTTPMessage
public import Spans
public import Store
public import Upstream

/// A fill under way, on the loop of the worker that began it.
public final class FillRunner {
  let table: FillTable
  let pool: ConnectionPool
  let traffic: Traffic
  let representation: Representation
  /// The representation's `Content-Encoding`.
  private let coding: FieldValue?
  let source: FillSource
  private var claim: Claim
  private var writer: ExtentWriter?
  /// Writers that are done but may have to be drained.
  private var retired: [ExtentWriter] = []
  private var reservation: Reservation?
  /// The next byte to bring; everything of the claim before it is in the store.
  private var position: UInt64
  private var retry: RetryPolicy
  private var window: UInt64
  private var approach = Approach.range
  /// Answers in a row that were much shorter than asked.
  private var crumbs = 0
  /// Told of every further claim that the fill takes, on the loop it runs on.
  private let onClaim: (ByteSpan) -> Void

  /// How the rest is asked for.
  private enum Approach {
    /// `Range` under the validator.
    case range
    /// From byte 0 under the validator, because ranges did not work; what is present is skipped.
    case whole
  }

  /// Why the work on an exchange ended before the claim did.
  private enum Interruption: Error {
    case ended(FillOutcome)
    case retry(UpstreamError, after: Double?)
  }

  /// - Parameter coding: the stored response's `Content-Encoding`, which every partial answer must repeat.
  /// - Parameter reservation: space that has been made already for the first bytes.
  /// - Parameter claim: one of the representation's own traffic.
  public init(
    table: FillTable, pool: ConnectionPool, representation: Representation, coding: FieldValue?, source: FillSource,
    claim: Claim, reservation: Reservation? = nil, onClaim: @escaping (ByteSpan) -> Void
  ) {
    self.onClaim = onClaim
    self.reservation = reservation
    self.table = table
    self.pool = pool
    self.representation = representation
    self.coding = coding
    self.source = source
    self.claim = claim
    traffic = table.traffic(of: representation)
    position = claim.span.lower
    retry = RetryPolicy(table.settings)
    window = table.settings.fills.window
  }

  /// Brings the claim, and goes on behind it while readers want more. Ends the claim with its outcome.
  ///
  /// - Parameter first: an exchange whose head has been checked already, with its body to come.
  public func run(_ first: OpenedExchange? = nil) async {
    table.counters.begun.add()
    let outcome = await fillClaims(first)
    writer?.finish()
    reservation = nil
    report(outcome)
    claim.end(outcome)
  }

  private func fillClaims(_ first: OpenedExchange?) async -> FillOutcome {
    var opened = first
    while true {
      let outcome = await fillClaim(opened)
      opened = nil
      guard case .complete = outcome, let next = await nextClaim() else { return outcome }
      writer?.finish()
      writer = nil
      claim.end(.complete)
      claim = next
      onClaim(next.span)
      position = next.span.lower
      window = min(window * 2, table.settings.fills.windowMax)
    }
  }

  /// The next gap behind a finished claim, where readers are near enough to want it soon.
  private func nextClaim() async -> Claim? {
    let end = claim.upper
    guard representation.validator.isStrong, !representation.isSuperseded, let wanted = claim.wantedBeyondEnd(),
      wanted > end
    else { return nil }
    let search = ByteSpan(end, min(wanted, end.saturatingAdd(window)))
    let gaps = await representation.gaps(in: search, limit: Self.gapLimit)
    guard let group = Coalescing.exchanges(gaps: gaps, closerThan: table.settings.fills.coalesceGaps).first
    else { return nil }
    switch traffic.claim(at: group.claim.lower, upTo: group.claim.upper, isResumable: true) {
    case .follow: return nil
    case .lead(let claim): return claim
    }
  }

  private func fillClaim(_ first: OpenedExchange?) async -> FillOutcome {
    var opened = first
    while true {
      do throws(Interruption) {
        if let exchange = opened {
          opened = nil
          try await transfer(exchange)
        }
        // Others may have brought part of the claim before it was made: only what is missing is asked for.
        while position < claim.upper {
          let gaps = await representation.gaps(in: ByteSpan(position, claim.upper), limit: Self.gapLimit)
          guard let next = Coalescing.exchanges(gaps: gaps, closerThan: table.settings.fills.coalesceGaps).first
          else {
            try advance(to: claim.upper)
            break
          }
          if next.claim.lower > position { try advance(to: next.claim.lower) }
          // RFC 9110 §15.3.7.3: without a strong validator bytes of another exchange are never combined.
          guard representation.validator.isStrong else {
            throw Interruption.ended(.failed(.closedEarly(source.origin)))
          }
          let opened = try await open(next)
          guard let opened else { continue }
          let before = position
          try await transfer(opened)
          guard position > before else {
            throw Interruption.retry(.unusable(source.origin, reason: "it brought nothing new"), after: nil)
          }
        }
        return .complete
      } catch {
        switch error {
        case .ended(let outcome): return outcome
        case .retry(let failure, let retryAfter):
          guard let outcome = await waitToRetry(after: failure, retryAfter: retryAfter) else { continue }
          return outcome
        }
      }
    }
  }

  /// Sleeps before the next attempt; an outcome where there is none.
  private func waitToRetry(after failure: UpstreamError, retryAfter: Double?) async -> FillOutcome? {
    writer?.finish()
    writer = nil
    guard representation.validator.isStrong else { return Self.outcome(of: failure) }
    switch retry.failed(retryAfter: retryAfter, jitter: Double.random(in: 0...1)) {
    case .giveUp: return Self.outcome(of: failure)
    case .again(let seconds):
      table.counters.resumptions.add()
      table.log.info("\(source.target.absolute): \(failure.explanation); asking again from byte \(position)")
      if seconds > 0 { await pool.loop.sleep(until: .after(seconds: seconds)) }
      return Task.isCancelled ? .cancelled : nil
    }
  }

  /// Asks upstream for an exchange's span and checks the answer; nil where there turns out to be nothing more.
  private func open(_ wanted: PlannedExchange) async throws(Interruption) -> OpenedExchange? {
    let asked: ByteSpan? = approach == .range ? wanted.claim : nil
    do {
      let answer = try await PartialAnswer.ask(
        for: asked, of: representation, coding: coding, source: source, pool: pool, now: table.now)
      switch answer.verdict {
      case .body(let opened):
        var opened = opened
        opened.bridged = wanted.bridged
        try boundShortAnswers(opened, asked: wanted.claim)
        return opened
      case .ended(let total):
        try learn(total: total)
        return nil
      case .changed(let reason): throw Interruption.ended(.changed(reason: reason))
      case .refused(let status): throw Interruption.ended(.refused(status: status))
      case .later(let status, let seconds):
        throw Interruption.retry(.unavailable(source.origin, status: status), after: seconds)
      case .wrong(let reason):
        table.counters.wrongAnswers.add()
        table.log.warning("\(source.target.absolute): refused the answer to \(wanted.claim): \(reason)")
        guard approach == .range, representation.validator.isStrong else {
          throw Interruption.ended(.wrong(reason: reason))
        }
        approach = .whole
        throw Interruption.retry(.unusable(source.origin, reason: reason), after: nil)
      }
    } catch let error as Interruption {
      throw error
    } catch let error as UpstreamError {
      if case .cancelled = error { throw .ended(.cancelled) }
      throw .retry(error, after: nil)
    } catch {
      throw .ended(.cancelled)
    }
  }

  /// The total has become known: the claim ends there, or the origin has another representation.
  private func learn(total: UInt64) throws(Interruption) {
    guard representation.setTotal(total) else {
      throw .ended(.changed(reason: "its length is \(total)"))
    }
    claim.shorten(to: total)
  }

  /// Honest answers that are shorter than asked are followed up, but not one after another in crumbs.
  private func boundShortAnswers(_ opened: OpenedExchange, asked: ByteSpan) throws(Interruption) {
    let end = opened.upper ?? .max
    guard end < min(asked.upper, opened.total ?? .max), end - opened.offset < Self.crumb else {
      crumbs = 0
      return
    }
    crumbs += 1
    guard crumbs <= table.settings.fills.attempts else {
      throw .ended(.wrong(reason: "\(crumbs) answers in a row with a few bytes each"))
    }
  }

  /// Moves an exchange's body into the store until it ends, or the claim does.
  private func transfer(_ opened: consuming OpenedExchange) async throws(Interruption) {
    var incoming = opened
    let exchange = incoming.exchange
    if let total = incoming.total { try learn(total: total) }
    while true {
      let limit = min(claim.upper, incoming.upper ?? .max)
      if position >= limit, !awaitsEnd(of: incoming) { break }
      try await reserveSpace(upTo: limit)
      let more: Bool
      do {
        more = try await exchange.readBody { piece in try self.store(piece, from: &incoming, upTo: limit) }
        try await drain()
      } catch {
        exchange.abandon()
        // What came before the failure is kept, or else position would lie.
        do { try await drain() } catch { throw interruption(by: error) }
        throw interruption(by: error)
      }
      try advance(to: position)
      if !more {
        try end(of: incoming)
        break
      }
      try await pauseIfAhead()
    }
    if exchange.isComplete { exchange.finish() } else { exchange.abandon() }
  }

  /// Waits until the store has everything that was handed to writers.
  private func drain() async throws {
    while let writer = retired.popLast() {
      if writer.needsDrain { try await writer.drain() }
      writer.finish()
    }
    if let writer, writer.needsDrain { try await writer.drain() }
  }

  /// The next byte to be written is not the one behind the last: another writer begins there.
  private func retireWriter() {
    if let writer { retired.append(writer) }
    writer = nil
  }

  /// Whether the body is read on although every wanted byte is there: to see its end, so that the connection is kept.
  private func awaitsEnd(of incoming: OpenedExchange) -> Bool {
    !incoming.exchange.isComplete && incoming.upper == incoming.offset
  }

  /// Writes what is wanted of a piece: neither what is present already nor what lies beyond the claim.
  private func store(
    _ piece: RawSpan, from incoming: inout OpenedExchange, upTo limit: UInt64
  ) throws(StoreError) {
    var taken = 0
    while taken < piece.byteCount {
      let rest = UInt64(piece.byteCount - taken)
      let offset = incoming.offset
      let step: UInt64
      if offset < position || offset >= limit {
        step = offset < position ? min(rest, position - offset) : rest
        table.counters.skippedBytes.add(step)
      } else if let bridge = incoming.bridged.first(where: { $0.contains(offset) }) {
        step = min(rest, bridge.upper - offset)
        table.counters.bridgedBytes.add(step)
        position = offset + step
        retireWriter()
      } else {
        let edge = incoming.bridged.lazy.map(\.lower).filter { $0 > offset }.min() ?? limit
        step = min(rest, min(edge, limit) - offset)
        let writer = writer ?? representation.writer(at: offset)
        self.writer = writer
        writer.reservation = reservation
        try writer.write(piece.extracting(taken..<taken + Int(step)))
        position = offset + step
        retry.progressed()
      }
      incoming.offset += step
      taken += Int(step)
    }
  }

  /// The body has ended: where the total was unknown it is known now.
  private func end(of incoming: OpenedExchange) throws(Interruption) {
    if let upper = incoming.upper {
      guard incoming.offset < upper else { return }
      throw .retry(.closedEarly(source.origin), after: nil)
    }
    try learn(total: incoming.offset)
  }

  private func advance(to position: UInt64) throws(Interruption) {
    self.position = position
    switch claim.advance(to: position) {
    case .run, .pause: return
    case .stop: throw .ended(.cancelled)
    }
  }

  private func pauseIfAhead() async throws(Interruption) {
    while true {
      switch claim.advance(to: position) {
      case .run: return
      case .stop: throw .ended(.cancelled)
      case .pause: await claim.pause()
      }
    }
  }

  /// Space is reserved before upstream is read (design: Space).
  private func reserveSpace(upTo limit: UInt64) async throws(Interruption) {
    guard position < limit, (reservation?.remaining ?? 0) < min(Self.reservationLow, limit - position) else { return }
    let wanted = min(limit == .max ? .max : limit - position, Self.reservationWindow)
    guard let reserved = await table.store.makeRoom(for: wanted) else {
      throw .ended(.storage(.noSpace))
    }
    reservation = reserved
  }

  private func interruption(by error: any Error) -> Interruption {
    switch error {
    case let error as StoreError:
      return .ended(.storage(error))
    case let error as UpstreamError:
      if case .cancelled = error { return .ended(.cancelled) }
      return .retry(error, after: nil)
    default:
      return .ended(.cancelled)
    }
  }

  private static func outcome(of failure: UpstreamError) -> FillOutcome {
    switch failure {
    case .silent: .timedOut(failure)
    case .cancelled: .cancelled
    case .unresolvable, .unreachable, .forbidden, .busy, .broken, .closedEarly, .malformed, .unavailable, .unusable:
      .failed(failure)
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
  /// An answer with fewer bytes than this, where more was asked, is a crumb.
  private static let crumb: UInt64 = 4 << 10
  /// Space is reserved in pieces of this many bytes.
  public static let reservationWindow: UInt64 = 8 << 20
  private static let reservationLow: UInt64 = 1 << 20
}

extension UInt64 {
  /// The sum, or the largest value where it does not fit.
  func saturatingAdd(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
