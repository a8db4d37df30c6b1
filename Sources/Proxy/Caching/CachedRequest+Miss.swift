// A miss: the request runs the exchange itself up to the response head; then the body becomes a fill or a pass.

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import HTTPWire
import Spans
import Store
import Upstream

extension CachedRequest {
  /// Goes upstream for what is not stored, unless another request for the same is on its way already.
  func miss(_ reason: ForwardReason) async -> Attempt {
    guard request.method == .get else {
      await pass(.head(reason))
      return .answered
    }
    var lead: Collapser.Lead?
    switch await standing() {
    case .alone: break
    case .leads(let taken): lead = taken
    case .lookAgain: return .lookAgain
    }
    defer { lead?.end() }
    var fields = forwarded.fields
    var isCut = false
    if avoidsRanges {
      for name: FieldName in [.range, .ifRange] { fields.remove(name) }
    } else if case .bytes(let ranges) = RangeField.parse(fields, limit: settings.limits.ranges), ranges.count > 1 {
      // Several ranges: the first alone; the others follow as gaps (design: what is asked).
      fields.set(.range, ranges[0].fieldValue)
      isCut = true
    }
    do {
      return await take(try await ask(fields), reason, isCut: isCut, lead: lead)
    } catch {
      await transaction.fail(error, status: CacheStatus(.forwarded(reason), detail: error.token))
      return .answered
    }
  }

  /// Asks the origin with these fields, up to the head of its final response.
  func ask(_ fields: Fields) async throws(UpstreamError) -> OriginAnswer {
    transaction.goesUpstream()
    let asked = forwarded.upstream(fields: fields)
    let requestTime = context.now
    let (exchange, head) = try await Exchange.perform(
      asked, pool: transaction.parts.pool, interim: { await self.transaction.relayInterim($0) })
    return OriginAnswer(
      exchange: exchange, head: head, asked: asked.head, requestTime: requestTime, responseTime: context.now)
  }

  enum UpstreamStanding {
    case alone
    case leads(Collapser.Lead)
    case lookAgain
  }

  /// Whether to go upstream or to wait for who is on the way: once, and not for what could not be shared last time.
  func standing() async -> UpstreamStanding {
    transaction.goesUpstream()
    guard !hasWaited, !context.passMemory.contains(key) else { return .alone }
    let deadline = Deadline.after(seconds: settings.fills.collapseTimeout.inSeconds)
    switch await context.collapser.enter(key, deadline: deadline, loop: transaction.parts.loop) {
    case .leads(let lead): return .leads(lead)
    case .waited, .slow:
      hasWaited = true
      return .lookAgain
    }
  }

  /// A final response head from the origin: it is stored and served from the store, or relayed.
  ///
  /// - Parameter isCut: the origin was asked for the first of several ranges only.
  /// - Parameter stale: the stored response that the origin was asked about.
  func take(
    _ answer: OriginAnswer, _ reason: ForwardReason, isCut: Bool, lead: Collapser.Lead?, stale: StoredEntry? = nil
  ) async -> Attempt {
    let head = answer.head
    if head.status == 304, !answer.isConditional {
      answer.exchange.abandon()
      let error = UpstreamError.unusable(Origin(forwarded.target), reason: "304 to a request without conditions")
      await transaction.fail(error, status: CacheStatus(.forwarded(reason), detail: error.token))
      return .answered
    }
    if head.status == 206, let fault = answer.fault() {
      context.log.warning(
        "\(key.text): refused the answer to \(answer.askedRange?.text ?? "the whole"): \(fault.rawValue)")
      context.fills.counters.wrongAnswers.add()
      answer.exchange.abandon()
      guard !avoidsRanges else {
        let error = UpstreamError.unusable(Origin(forwarded.target), reason: fault.rawValue)
        await transaction.fail(error, status: CacheStatus(.forwarded(reason), detail: fault.rawValue))
        return .answered
      }
      avoidsRanges = true
      hasWaited = true
      return .lookAgain
    }
    switch await storable(answer, reason) {
    case .pass(let refusal):
      // RFC 9111 §4.3.3: the full response is the answer now, so what is stored for the request is out of date.
      if let stale, head.status < 300 { context.store.remove(stale) }
      context.passMemory.remember(key)
      lead?.end()
      if case .noSpace = refusal { context.log.warning("\(key.text): not stored: \(StoreError.noSpace.explanation)") }
      // RFC 9110 §14.1.2: what the first range comes to says nothing of the others.
      if isCut, head.status == 206 || head.status == 416 {
        answer.exchange.abandon()
        await pass(refusal)
      } else {
        context.counters.passes.add()
        await Relay(transaction, exchange: answer.exchange, acceptsTrailers: forwarded.acceptsTrailers)
          .run(head, status: .passed(refusal))
      }
      return .answered
    case .body(let body):
      context.passMemory.forget(key)
      return await store(answer, body, reason, lead: lead)
    }
  }

