// A request that no stored variant matches, although there are some: the origin may choose one of them for it.

import CachePolicy
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import Store
import Upstream

extension CachedRequest {
  /// The stored responses that a request may name to the origin as ones it could use (RFC 9111 §4.3.1): complete ones
  /// with a strong tag, as long as the client has no conditions or ranges of its own, which would mean something else.
  func offered(_ siblings: [StoredEntry]) -> [StoredEntry] {
    guard !siblings.isEmpty, !asksPlainly, !Self.ownConditions.contains(where: request.fields.contains) else {
      return []
    }
    let usable = siblings.filter { entry in
      guard entry.response.status == 200, entry.representation.isComplete,
        case .strongTag = entry.representation.validator
      else { return false }
      return true
    }
    return Array(usable.prefix(Self.offers))
  }

  /// A 304 in answer to the tags of several variants: it names the one that answers this request (RFC 9111 §4.3.4).
  func serveChosen(_ answer: OriginAnswer, among choices: [StoredEntry], _ reason: ForwardReason) async -> Attempt {
    answer.exchange.finish()
    let indices = freshened(by: answer.head, among: choices.map(\.response), now: answer.responseTime)
    guard let first = indices.first else {
      // It does not say which: the origin is asked without conditions.
      asksPlainly = true
      return .lookAgain
    }
    // RFC 9111 §4.3.4: all that have its strong validator are updated.
    for index in indices.dropFirst() {
      context.store.update(choices[index], answer.updating(choices[index], for: forwarded.head, context.rules))
    }
    return await serveFreshened(choices[first], by: answer, reason) { fresh in
      // Its bytes are stored once, whoever selects them.
      let own = context.store.add(
        chosen(fresh.response, for: forwarded.head), for: key, representation: fresh.representation)
      await admission.boundVariants(besides: own)
    }
  }

  /// Serves a stored response that a 304 has updated, and keeps it if the 304 allows that.
  ///
  /// - Parameter keep: is called with it in that case.
  func serveFreshened(
    _ entry: StoredEntry, by answer: OriginAnswer, _ reason: ForwardReason,
    keep: (StoredEntry) async -> Void = { _ in }
  ) async -> Attempt {
    let fresh = context.store.update(entry, answer.updating(entry, for: forwarded.head, context.rules))
    // Its bytes may have gone while the origin was asked; then nothing is stored of it any more.
    if fresh.representation.isSuperseded, !(await isPresent(fresh)) { return .lookAgain }
    let isKept = mayStayStored(fresh.response, rules: context.rules)
    if isKept { await keep(fresh) }
    ownFields = unstorableFields(of: answer.head, rules: context.rules)
    let status = CacheStatus(
      .forwarded(reason, status: 304, collapsed: waitedInVain), ttl: timeToLive(of: fresh))
    let attempt = await serve(fresh, status)
    if !isKept { context.store.remove(fresh) }
    return attempt
  }

  private static let ownConditions: [FieldName] = [
    .range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
  ]
  /// How many tags one request names at most.
  private static let offers = 16
}
