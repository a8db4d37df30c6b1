// A miss: the request runs the exchange itself up to the response head; then the body becomes a fill or a pass.

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import Spans
import Store
import Upstream

extension CachedRequest {
  /// Goes upstream for what is not stored, unless another request for the same is on its way already.
  ///
  /// - Parameter siblings: what is stored for other values of the fields that Vary nominates. The origin is told of
  ///   them, so that it can choose one for this request too (RFC 9111 §4.1, §4.3.1).
  /// - Parameter stale: the stored response that is out of date and has nothing to validate it by.
  func miss(
    _ reason: ForwardReason, siblings: [StoredEntry] = [], stale: StoredEntry? = nil
  ) async -> Attempt {
    switch request.method {
    case .get: break
    case .head: return await askHead(reason)
    case _:
      // Only the answer to an unsafe request comes here, when its body cannot be had.
      await pass(.originAnswer(reason))
      return .answered
    }
    switch await standing(reason) {
    case .goes: break
    case .lookAgain: return .lookAgain
    case .gone: return .answered
    }
    var fields = forwarded.fields
    /// What is left of several ranges while one of them is asked for.
    var others: [ByteRange] = []
    if avoidsRanges {
      for name: FieldName in [.range, .ifRange] { fields.remove(name) }
    } else if case .bytes(let ranges) = RangeField.parse(fields, limit: settings.limits.ranges), ranges.count > 1 {
      // Several ranges: the first alone; the others follow as gaps (design: what is asked).
      fields.set(.range, ranges[0].fieldValue)
      others = Array(ranges[1...])
    }
    let choices = offered(siblings)
    if !choices.isEmpty { fields.append(contentsOf: conditionalFields(for: choices.map(\.response))) }
    do {
      var answer = try await ask(fields)
      if answer.head.status == 416, !others.isEmpty {
        others = answer.satisfiable(of: others)
        if let next = others.first {
          answer.exchange.finish()
          fields.set(.range, next.fieldValue)
          answer = try await ask(fields)
        }
      }
      if let attempt = await serve(stale, insteadOf: answer, reason) { return attempt }
      if answer.head.status == 304, !choices.isEmpty { return await serveChosen(answer, among: choices, reason) }
      return await take(answer, reason, isCut: !others.isEmpty, stale: stale)
    } catch {
      if let attempt = await serve(stale, insteadOf: error, reason) { return attempt }
      let status = CacheStatus(.forwarded(reason, collapsed: waitedInVain), detail: error.token)
      leadNoFurther()
      await transaction.fail(error, status: status)
      return .answered
    }
  }

  /// Asks the origin with these fields, up to the head of its final response.
  func ask(_ fields: Fields) async throws(UpstreamError) -> OriginAnswer {
    transaction.goesUpstream()
    return try await OriginAnswer.to(
      forwarded.upstream(fields: fields), transaction.parts, interim: { await self.transaction.relayInterim($0) })
  }

  enum UpstreamStanding {
    /// It goes, alone or with others waiting for its `lead`.
    case goes
    case lookAgain
    /// The client has left meanwhile.
    case gone
  }

  /// Whether to go upstream or to wait for who is on the way: once, and not for what could not be shared last time.
  func standing(_ reason: ForwardReason) async -> UpstreamStanding {
    transaction.goesUpstream()
    // Who leads already must not wait for itself.
    guard lead == nil, !hasWaited, !context.passMemory.contains(key),
      !request.fields.contains(.range) || !context.partMemory.contains(key)
    else { return .goes }
    let deadline = Deadline.after(seconds: settings.fills.collapseTimeout.inSeconds)
    switch await context.collapser.enter(key, deadline: deadline, loop: transaction.parts.loop) {
    case .leads(let taken):
      lead = taken
      return .goes
    // Who has no condition of its own gets an answer that others can use.
    case .unanswered where !isConditional && waitsInVain < Self.waitsInVain: waitsInVain += 1
    case .waited, .unanswered, .slow: hasWaited = true
    }
    waitedFor = reason
    guard !Task.isCancelled else {
      transaction.clientIsGone()
      return .gone
    }
    return .lookAgain
  }

  /// What came, if anything, is of no use to those who wait for it: one of them goes next.
  func leadNoFurther() {
    lead?.endUnanswered()
    lead = nil
  }

  private var isConditional: Bool {
    request.fields.contains(.ifNoneMatch) || request.fields.contains(.ifModifiedSince)
  }

  /// How often a request waits for others whose answers turn out to be for their clients alone.
  private static let waitsInVain = 3

  /// A final response head from the origin: it is stored and served from the store, or relayed.
  ///
  /// - Parameter isCut: the origin was asked for the first of several ranges only.
  /// - Parameter stale: the stored response that the origin was asked about.
  func take(
    _ answer: OriginAnswer, _ reason: ForwardReason, isCut: Bool, stale: StoredEntry? = nil
  ) async -> Attempt {
    let head = answer.head
    if head.status == 304, !answer.isConditional {
      answer.exchange.abandon()
      leadNoFurther()
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
    switch await admission.judge(answer, reason) {
    case .pass(let refusal):
      if let stale, answer.outdates(stale) { context.store.remove(stale) }
      switch answer.bearing {
      case .nobody: leadNoFurther()
      case .whoAsksForParts:
        context.partMemory.remember(key)
        leadNoFurther()
      case .everybody:
        context.passMemory.remember(key)
        lead = nil
      }
      // RFC 9110 §14.1.2: what the first range comes to says nothing of the others.
      if isCut, head.status == 206 || head.status == 416 {
        answer.exchange.abandon()
        await pass(refusal)
      } else {
        context.counters.passes.add()
        await Relay(transaction, exchange: answer.exchange, acceptsTrailers: forwarded.acceptsTrailers)
          .run(head, status: .passed(refusal, collapsed: waitedInVain))
      }
      return .answered
    case .body(let body):
      context.passMemory.forget(key)
      context.partMemory.forget(key)
      return await store(answer, body, reason)
    }
  }

  /// Stores the response, begins the fill of its body, and serves the request as a reader of it.
  func store(_ answer: OriginAnswer, _ body: Admission.IncomingBody, _ reason: ForwardReason) async -> Attempt {
    let admitted = await admission.store(answer, body)
    lead = nil
    ownFields = unstorableFields(of: answer.head, body.terms)
    var selection = select(from: admitted.entry)
    // RFC 9110 §14.2: Range may be ignored; what lies far behind would keep the client waiting for its first byte.
    if answer.head.status == 200, let first = selection.first, first > settings.fills.rangeSkip { selection = .whole }
    let status = CacheStatus(
      .forwarded(reason, status: answer.head.status, stored: true, collapsed: waitedInVain),
      ttl: timeToLive(of: admitted.entry))
    if let supply = admitted.supply {
      return await respond(admitted.entry, selection, supply, status, isFromOrigin: true)
    }
    if let queued = answerWhole(admitted.entry, selection, status) {
      await transaction.end()
      withExtendedLifetime(queued) {}
      return .answered
    }
    let supply = Supply(entry: admitted.entry, parts: transaction.parts, source: source)
    supply.noteWhole()
    return await respond(admitted.entry, selection, supply, status, isFromOrigin: true)
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
