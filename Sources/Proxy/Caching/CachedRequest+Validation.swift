// A stale stored response: the origin is asked whether it still holds, with as little sent as possible.

import CachePolicy
import Configuration
import Diagnostics
import Fill
import HTTPMessage
import Spans
import Store
import Upstream

extension CachedRequest {
  /// Validates a stored response before it is served (RFC 9111 §4.3).
  func validate(_ entry: StoredEntry, _ reason: ValidationReason) async -> Attempt {
    if reason == .stale, let attempt = await serveWhileValidating(entry) { return attempt }
    guard request.method == .get else { return await askHead(reason.forwardReason, stale: entry) }
    let supply = Supply(entry: entry, parts: transaction.parts, source: source)
    let selection = select(from: entry)
    switch await firstGap(in: selection, of: entry, supply) {
    case .none: return await validateWhole(entry, reason)
    case .claimed(let claim, let bridged):
      return await validateByGap(entry, supply, claim, bridged, reason)
    case .unobtainable: return await miss(reason.forwardReason)
    }
  }

  /// Asks the origin while eviction spares what the answer is about to be served from.
  private func sparing<Answer, Failure>(
    _ entry: StoredEntry, _ span: ByteSpan, _ ask: () async throws(Failure) -> Answer
  ) async throws(Failure) -> Answer {
    let pin = entry.representation.pin(span)
    defer { withExtendedLifetime(pin) {} }
    return try await ask()
  }

  private enum FirstGap {
    /// Nothing is missing, or others are bringing it.
    case none
    case claimed(Claim, bridged: [ByteSpan])
    /// What is missing cannot be combined with what is present.
    case unobtainable
  }

  private func firstGap(in selection: RangeSelection, of entry: StoredEntry, _ supply: Supply) async -> FirstGap {
    for span in selection.spans(total: entry.representation.total) {
      guard let gap = await entry.representation.gaps(in: span, limit: 1).first else { continue }
      switch await supply.claim(gap.lower, upTo: span.upper) {
      case .present, .follow: return .none
      case .lead(let claim, let bridged): return .claimed(claim, bridged: bridged)
      case .impossible: return .unobtainable
      }
    }
    return .none
  }

  /// The request for the first gap, under the stored validator, is the validation; nothing leaves before its head.
  private func validateByGap(
    _ entry: StoredEntry, _ supply: Supply, _ claim: Claim, _ bridged: [ByteSpan], _ reason: ValidationReason
  ) async -> Attempt {
    let reader = supply.read(claim.span)
    defer { withExtendedLifetime(reader) {} }
    let answer = await sparing(entry, claim.span) {
      await ask(for: claim, bridged, of: entry, reason.forwardReason)
    }
    switch answer {
    case .attempt(let attempt): return attempt
    case .unusable(let why):
      claim.end(.wrong(reason: why))
      return await validateWhole(entry, reason)
    case .body(let opened, let freshEntry):
      let supply = Supply(entry: freshEntry, parts: transaction.parts, source: source)
      await sparing(freshEntry, claim.span) { await supply.begin(claim, ifRoomFor: opened) }
      let status = CacheStatus(
        .forwarded(reason.forwardReason, status: 206), ttl: timeToLive(of: freshEntry))
      return await serve(freshEntry, status, supply: supply)
    }
  }

  /// What came of asking for a gap before anything has gone out to the client.
  enum GapAnswer {
    case body(OpenedExchange, StoredEntry)
    case attempt(Attempt)
    /// The origin's answer does not fit the range; the claim is still the caller's.
    case unusable(reason: String)
  }

  /// Asks for a claimed gap; where the origin answers with something else, that is the answer to this request.
  func ask(
    for claim: Claim, _ bridged: [ByteSpan], of entry: StoredEntry, _ reason: ForwardReason
  ) async -> GapAnswer {
    transaction.goesUpstream()
    let requestTime = context.now
    let context = context
    do {
      let answer = try await PartialAnswer.ask(
        for: claim.span, of: entry.representation, coding: entry.response.fields.combined(.contentEncoding),
        source: source, pool: transaction.parts.pool, now: { context.now })
      switch answer.verdict {
      case .body(var opened):
        opened.bridged = bridged
        let response = updated(
          entry.response, with: answer.head, to: forwarded.head, requestTime: requestTime, responseTime: context.now,
          rules: context.rules)
        ownFields = unstorableFields(of: answer.head, rules: context.rules)
        return .body(opened, context.store.update(entry, response))
      case .changed(let why):
        return supersede(entry, claim, because: why)
      case .refused(let status):
        claim.end(.refused(status: status))
        await relay(answer, reason)
        return .attempt(.answered)
      case .later(let status, _):
        claim.end(.failed(.unavailable(source.origin, status: status)))
        await relay(answer, reason)
        return .attempt(.answered)
      case .wrong(let why):
        context.log.warning("\(key.text): refused the answer to \(claim.span): \(why)")
        context.fills.counters.wrongAnswers.add()
        return .unusable(reason: why)
      case .ended(let total):
        // What is stored of it may say that it is longer.
        guard entry.representation.setTotal(total) else {
          return supersede(entry, claim, because: "its length is \(total)")
        }
        // The end is known, and no more than that: a 416 is no validation (RFC 9111 §4.3.3), and may be another version's
        // where a cache on the way ignored If-Match (RFC 9110 §13.1.1). What has to be validated is still asked about.
        answer.exchange.finish()
        claim.end(.complete)
        DigestFollowUp(parts: transaction.parts, key: key, source: source).begin(entry.representation)
        return .attempt(.lookAgain)
      }
    } catch {
      // Where it is this client that has left, who has followed asks for itself.
      claim.end(FillOutcome(error))
      await transaction.fail(error, status: CacheStatus(.forwarded(reason), detail: error.token))
      return .attempt(.answered)
    }
  }

