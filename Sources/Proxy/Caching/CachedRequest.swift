// A GET or HEAD that the store may answer: looks up, decides by RFC 9111, and tries again when the origin changes.

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import Spans
import Store
import Upstream

/// One request for which the store is asked. Bound to its worker's loop.
final class CachedRequest {
  let transaction: Transaction
  let forwarded: ForwardedRequest
  let key: CacheKey
  let source: FillSource
  /// Whether this request has waited for another's response head already: it waits once only.
  var hasWaited = false
  /// Whether the origin's partial answers turned out wrong, so that it is asked for the whole.
  var avoidsRanges = false
  private var restarts = 0
  /// The age that the decision to serve an entry has found already.
  var knownAge: (entry: StoredEntry, age: Int64)?

  var context: ProxyContext { transaction.context }
  var request: RequestHead { transaction.request }
  var settings: Settings { transaction.context.settings }

  init(_ transaction: Transaction, _ forwarded: ForwardedRequest) {
    self.transaction = transaction
    self.forwarded = forwarded
    key = CacheKey(forwarded.target)
    source = FillSource(target: forwarded.target, fields: forwarded.fields)
  }

  /// How one attempt ended.
  enum Attempt {
    /// The request has its response, whole or cut off.
    case answered
    /// What is stored has changed meanwhile through another request: look again.
    case lookAgain
    /// The origin turned out to have another representation before a byte had gone out.
    case changed
  }

  /// Answers the request.
  func run() async {
    if context.unstable.contains(key) { return await pass(.validatorUnstable) }
    var looks = 0
    while true {
      switch await attempt() {
      case .answered: return
      case .lookAgain:
        looks += 1
        guard looks <= Self.looks else { return await pass(.contended) }
      case .changed:
        restarts += 1
        guard restarts <= settings.fills.restarts else { return await giveUp() }
      }
    }
  }

  /// Nothing stored stays valid long enough: the origin is asked for single whole exchanges for a while.
  private func giveUp() async {
    context.log.warning("\(key.text): its validator keeps changing; passing its responses for a while")
    context.unstable.remember(key)
    await pass(.validatorUnstable)
  }

  private func attempt() async -> Attempt {
    let entries = await context.store.entries(for: key)
    let now = context.now
    guard let index = selectVariant(request.fields, among: entries.map(\.response)) else {
      guard !RequestCacheControl(request.fields).onlyIfCached else { return await answerUncached() }
      return await miss(entries.isEmpty ? .uriMiss : .varyMiss)
    }
    let entry = entries[index]
    switch evaluateConditionals(of: request, against: entry.response, now: now) {
    case .passUntouched:
      await pass(.precondition)
      return .answered
    case .serve, .notModified: break
    }
    switch reuse(entry.response, for: request, now: now, rules: context.rules) {
    case .serve(let age, let ttl):
      knownAge = (entry, age)
      return await serve(entry, CacheStatus(.hit, ttl: ttl))
    case .validate(let reason):
      return await validate(entry, reason)
    case .forward(let reason):
      await pass(.head(reason))
      return .answered
    case .onlyIfCachedUnsatisfied:
      return await answerUncached()
    }
  }

  /// RFC 9111 §5.2.1.7: the client wants no request to go upstream.
  func answerUncached() async -> Attempt {
    await transaction.answer(
      ErrorPage(status: 504, reason: "the request says only-if-cached, and the cache cannot answer it alone"))
    return .answered
  }

  /// Relays the client's own request.
  func pass(_ reason: PassReason) async {
    await Pass(transaction, forwarded, reason: reason).run()
  }

  /// How often a request may find that others have changed what is stored, before it goes alone.
  private static let looks = 8
}
