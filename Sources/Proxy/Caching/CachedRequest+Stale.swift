// Serving what is stale: while it is validated, because the origin fails, or because origins are out of reach.

import CachePolicy
import Configuration
import EventLoop
import Fill
import HTTPMessage
import Store
import Upstream

extension CachedRequest {
  /// Whether all that answers the request is present, so that no byte has to come from upstream.
  func isPresent(_ entry: StoredEntry) async -> Bool {
    if request.method == .head { return true }
    return !(await isAnythingMissing(of: select(from: entry), entry))
  }

  /// Serves a stale response at once and has it validated meanwhile, where its own directive allows that and nothing
  /// of the plan is missing (RFC 5861 §3). Nil where it does not.
  func serveWhileValidating(_ entry: StoredEntry) async -> Attempt? {
    guard mayServeStale(terms(of: entry), for: request, on: .revalidating, now: context.now),
      await isPresent(entry)
    else { return nil }
    BackgroundValidation(admission: admission, forwarded: forwarded).begin(entry)
    return await serve(entry, CacheStatus(.hit, ttl: timeToLive(of: entry), detail: "stale-while-revalidate"))
  }

  /// Serves a stale response in the place of an answer that is the origin's failure, and gives the answer up. Nil where
  /// it is none, or where nothing may stand in for it.
  func serve(_ stale: StoredEntry?, insteadOf answer: OriginAnswer, _ reason: ForwardReason) async -> Attempt? {
    guard StaleOccasion.isFailure(answer.head.status),
      let attempt = await serveInsteadOfFailure(stale, reason, status: answer.head.status)
    else { return nil }
    answer.exchange.abandon()
    return attempt
  }

  /// The same where the origin has not answered.
  func serve(_ stale: StoredEntry?, insteadOf error: UpstreamError, _ reason: ForwardReason) async -> Attempt? {
    guard StaleOccasion.isFailure(error.status) else { return nil }
    return await serveInsteadOfFailure(stale, reason, status: nil)
  }

  /// Serves a stale response in the place of an origin's failure, where that is allowed and nothing of the plan is
  /// missing (RFC 5861 §4, RFC 9111 §4.3.3). Nil where it is not.
  ///
  /// - Parameter status: what the origin answered; nil where it did not.
  private func serveInsteadOfFailure(_ entry: StoredEntry?, _ reason: ForwardReason, status: Int?) async -> Attempt? {
    guard let entry,
      mayServeStale(terms(of: entry), for: request, on: .error, now: context.now),
      await isPresent(entry)
    else { return nil }
    return await serve(
      entry, CacheStatus(.forwarded(reason, status: status), ttl: timeToLive(of: entry), detail: "stale-if-error"))
  }

  /// Answers while origins are out of reach: from the store whatever the age, unless a directive forbids it; else 504
  /// (RFC 9111 §4.2.4, §5.2.2.2).
  func attemptOffline() async -> Attempt {
    let entries = await context.store.entries(for: key)
    guard let entry = variant(among: entries) else { return await answerOffline() }
    let now = context.now
    switch evaluateConditionals(of: request, against: entry.response, now: now) {
    case .passUntouched: return await answerOffline()
    case .serve, .notModified: break
    }
    let mayServe =
      switch reuse(terms(of: entry), for: request, now: now) {
      case .serve: true
      case .validate, .onlyIfCachedUnsatisfied:
        mayServeStale(terms(of: entry), for: request, on: .disconnected, now: now)
      case .forward: false
      }
    guard mayServe, await isPresent(entry) else { return await answerOffline() }
    return await serve(entry, CacheStatus(.hit, ttl: timeToLive(of: entry), detail: Transaction.offline))
  }

  private func answerOffline() async -> Attempt {
    await transaction.answerOffline()
    return .answered
  }

  func timeToLive(of entry: StoredEntry) -> Int64 {
    terms(of: entry).freshness(at: context.now).timeToLive
  }
}

extension Transaction {
  /// The named reason of what is served, or not served, because the setting says so.
  static let offline = "offline"

  /// Nothing may be asked of an origin, and the store has no answer.
  func answerOffline() async {
    await answer(
      ErrorPage(status: 504, reason: "this proxy is set to be offline, and its cache cannot answer the request"),
      status: CacheStatus(.local, detail: Self.offline))
  }
}
