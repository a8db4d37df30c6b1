// What follows on the end of a fill: a completed object is compared with the digest that its origin stated, and one that
// turns out bad is fetched anew, once, without waiting for a request.

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import Spans
import Store
import Upstream

/// The comparison of one fill's object, and its second fetch. Bound to its worker's loop.
struct DigestFollowUp {
  let parts: WorkerParts
  let key: CacheKey
  let source: FillSource

  private var context: ProxyContext { parts.context }

  /// To be called when a fill of the representation has ended.
  func begin(_ representation: Representation) {
    guard representation.isComplete else { return }
    _ = parts.spawn { await run(representation) }
  }

  private func run(_ representation: Representation) async {
    switch await context.fills.digests.compare(representation, under: key) {
    case .fine: return
    case .bad(let entry, isFetchedAnew: false): context.store.remove(entry)
    case .bad(let entry, isFetchedAnew: true): await replace(entry)
    }
  }

  /// Who asks meanwhile waits for the new head, as for any other request that is on its way. Running responses end with
  /// what they began with.
  private func replace(_ entry: StoredEntry) async {
    var lead: Collapser.Lead?
    let deadline = Deadline.after(context.settings.fills.collapseTimeout)
    for _ in 0..<2 where lead == nil {
      if case .leads(let taken) = await context.collapser.enter(key, deadline: deadline, loop: parts.loop) {
        lead = taken
      }
    }
    context.store.remove(entry)
    // Without the lead others are asking already: what they bring is compared as well.
    guard let lead else { return }
    defer { lead.end() }
    context.fills.digests.counters.refetches.add()
    do throws(UpstreamError) {
      try await fetch(lead)
    } catch {
      context.log.warning("\(key.text): fetching it anew failed: \(error.explanation)")
    }
  }

  private func fetch(_ lead: Collapser.Lead) async throws(UpstreamError) {
    let answer = try await OriginAnswer.to(source.request(for: nil, under: .none), parts)
    let status = answer.head.status
    let admission = Admission(parts: parts, key: key, source: source)
    guard status == 200, case .body(let body) = await admission.judge(answer, .uriMiss) else {
      context.log.info("\(key.text): fetching it anew brought nothing that can be stored (status \(status))")
      return answer.exchange.abandon()
    }
    let admitted = await admission.store(answer, body)
    lead.end()
    await waitForEnd(of: admitted, body.upper ?? .max)
  }

  /// Keeps the fill going, as if a reader were close to its end: it neither waits for others nor stops for want of one.
  private func waitForEnd(of admitted: Admission.Admitted, _ upper: UInt64) async {
    guard upper > 0, let supply = admitted.supply else { return }
    let readers = (supply.read(ByteSpan(0, upper)), supply.read(ByteSpan(upper - 1, upper)))
    let traffic = context.fills.traffic(of: admitted.entry.representation)
    while let claim = traffic.running(at: upper - 1) {
      guard case .ended = await traffic.wait(for: claim, past: upper - 1) else { break }
    }
    withExtendedLifetime(readers) {}
  }
}