  /// The origin has another representation: what is stored goes, and the request begins again.
  private func supersede(_ entry: StoredEntry, _ claim: Claim, because reason: String) -> GapAnswer {
    context.log.info("\(key.text): the representation changed at the origin: \(reason)")
    context.fills.counters.superseded.add()
    claim.end(.changed(reason: reason))
    context.store.remove(entry)
    return .attempt(.changed)
  }

  private func relay(_ answer: PartialAnswer, _ reason: ForwardReason) async {
    context.counters.passes.add()
    await Relay(transaction, exchange: answer.exchange).run(answer.head, status: .passed(.originAnswer(reason)))
  }

  /// A conditional request with the client's own range, so that a change does not bring more than was asked.
  private func validateWhole(_ entry: StoredEntry, _ reason: ValidationReason) async -> Attempt {
    var fields = source.fields
    // RFC 9111 §4.3.2: the client's tags go along, so that one question serves both.
    let own = asksPlainly || request.fields.contains(.range) ? Fields() : request.fields
    let conditions = conditionalFields(for: [entry.response], client: own)
    guard !conditions.isEmpty else { return await miss(reason.forwardReason, stale: entry) }
    switch await standing(reason.forwardReason) {
    case .goes: break
    case .lookAgain: return .lookAgain
    case .gone: return .answered
    }
    if case .bytes(let ranges) = RangeField.parse(request.fields, limit: settings.limits.ranges), ranges.count == 1 {
      fields.set(.range, ranges[0].fieldValue)
      // RFC 9110 §13.1.5: should the answer be another representation, a part of it is of use under its condition only.
      for value in request.fields.all(.ifRange) { fields.append(.ifRange, value) }
    }
    fields.append(contentsOf: conditions)
    do {
      let answer = try await sparing(entry, ByteSpan(0, entry.representation.total ?? .max)) {
        () throws(UpstreamError) in
        try await ask(fields)
      }
      if let attempt = await serve(entry, insteadOf: answer, reason.forwardReason) { return attempt }
      guard answer.head.status == 304 else {
        return await take(answer, reason.forwardReason, isCut: false, stale: entry)
      }
      return await take304(answer, entry, reason.forwardReason)
    } catch {
      if let attempt = await serve(entry, insteadOf: error, reason.forwardReason) { return attempt }
      leadNoFurther()
      await transaction.fail(error, status: CacheStatus(.forwarded(reason.forwardReason), detail: error.token))
      return .answered
    }
  }

  /// A 304 is about the stored response, or about what the client has, or about neither (RFC 9111 §4.3.3, §4.3.4).
  private func take304(_ answer: OriginAnswer, _ entry: StoredEntry, _ reason: ForwardReason) async -> Attempt {
    let named = validator(of: answer.head.fields, responseTime: answer.responseTime)
    if named == .none, answer.asked.fields.all(.ifNoneMatch).contains(where: { $0.bytes.contains(ASCII.comma) }) {
      // It names none of the tags that it was asked about: only the stored one is asked about next.
      answer.exchange.finish()
      asksPlainly = true
      return .lookAgain
    }
    if answer.freshens(entry) {
      answer.exchange.finish()
      return await serveFreshened(entry, by: answer, reason)
    }
    // Whatever it is about, it is not what is stored.
    context.store.remove(entry)
    if isClients(answer.head) {
      leadNoFurther()
      context.counters.passes.add()
      await Relay(transaction, exchange: answer.exchange).run(answer.head, status: .passed(.clientsOwn(reason)))
      return .answered
    }
    answer.exchange.finish()
    return .changed
  }

  /// Whether a 304 is about a tag that the client itself has asked about.
  private func isClients(_ notModified: ResponseHead) -> Bool {
    guard let value = notModified.fields.first(.etag), let tag = EntityTag.parse(value),
      case .tags(let own) = EntityTagList.parse(request.fields, .ifNoneMatch)
    else { return false }
    return own.contains { $0.weakMatches(tag) }
  }
}
