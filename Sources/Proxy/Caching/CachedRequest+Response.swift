// The response from the store: which status, which part, which fields, and the body as it is or becomes present.

import CachePolicy
import Configuration
import Diagnostics
import Fill
import HTTPMessage
import Spans
import Store
import Upstream

extension CachedRequest {
  /// What of the stored representation this request is answered with.
  func select(from entry: StoredEntry) -> RangeSelection {
    // There are no ranges of what is coded on the way.
    guard !form(of: entry).isTransformed else { return .whole }
    return RangeSelection.select(
      for: request, from: entry.response, total: entry.representation.total, limit: settings.limits.ranges,
      now: context.now)
  }

  /// Serves a stored response that may be served; what is missing of it is fetched.
  func serve(_ entry: StoredEntry, _ status: CacheStatus, supply: Supply? = nil) async -> Attempt {
    // Nobody waits for this client to take its response.
    lead = nil
    context.store.touch(entry)
    let served = entry.response.served(as: form(of: entry))
    if case .notModified = evaluateConditionals(of: request, against: served, now: context.now) {
      var head = ResponseHead(status: 304, fields: notModifiedFields(of: served))
      head.fields.append(contentsOf: ownFields)
      transaction.send(aged(head, entry), framing: .none, status: status, upstream: true)
      count(status)
      await transaction.end()
      return .answered
    }
    let supply = supply ?? Supply(entry: entry, parts: transaction.parts, source: source)
    return await respond(entry, select(from: entry), supply, status, isFromOrigin: false)
  }

  /// Sends the selected part once its first byte is there.
  ///
  /// - Parameter isFromOrigin: the response has just come; then its Age is what the origin said.
  func respond(
    _ entry: StoredEntry, _ selection: RangeSelection, _ supply: Supply, _ status: CacheStatus, isFromOrigin: Bool
  ) async -> Attempt {
    var (selection, status, entry, supply) = (selection, status, entry, supply)
    let form = form(of: entry)
    status.detail = status.detail ?? form.detail
    if case .awaitsTotal = selection {
      if let attempt = await findEnd(of: selection, entry, supply, status.forwardReason ?? .partial) { return attempt }
      selection = entry.representation.total == nil ? selection : select(from: entry)
    }
    if request.method != .head {
      let isMissing = await isAnythingMissing(of: selection, entry)
      if isMissing, RequestCacheControl(request.fields).onlyIfCached { return await answerUncached() }
      if isMissing, !isFromOrigin, await isLost(selection, entry, supply) { return await miss(.partial) }
      if isMissing || supply.hasFetched, case .hit = status.handling { status.handling = .forwarded(.partial) }
      if let first = selection.spans(total: entry.representation.total).first, isMissing {
        switch await prepare(first, entry, supply, status.forwardReason ?? .partial) {
        case .ready(let freshEntry, let freshSupply): (entry, supply) = (freshEntry, freshSupply)
        case .attempt(let attempt): return attempt
        }
      }
      if supply.wasRefused {
        status = status.unstored
      } else if case .forwarded(.partial, let code, let stored, _) = status.handling, !supply.hasFetched,
        await isFollowed(selection, entry, supply)
      {
        status.handling = .forwarded(.partial, status: code, stored: stored, collapsed: true)
      }
    }
    let total = entry.representation.total
    let sender = BodySender(transaction, supply: supply, source: source, coding: CodedBody(form, transaction))
    if request.method != .head, !isFromOrigin, let first = selection.spans(total: total).first,
      case .present = await entry.representation.presence(at: first.lower, upTo: first.upper)
    {
      do {
        try await sender.open(first)
      } catch {
        context.log.info("\(key.text): \(error.explanation); asking the origin for them")
        return .lookAgain
      }
    }
    count(status)
    var head = ResponseHead(
      status: entry.response.status, reason: entry.response.reason, fields: entry.response.served(as: form).fields)
    if !isFromOrigin { head = aged(head, entry) }
    if !ownFields.isEmpty { head.fields.append(contentsOf: ownFields) }
    if entry.isResumable, !head.fields.contains(.acceptRanges) {
      head.fields.set(.acceptRanges, "bytes")
    }
    switch selection {
    case .whole:
      // RFC 9110 §8.6: a 204 has no Content-Length.
      let length = form.isTransformed ? nil : total
      let framing = head.status == 204 ? OutgoingFraming.none : length.map { .length($0) } ?? .unknownLength
      transaction.send(head, framing: framing, status: status, upstream: true)
      if request.method != .head {
        return await finish(await sender.send(ByteSpan(0, total ?? .max)))
      }
    case .part(let span):
      return await sendPart(span, total: total, head, status, sender)
    case .awaitsTotal(.bounded(let first, let last)):
      return await sendPart(ByteSpan(first, last + 1), total: nil, head, status, sender)
    case .awaitsTotal:
      return await restart(entry)
    case .parts(let spans):
      return await sendParts(spans, total: total ?? 0, head, status, sender)
    case .unsatisfiable:
      // RFC 9110 §15.5.17.
      var fields: Fields = [.contentRange: ContentRange.unsatisfied(total: total ?? 0).fieldValue]
      for name: FieldName in [.date, .etag, .age] {
        if let value = head.fields.first(name) { fields.set(name, value) }
      }
      transaction.send(
        ResponseHead(status: 416, fields: fields), framing: .length(0), status: status, upstream: true)
    }
    await transaction.end()
    return .answered
  }

