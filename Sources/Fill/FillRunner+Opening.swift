// How a fill gets the exchange it needs next, and what it makes of the answer's head.

import Configuration
import Diagnostics
import EventLoop
import HTTPMessage
import Spans
import Store
import Upstream

extension FillRunner {
  /// Asks upstream for an exchange's span and checks the answer; nil where there turns out to be nothing more.
  ///
  /// What stands in the way of a fill that has others beside it makes it leave.
  func open(_ wanted: PlannedExchange) async throws(Interruption) -> OpenedExchange? {
    do throws(Interruption) {
      let opened = try await ask(for: wanted)
      if let opened {
        // An answer from byte 0 is what the others bring already.
        guard opened.isPart || !team.hasOthers else {
          opened.exchange.abandon()
          throw Interruption.left(reason: "the origin answers ranges with the whole")
        }
        if opened.isPart {
          team.traffic.noteServedRange()
        } else if let orphan = team.takeOrphans(before: position) {
          take(orphan)
        }
      }
      team.noteOpened(self)
      return opened
    } catch {
      guard team.hasOthers, !Task.isCancelled else { throw error }
      switch error {
      case .left: throw error
      case .ended(.cancelled): throw error
      case .ended(let outcome): throw .left(reason: outcome.explanation)
      case .retry(let failure, _): throw .left(reason: failure.explanation)
      }
    }
  }

  private func ask(for wanted: PlannedExchange) async throws(Interruption) -> OpenedExchange? {
    let asked: ByteSpan? = approach == .range ? wanted.claim : nil
    let answer: PartialAnswer
    do {
      answer = try await PartialAnswer.ask(
        for: asked, of: representation, coding: team.coding, source: source, pool: team.pool, now: table.now)
    } catch {
      if case .cancelled = error { throw .ended(.cancelled) }
      throw .retry(error, after: nil)
    }
    switch answer.verdict {
    case .body(let opened):
      var opened = opened
      opened.bridged = wanted.bridged
      misfits = 0
      table.digests.hear(answer.head, of: representation)
      try boundShortAnswers(opened, asked: wanted.claim)
      return opened
    case .ended(let total):
      try learn(total: total)
      return nil
    case .changed(let reason): throw .ended(.changed(reason: reason))
    case .refused(let status): throw .ended(.refused(status: status))
    case .later(let status, let seconds): throw .retry(.unavailable(source.origin, status: status), after: seconds)
    case .wrong(let reason):
      table.counters.wrongAnswers.add()
      table.log.warning("\(source.target.absolute): refused the answer to \(wanted.claim): \(reason)")
      guard approach == .range, team.isResumable else { throw .ended(.wrong(reason: reason)) }
      misfits += 1
      // Beside others a fill leaves; alone it reads the whole, as far as it must. Where ranges are served, one bad answer
      // is no reason to.
      if !team.hasOthers, misfits > 1 || !team.servesRanges { approach = .whole }
      throw .retry(.unusable(source.origin, reason: reason), after: nil)
    }
  }

  /// The total has become known: the claim ends there, or the origin has another representation.
  func learn(total: UInt64) throws(Interruption) {
    guard representation.setTotal(total) else {
      throw .ended(.changed(reason: "its length is \(total)"))
    }
    claim.shorten(to: total)
  }

  /// Honest answers that are shorter than asked are followed up, but not one after another in crumbs.
  private func boundShortAnswers(_ opened: OpenedExchange, asked: ByteSpan) throws(Interruption) {
    guard opened.isCrumb(of: asked) else {
      crumbs = 0
      return
    }
    crumbs += 1
    guard crumbs <= table.settings.fills.attempts else {
      throw .ended(.wrong(reason: "\(crumbs) answers in a row with a few bytes each"))
    }
  }
}
