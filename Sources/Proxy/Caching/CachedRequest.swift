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
  private let target: TargetURI
  /// The request as it goes upstream; made when something does.
  private(set) lazy var forwarded = ForwardedRequest(transaction, to: target)
  let key: CacheKey
  /// What fills ask upstream with; made when the first one is begun.
  private(set) lazy var source = FillSource(target: target, fields: forwarded.fields)
  /// While this request is on its way for a response head: others wait for that. Letting go of it ends the wait.
  var lead: Collapser.Lead?
  /// Whether this request has waited for another's response head already: it waits once only.
  var hasWaited = false
  /// How often it has waited for a head that was of no use to it.
  var waitsInVain = 0
  /// Whether the origin's partial answers turned out wrong, so that it is asked for the whole.
  var avoidsRanges = false
  /// Whether the origin is asked without the tags of what is stored, because its answer to them made no sense.
  var asksPlainly = false
  /// Why this request would have gone upstream, had another not been on its way already.
  var waitedFor: ForwardReason?
  /// What the origin's answer has for this client alone, as it may not be stored.
  var ownFields = Fields()
  /// Whether the origin's answer is there already and must not be asked for again.
  private var isAnswered = false
  private var restarts = 0

  var context: ProxyContext { transaction.context }
  var request: RequestHead { transaction.request }
  var settings: Settings { transaction.context.settings }

  var admission: Admission { Admission(parts: transaction.parts, key: key, source: source) }
  /// The `collapsed` parameter of a response that this request had to fetch itself (RFC 9211 §2.6).
  var waitedInVain: Bool? { waitedFor == nil ? nil : false }

  init(_ transaction: Transaction, to target: TargetURI) {
    self.transaction = transaction
    self.target = target
    key = CacheKey(target)
    transaction.cacheKey = key
  }

  /// For a request that goes upstream in another form than the client's.
  convenience init(_ transaction: Transaction, _ forwarded: ForwardedRequest) {
    self.init(transaction, to: forwarded.target)
    self.forwarded = forwarded
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
    if let answer = answerAtOnce() {
      await transaction.end()
      return withExtendedLifetime(answer) {}
    }
    if context.unstable.contains(key) { return await pass(.validatorUnstable) }
    var looks = 0
    while true {
      let attempt = await attempt()
      lead = nil
      switch attempt {
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
    if settings.offline { return await attemptOffline() }
    let entries = await context.store.entries(for: key)
    let now = context.now
    guard let entry = variant(among: entries) else {
      guard !RequestCacheControl(request.fields).onlyIfCached else { return await answerUncached() }
      return await miss(entries.isEmpty ? .uriMiss : .varyMiss, siblings: entries)
    }
    switch evaluateConditionals(of: request, against: entry.response, now: now) {
    case .passUntouched:
      await pass(.precondition)
      return .answered
    case .serve, .notModified: break
    }
    switch reuse(terms(of: entry), for: request, now: now) {
    case .serve(_, let ttl):
      // RFC 9211 §2.6: it has waited for another's response, and that is it.
      let handling = waitedFor.map { CacheStatus.Handling.forwarded($0, collapsed: true) } ?? .hit
      return await serve(entry, CacheStatus(handling, ttl: ttl, detail: ttl > 0 ? nil : "max-stale"))
    case .validate(let reason):
      return await validate(entry, reason)
    case .forward(let reason):
      await pass(.head(reason))
      return .answered
    case .onlyIfCachedUnsatisfied:
      return await answerUncached()
    }
  }

  /// The one of a key's stored responses that this request selects (RFC 9111 §4.1).
  func variant(among entries: [StoredEntry]) -> StoredEntry? {
    guard !entries.isEmpty else { return nil }
    if entries.count == 1 { return entries[0].matches(request.fields) ? entries[0] : nil }
    return selectVariant(request.fields, among: entries.map(\.response)).map { entries[$0] }
  }

  func terms(of entry: StoredEntry) -> ReuseTerms { entry.terms(context.rules) }

  /// RFC 9111 §5.2.1.7: the client wants no request to go upstream.
  func answerUncached() async -> Attempt {
    await transaction.answer(
      ErrorPage(status: 504, reason: "the request says only-if-cached, and the cache cannot answer it alone"))
    return .answered
  }

  /// Stores the answer to an unsafe request that may answer later ones (RFC 9110 §9.3.3), and serves it.
  func keep(_ answer: OriginAnswer) async {
    isAnswered = true
    switch await admission.judge(answer, .method) {
    case .pass(let refusal):
      await Relay(transaction, exchange: answer.exchange).run(answer.head, status: .passed(refusal))
    case .body(let body):
      switch await store(answer, body, .method) {
      case .answered: break
      case .lookAgain, .changed: await failAfterAnswer()
      }
    }
  }

  /// What was to be answered from the store is not there, and an unsafe request is not sent twice (RFC 9110 §9.2.2).
  private func failAfterAnswer() async {
    await transaction.answer(
      ErrorPage(status: 502, reason: "the origin's response broke off"), status: .passed(.originAnswer(.method)))
  }

  /// Relays the client's own request.
  func pass(_ reason: PassReason) async {
    if isAnswered { return await failAfterAnswer() }
    await Pass(transaction, forwarded, reason: reason).run()
  }

  /// How often a request may find that others have changed what is stored, before it goes alone.
  private static let looks = 8
}