  /// Sees to what a range of unknown total depends on before the head goes out; nil once that is known.
  private func findEnd(
    of selection: RangeSelection, _ entry: StoredEntry, _ supply: Supply, _ reason: ForwardReason
  ) async -> Attempt? {
    guard case .awaitsTotal(let range) = selection, let wanted = selection.spans(total: nil).first else { return nil }
    if RequestCacheControl(request.fields).onlyIfCached, await isAnythingMissing(of: selection, entry) {
      return await answerUncached()
    }
    switch await supply.findEnd(of: range, in: wanted) {
    case .lookAgain: return nil
    case .cancelled:
      transaction.clientIsGone()
      return .answered
    case .failed where !entry.isResumable:
      return await restart(entry)
    case .failed(let outcome):
      switch await prepared(after: outcome, entry, supply, reason) {
      case .ready where entry.representation.total != nil: return nil
      case .ready:
        // How much there is to relay is not known either.
        await pass(.noSpace(reason))
        return .answered
      case .attempt(let attempt): return attempt
      }
    }
  }

  private enum Prepared {
    case ready(StoredEntry, Supply)
    case attempt(Attempt)
  }

  /// Sees to the first byte before the head goes out, so that a change at the origin costs the client nothing.
  ///
  /// - Parameter reason: why the request is forwarded, as it is told where that fails.
  private func prepare(
    _ span: ByteSpan, _ entry: StoredEntry, _ supply: Supply, _ reason: ForwardReason
  ) async -> Prepared {
    var (entry, supply) = (entry, supply)
    let reader = supply.read(span)
    // Eviction must not take the place that the origin is being asked for.
    let pin = entry.representation.pin(span)
    defer { withExtendedLifetime((reader, pin)) {} }
    for _ in 0..<Self.preparations {
      guard case .absent = await entry.representation.presence(at: span.lower, upTo: span.upper) else {
        return .ready(entry, supply)
      }
      if let total = entry.representation.total, span.lower >= total { return .ready(entry, supply) }
      if supply.isRelayed(span.lower) { return .ready(entry, supply) }
      let result: Supply.Result
      switch await supply.claim(span.lower, upTo: span.upper) {
      case .present: continue
      case .impossible:
        return .attempt(await miss(.partial))
      case .lead(let claim, let bridged):
        switch await ask(for: claim, bridged, of: entry, .partial) {
        case .attempt(let attempt): return .attempt(attempt)
        case .unusable:
          // The fill asks once more, and then for the whole under the same validator.
          supply.begin(claim)
          continue
        case .body(let opened, let freshEntry):
          entry = freshEntry
          supply = Supply(entry: entry, parts: transaction.parts, source: source)
          result = await supply.lead(claim, opened: opened, past: span.lower)
        }
      case .follow:
        result = await supply.obtain(span.lower, upTo: span.upper)
      }
      switch result {
      case .lookAgain: continue
      case .cancelled:
        transaction.clientIsGone()
        return .attempt(.answered)
      case .failed(let outcome):
        return await prepared(after: outcome, entry, supply, reason)
      }
    }
    return .attempt(.lookAgain)
  }

  /// A fill that was waited for has failed before anything went out.
  private func prepared(
    after outcome: FillOutcome, _ entry: StoredEntry, _ supply: Supply, _ reason: ForwardReason
  ) async -> Prepared {
    switch outcome {
    case .changed: return .attempt(.changed)
    case .complete, .cancelled: return .attempt(.lookAgain)
    case .storage where entry.isResumable: return .ready(entry, supply)
    case .storage:
      await pass(.noSpace(reason))
    case .wrong:
      await pass(.originAnswer(reason))
    case .refused(let status):
      context.log.info("\(key.text): the origin answered \(status) to a request for the rest")
      await pass(.originAnswer(reason))
    case .failed(let error), .timedOut(let error):
      await transaction.fail(error, status: CacheStatus(.forwarded(reason), detail: error.token))
    }
    return .attempt(.answered)
  }

