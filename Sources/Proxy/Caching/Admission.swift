// What becomes of a response's body: a fill into the store, by RFC 9111 and by what the store can take, or a pass.

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import HTTPWire
import Spans
import Store
import Upstream

/// Takes responses of one cache key into the store. Bound to its worker's loop.
struct Admission {
  let parts: WorkerParts
  let key: CacheKey
  let source: FillSource

  private var context: ProxyContext { parts.context }
  private var settings: Settings { parts.context.settings }

  /// The part of a representation that an exchange's body will bring.
  struct IncomingBody {
    let validator: Validator
    let lower: UInt64
    let upper: UInt64?
    let total: UInt64?
    let reservation: Reservation
    /// What is to be stored of the response's head, and what it says of its reuse.
    let response: StoredResponse
    let terms: ReuseTerms

    /// Whether what is missing of it can be asked for, once it is stored.
    var isResumable: Bool { response.isResumable(under: validator) }
  }

  enum Judgement {
    case body(IncomingBody)
    case pass(PassReason)
  }

  /// Whether the response may become a fill.
  func judge(_ answer: OriginAnswer, _ reason: ForwardReason) async -> Judgement {
    let (response, terms): (StoredResponse, ReuseTerms)
    switch storing(
      answer.head, to: answer.asked, requestTime: answer.requestTime, responseTime: answer.responseTime,
      rules: context.rules)
    {
    case .refuse(let refusal): return .pass(.refused(refusal, reason))
    case .store(let found, let said): (response, terms) = (found, said)
    }
    let validator = validator(of: answer.head.fields, responseTime: answer.responseTime)
    let lower: UInt64
    let upper: UInt64?
    let total: UInt64?
    if let range = answer.contentRange {
      guard validator.isStrong, let known = range.total else { return .pass(.partialUnvalidated(reason)) }
      (lower, upper, total) = (range.span.lower, range.span.upper, known)
    } else {
      lower = 0
      switch answer.exchange.responseFraming {
      case .none: (upper, total) = (0, 0)
      case .length(let length): (upper, total) = (length, length)
      case .chunked: (upper, total) = (nil, nil)
      case .untilClose:
        guard settings.freshness.storeCloseDelimited else { return .pass(.closeDelimited(reason)) }
        (upper, total) = (nil, nil)
      }
    }
    // Where the rest could not be asked for again, room for all of it is made sure of first (design: Space).
    let window = UInt64(settings.cache.smallBody)
    let needed = (upper ?? window) - min(lower, upper ?? window)
    // A body that cannot even begin is relayed from this very exchange, and nothing is asked for twice.
    let first = response.isResumable(under: validator) ? min(needed, FillRunner.reservationWindow) : needed
    guard let reservation = await context.store.makeRoom(for: first) else {
      return .pass(.noSpace(reason))
    }
    return .body(
      IncomingBody(
        validator: validator, lower: lower, upper: upper, total: total, reservation: reservation, response: response,
        terms: terms))
  }

  /// A response whose body is in the store, or on its way there.
  struct Admitted {
    let entry: StoredEntry
    /// What brings the body, and is known as a reader of it; nil where all of it has come with the head.
    let supply: Supply?
  }

  /// Stores the response and begins the fill of its body; a small body that came whole with its head is stored as well.
  func store(_ answer: OriginAnswer, _ body: IncomingBody) async -> Admitted {
    let stored = await context.store.entries(for: key)
    let known = known(among: stored, body)
    let representation =
      known ?? context.store.makeRepresentation(validator: body.validator, total: body.total)
    // Before anybody can learn of it: nobody else reads or fills it yet.
    let isWhole = known == nil && takeWhole(body, of: answer.exchange, into: representation)
    let entry = context.store.add(body.response, for: key, representation: representation, terms: body.terms)
    if stored.count >= settings.limits.variants { await boundVariants(besides: entry) }
    if isWhole {
      if context.fills.digests.concerns(body.response, representation) {
        DigestFollowUp(parts: parts, key: key, source: source).begin(representation)
      }
      return Admitted(entry: entry, supply: nil)
    }
    let supply = Supply(entry: entry, parts: parts, source: source)
    // Known as a reader before the fill looks for one.
    supply.read(ByteSpan(body.lower, body.upper ?? .max))
    supply.begin(
      ByteSpan(body.lower, body.upper ?? .max),
      opened: OpenedExchange(
        exchange: answer.exchange, offset: body.lower, upper: body.upper, total: body.total),
      reservation: body.reservation)
    return Admitted(entry: entry, supply: supply)
  }

  /// The representation that is stored already under the same strong validator: its bytes are the same ones
  /// (RFC 9111 §3.4), and none of them is fetched again. What is fetched whole or not at all is a new one each time.
  private func known(among stored: [StoredEntry], _ body: IncomingBody) -> Representation? {
    guard body.isResumable else { return nil }
    let response = body.response
    let found = stored.first { entry in
      entry.isResumable && entry.response.nominated == response.nominated
        && entry.representation.validator == body.validator
        && !entry.representation.isSuperseded
        && entry.response.fields.combined(.contentEncoding) == response.fields.combined(.contentEncoding)
    }?.representation
    // Of two of one length that is known: where only one is, it becomes the other's.
    guard let found, let total = body.total else { return found }
    return found.setTotal(total) ? found : nil
  }

  /// Stores a small body that has come with its head: that is the whole fill.
  private func takeWhole(_ body: IncomingBody, of exchange: Exchange, into representation: Representation) -> Bool {
    guard body.lower == 0, body.upper == body.total,
      exchange.takeWholeBody(
        upTo: settings.cache.smallBody,
        { bytes in representation.takeWhole(bytes, reservation: body.reservation) })
    else { return false }
    context.fills.counters.begun.add()
    exchange.finish()
    return true
  }

  /// One key holds a bounded number of variants: of those besides a new one the one validated longest ago goes.
  func boundVariants(besides new: StoredEntry) async {
    let entries = await context.store.entries(for: key)
    guard entries.count > settings.limits.variants else { return }
    if let oldest = entries.filter({ $0 !== new }).min(by: { $0.response.responseTime < $1.response.responseTime }) {
      context.store.removeVariant(oldest)
    }
  }
}
