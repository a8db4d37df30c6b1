// HEAD that has to go upstream: it is relayed, and what it tells is noted in the stored responses to GET.

import CachePolicy
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import Store
import Upstream

extension CachedRequest {
  /// Relays a HEAD, and freshens what is stored or makes it stale by what it says (RFC 9111 §4.3.5).
  ///
  /// - Parameter stale: the stored response that would have answered if it were fresh.
  func askHead(_ reason: ForwardReason, stale: StoredEntry? = nil) async -> Attempt {
    do {
      let answer = try await ask(forwarded.fields)
      if let attempt = await serve(stale, insteadOf: answer, reason) { return attempt }
      await note(answer)
      context.counters.passes.add()
      await Relay(transaction, exchange: answer.exchange).run(answer.head, status: .passed(.head(reason)))
      return .answered
    } catch {
      if let attempt = await serve(stale, insteadOf: error, reason) { return attempt }
      await transaction.fail(error, status: CacheStatus(.forwarded(reason), detail: error.token))
      return .answered
    }
  }

  private func note(_ answer: OriginAnswer) async {
    let entries = await context.store.entries(for: key)
    for index in matchingVariants(request.fields, among: entries.map(\.response)) {
      let entry = entries[index]
      let update = updated(
        entry.response, withHead: answer.head, to: answer.asked, requestTime: answer.requestTime,
        responseTime: answer.responseTime, rules: context.rules)
      switch update {
      case .updated(let response): context.store.update(entry, response)
      case .outdated(let response):
        context.log.info("\(key.text): a HEAD tells that the stored response is out of date")
        context.store.update(entry, response)
      case .forbidden: context.store.remove(entry)
      case .unaffected: break
      }
    }
  }
}