  func isAnythingMissing(of selection: RangeSelection, _ entry: StoredEntry) async -> Bool {
    if entry.representation.isComplete { return false }
    if await firstGap(in: selection, of: entry) != nil { return true }
    return entry.representation.total == nil && selection.reachesToTheEnd
  }

  /// Whether what is missing can neither be asked for nor is on its way.
  private func isLost(_ selection: RangeSelection, _ entry: StoredEntry, _ supply: Supply) async -> Bool {
    guard !entry.isResumable, let gap = await firstGap(in: selection, of: entry),
      !supply.isOnItsWay(gap.lower)
    else { return false }
    // Between the two looks it may have come.
    if case .absent = await entry.representation.presence(at: gap.lower, upTo: gap.upper) { return true }
    return false
  }

  /// Whether what is missing, or was when the request came, is another's to bring.
  private func isFollowed(_ selection: RangeSelection, _ entry: StoredEntry, _ supply: Supply) async -> Bool {
    if supply.hasFollowed { return true }
    return await firstGap(in: selection, of: entry).map { supply.isOnItsWay($0.lower) } ?? false
  }

  private func firstGap(in selection: RangeSelection, of entry: StoredEntry) async -> ByteSpan? {
    for span in selection.spans(total: entry.representation.total) {
      if let gap = await entry.representation.gaps(in: span, limit: 1).first { return gap }
    }
    return nil
  }

  private func sendPart(
    _ span: ByteSpan, total: UInt64?, _ head: ResponseHead, _ status: CacheStatus, _ sender: BodySender
  ) async -> Attempt {
    var head = partial(head)
    head.fields.set(
      .contentRange, ContentRange.satisfied(first: span.lower, last: span.upper - 1, total: total).fieldValue)
    transaction.send(head, framing: .length(span.count), status: status, upstream: true)
    return await finish(await sender.send(span))
  }

  /// The head of a partial response. What was stated of the whole content does not hold for a part (RFC 9530 §2).
  private func partial(_ head: ResponseHead) -> ResponseHead {
    var fields = head.fields
    for name: FieldName in [.contentDigest, .contentMD5] { fields.remove(name) }
    return ResponseHead(status: 206, fields: fields)
  }

  private func sendParts(
    _ spans: [ByteSpan], total: UInt64, _ head: ResponseHead, _ status: CacheStatus, _ sender: BodySender
  ) async -> Attempt {
    let frame = Multipart(
      total: total, contentType: head.fields.first(.contentType),
      random: (UInt64.random(in: 0...(.max)), UInt64.random(in: 0...(.max))))
    var head = partial(head)
    head.fields.set(.contentType, frame.mediaType)
    transaction.send(head, framing: .length(frame.length(of: spans)), status: status, upstream: true)
    for span in spans {
      transaction.response.send(frame.head(of: span)[...])
      let ending = await sender.send(span)
      guard case .complete = ending else { return await finish(ending) }
    }
    transaction.response.send(frame.end[...])
    return await finish(.complete)
  }

  private func finish(_ ending: BodySender.Ending) async -> Attempt {
    switch ending {
    case .complete: await transaction.end()
    case .clientGone: transaction.clientIsGone()
    case .cut(let outcome):
      context.log.warning("\(transaction.record.identifier) \(key.text): response cut off: \(outcome.explanation)")
      transaction.abort()
    case .undecodable(let reason):
      context.log.warning("\(transaction.record.identifier) \(key.text): response cut off: \(reason)")
      transaction.abort()
    }
    return .answered
  }

  /// What is stored cannot be completed: it goes, and the request begins again as a miss.
  private func restart(_ entry: StoredEntry) async -> Attempt {
    if !entry.representation.isComplete { context.store.remove(entry) }
    return .changed
  }

  /// A stored head with its current Age (RFC 9111 §5.1).
  private func aged(_ head: ResponseHead, _ entry: StoredEntry) -> ResponseHead {
    var head = head
    head.fields.set(.age, FieldValue(terms(of: entry).freshness(at: context.now).age))
    return head
  }

  func count(_ status: CacheStatus) {
    switch status.handling {
    case .forwarded(.partial, _, _, _): context.counters.partialHits.add()
    // A response that another has fetched costs upstream nothing.
    case .hit, .forwarded(_, _, _, true): context.counters.hits.add()
    case .forwarded, .local: context.counters.misses.add()
    }
  }

  /// How often the first byte may turn out to be missing before the store is looked up anew.
  private static let preparations = 8
}
