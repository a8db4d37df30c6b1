// Passes on what the store has no room for, straight from upstream (design: Space).

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import Spans
import Store
import Upstream

extension BodySender {
  /// Asks for bytes that the store cannot take, under the validator of those it has, and passes them on.
  func relay(_ span: ByteSpan) async -> Ending {
    let context = transaction.context
    guard supply.entry.isResumable || supply.hasRefused(at: span.lower) else { return .cut(supply.unobtainable) }
    var position = span.lower
    var upper = span.upper
    var retry = RetryPolicy(context.settings)
    var wrongParts = 0
    var crumbs = 0
    while position < upper {
      let before = position
      let failure: FillOutcome
      var retryAfter: Double?
      do {
        switch try await answer(for: ByteSpan(position, upper), isPart: wrongParts < Self.wrongParts) {
        case .changed(let reason): return .cut(.changed(reason: reason))
        case .refused(let status): return .cut(.refused(status: status))
        case .ended(let total):
          // Where the end was not known, nothing may be missing.
          guard upper == .max, total == position else { return .cut(.changed(reason: "its length is \(total)")) }
          return .complete
        case .later(let status, let seconds):
          failure = .refused(status: status)
          retryAfter = seconds
        case .wrong(let reason):
          context.fills.counters.wrongAnswers.add()
          wrongParts += 1
          failure = .wrong(reason: reason)
        case .body(let opened):
          if let ending = try await pass(opened, from: &position, upTo: upper) { return ending }
          // Where the end was not known, it is the total that was stated, or else where a whole answer ended.
          if upper == .max { upper = opened.total ?? position }
          crumbs = opened.isCrumb(of: ByteSpan(before, upper)) ? crumbs + 1 : 0
          guard crumbs <= context.settings.fills.attempts else {
            return .cut(.wrong(reason: "\(crumbs) answers in a row with a few bytes each"))
          }
          guard position == before, position < upper else { continue }
          failure = .failed(.unusable(Origin(source.target), reason: "it brought nothing new"))
        }
      } catch {
        failure = .failed(error as? UpstreamError ?? .closedEarly(Origin(source.target)))
      }
      guard supply.entry.isResumable else { return .cut(failure) }
      if position > before { retry.progressed() }
      switch retry.failed(retryAfter: retryAfter, jitter: Double.random(in: 0...1)) {
      case .giveUp: return .cut(failure)
      case .again(let seconds):
        if seconds > 0 { await transaction.parts.loop.sleep(until: .after(seconds: seconds)) }
        if Task.isCancelled { return .clientGone }
        context.log.info("\(source.target.absolute): \(failure.explanation); asking again from byte \(position)")
      }
    }
    return .complete
  }

  /// What upstream says to a request for `span`, or for all of it; where it has been asked already, what it said then.
  private func answer(for span: ByteSpan, isPart: Bool) async throws(UpstreamError) -> PartialAnswer.Verdict {
    if let refused = supply.takeRefused(at: span.lower) { return .body(refused) }
    let context = transaction.context
    return try await PartialAnswer.ask(
      for: isPart ? span : nil, of: supply.representation,
      coding: supply.entry.response.fields.combined(.contentEncoding), source: source,
      pool: transaction.parts.pool, now: { context.now }
    ).verdict
  }

  /// Passes on what an exchange brings of the bytes from `position` to `upper`, and ends it.
  ///
  /// - Returns: how the response ends, if it does.
  private func pass(
    _ opened: OpenedExchange, from position: inout UInt64, upTo upper: UInt64
  ) async throws -> Ending? {
    var offset = opened.offset
    var isUnderWay = true
    // An answer with the whole goes on behind what is wanted of it.
    while isUnderWay, position < upper {
      isUnderWay = try await opened.exchange.readBody { piece in
        let bytes = ByteSpan(offset, offset + UInt64(piece.byteCount))
        offset = bytes.upper
        guard let wanted = bytes.intersection(ByteSpan(position, upper)) else { return }
        let rest = piece.extracting(Int(wanted.lower - bytes.lower)..<Int(wanted.upper - bytes.lower))
        if let coding { coding.gather(rest) } else { transaction.response.send(rest) }
        position = wanted.upper
        transaction.record.bytesFromUpstream += wanted.count
      }
      if let ending = await coding?.sendGathered() { return ending }
      guard await flush(downTo: Self.sendBuffer) else { return .clientGone }
    }
    if opened.exchange.isComplete { opened.exchange.finish() } else { opened.exchange.abandon() }
    return nil
  }

  /// How many parts that do not fit what was asked are refused before the whole is asked for.
  private static let wrongParts = 2
}
