// The question to the origin about a stale response that is being served meanwhile (RFC 5861 §3).

import CachePolicy
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import Store
import Upstream

/// Validates a stored response when no client waits for the outcome. Bound to its worker's loop.
struct BackgroundValidation {
  let admission: Admission
  let forwarded: ForwardedRequest

  private var context: ProxyContext { admission.parts.context }

  /// Asks the origin, unless somebody is doing so already. What fails leaves the stored response as it is.
  func begin(_ entry: StoredEntry) {
    guard let lead = context.collapser.lead(admission.key) else { return }
    context.counters.backgroundValidations.add()
    _ = admission.parts.spawn {
      await run(entry)
      lead.end()
    }
  }

  private func run(_ entry: StoredEntry) async {
    do {
      let answer = try await ask(conditionalFields(for: [entry.response]))
      await take(answer, entry)
    } catch {
      context.log.info("\(admission.key.text): could not be validated in the background: \(error.explanation)")
    }
  }

  private func ask(_ conditions: Fields) async throws(UpstreamError) -> OriginAnswer {
    var fields = admission.source.fields
    fields.append(contentsOf: conditions)
    return try await OriginAnswer.to(forwarded.asking(.get, with: fields), admission.parts)
  }

  private func take(_ answer: OriginAnswer, _ entry: StoredEntry) async {
    if answer.head.status == 304, answer.isConditional {
      answer.exchange.finish()
      guard answer.freshens(entry) else { return context.store.remove(entry) }
      let fresh = context.store.update(entry, answer.updating(entry, for: forwarded.head, context.rules))
      if !mayStayStored(fresh.response, rules: context.rules) { context.store.remove(fresh) }
      return
    }
    guard !StaleOccasion.isFailure(answer.head.status) else { return answer.exchange.abandon() }
    switch await admission.judge(answer, .stale) {
    case .body(let body):
      _ = await admission.store(answer, body)
    case .pass:
      if answer.outdates(entry) { context.store.remove(entry) }
      answer.exchange.abandon()
    }
  }
}