  /// The part of a representation that an exchange's body will bring.
  struct IncomingBody {
    let validator: Validator
    let lower: UInt64
    let upper: UInt64?
    let total: UInt64?
    let reservation: Reservation
  }

  /// What becomes of a response's body.
  private enum Storing {
    case body(IncomingBody)
    case pass(PassReason)
  }

  /// Whether the response may become a fill, by RFC 9111 and by what the store can take.
  private func storable(_ answer: OriginAnswer, _ reason: ForwardReason) async -> Storing {
    switch storability(of: answer.head, to: answer.asked, now: answer.responseTime, rules: context.rules) {
    case .refuse(let refusal): return .pass(.refused(refusal, reason))
    case .store: break
    }
    let validator = validator(of: answer.head.fields, responseTime: answer.responseTime)
    let lower: UInt64
    let upper: UInt64?
    let total: UInt64?
    if let range = answer.contentRange {
      guard validator.isStrong, let known = range.total else { return .pass(.partialUnvalidated(reason)) }
      (lower, upper, total) = (range.span.lower, range.span.upper, known)
    } else {
      lower = 0
      switch answer.exchange.responseFraming {
      case .none: (upper, total) = (0, 0)
      case .length(let length): (upper, total) = (length, length)
      case .chunked: (upper, total) = (nil, nil)
      case .untilClose:
        guard settings.freshness.storeCloseDelimited else { return .pass(.closeDelimited(reason)) }
        (upper, total) = (nil, nil)
      }
    }
    // Where the rest could not be asked for again, room for all of it is made sure of first (design: Space).
    let window = UInt64(settings.cache.smallBody)
    let needed = (upper ?? window) - min(lower, upper ?? window)
    // A body that cannot even begin is relayed from this very exchange, and nothing is asked for twice.
    let first = validator.isStrong ? min(needed, FillRunner.reservationWindow) : needed
    guard let reservation = await context.store.makeRoom(for: first) else {
      return .pass(.noSpace(reason))
    }
    return .body(
      IncomingBody(validator: validator, lower: lower, upper: upper, total: total, reservation: reservation))
  }

  /// Stores the response, begins the fill of its body, and serves the request as a reader of it.
  private func store(
    _ answer: OriginAnswer, _ body: IncomingBody, _ reason: ForwardReason, lead: Collapser.Lead?
  ) async -> Attempt {
    let response = StoredResponse(
      storing: answer.head, to: answer.asked, requestTime: answer.requestTime, responseTime: answer.responseTime)
    let representation =
      await known(body, response)
      ?? context.store.makeRepresentation(validator: body.validator, total: body.total)
    let entry = context.store.add(response, for: key, representation: representation)
    await boundVariants()
    let supply = Supply(entry: entry, parts: transaction.parts, source: source)
    // Known as a reader before the fill looks for one.
    let reader = supply.reader(of: ByteSpan(body.lower, body.upper ?? .max))
    supply.begin(
      ByteSpan(body.lower, body.upper ?? .max),
      opened: OpenedExchange(
        exchange: answer.exchange, offset: body.lower, upper: body.upper, total: body.total),
      reservation: body.reservation)
    lead?.end()
    var selection = select(from: entry)
    // RFC 9110 §14.2: Range may be ignored; what lies far behind would keep the client waiting for its first byte.
    if answer.head.status == 200, case .part(let span) = selection, span.lower > settings.fills.rangeSkip {
      selection = .whole
    }
    let status = CacheStatus(.forwarded(reason, stored: true))
    let attempt = await respond(entry, selection, supply, status, isFromOrigin: true)
    withExtendedLifetime(reader) {}
    return attempt
  }
}

extension CachedRequest {
  /// The representation that is stored already under the same strong validator: its bytes are the same ones
  /// (RFC 9111 §3.4), and none of them is fetched again.
  private func known(_ body: IncomingBody, _ response: StoredResponse) async -> Representation? {
    guard body.validator.isStrong else { return nil }
    return await context.store.entries(for: key).first { entry in
      entry.response.nominated == response.nominated && entry.representation.validator == body.validator
        && (body.total == nil || entry.representation.total == body.total) && !entry.representation.isSuperseded
        && entry.response.fields.combined(.contentEncoding) == response.fields.combined(.contentEncoding)
    }?.representation
  }

  /// One key holds a bounded number of variants: the one validated longest ago goes.
  private func boundVariants() async {
    let entries = await context.store.entries(for: key)
    guard entries.count > settings.limits.variants else { return }
    if let oldest = entries.min(by: { $0.response.responseTime < $1.response.responseTime }) {
      context.store.remove(oldest)
    }
  }
}

extension Transaction {
  /// Forwards an interim response, without what belongs to the connection it came on.
  func relayInterim(_ head: ResponseHead) async {
    var head = head
    head.fields.removeHopByHop()
    await response.sendInterim(head)
  }
}
