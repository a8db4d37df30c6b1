// A request that is relayed and not stored: socket to socket, with backpressure, for a reason that has a name.

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

/// Relays one request and its response. Bound to its worker's loop.
struct Pass {
  private let transaction: Transaction
  private let forwarded: ForwardedRequest
  private let reason: PassReason

  init(_ transaction: Transaction, _ forwarded: ForwardedRequest, reason: PassReason) {
    self.transaction = transaction
    self.forwarded = forwarded
    self.reason = reason
  }

  /// Runs the exchange and relays what comes.
  func run() async {
    if transaction.context.settings.offline { return await transaction.answerOffline() }
    transaction.context.counters.passes.add()
    transaction.goesUpstream()
    guard let body = transaction.body, body.framing != .none || forwarded.upgrade != nil else {
      return await runWithoutBody()
    }
    let exchange: Exchange
    do {
      exchange = try await Exchange.begin(
        forwarded.upstream(body: body.framing), pool: transaction.parts.pool, fresh: body.framing != .none)
    } catch {
      return await fail(error)
    }
    let requestTime = transaction.context.now
    let upload = Upload(body: body, exchange: exchange)
    let task = body.framing == .none ? nil : transaction.parts.spawn { await upload.run() }
    do {
      let head = try await exchange.receiveHead(interim: { await transaction.relayInterim($0) })
      if head.status == 101, forwarded.upgrade != nil {
        await UpgradedTunnel(transaction, exchange: exchange).run(head)
      } else {
        await deliver(head, of: exchange, since: requestTime)
      }
    } catch {
      await fail(error, uploadFailure: upload.failure)
    }
    // The client may still be sending what nobody wants any more.
    task?.cancel()
    await task?.value
  }

  private func runWithoutBody() async {
    do {
      let requestTime = transaction.context.now
      let (exchange, head) = try await Exchange.perform(
        forwarded.upstream(body: .none), pool: transaction.parts.pool, interim: { await transaction.relayInterim($0) })
      await deliver(head, of: exchange, since: requestTime)
    } catch {
      await fail(error)
    }
  }

  private func deliver(_ head: ResponseHead, of exchange: Exchange, since requestTime: Timestamp) async {
    // Before the client learns of it: what it asks next is not answered from what was.
    invalidate(after: head)
    let context = transaction.context
    func answer(to asked: RequestHead) -> OriginAnswer {
      OriginAnswer(
        exchange: exchange, head: head, asked: asked, requestTime: requestTime, responseTime: context.now)
    }
    // A part that is not what was asked is no better for not being stored.
    if forwarded.method == .get, head.status == 206, let fault = answer(to: forwarded.head).fault() {
      context.fills.counters.wrongAnswers.add()
      exchange.abandon()
      return await fail(.unusable(Origin(forwarded.target), reason: fault.rawValue))
    }
    if answersLaterGet(head, to: forwarded.method, target: forwarded.target, rules: context.rules) {
      let asked = forwarded.asGet
      return await CachedRequest(transaction, asked).keep(answer(to: asked.head))
    }
    await Relay(transaction, exchange: exchange, acceptsTrailers: forwarded.acceptsTrailers)
      .run(head, status: .passed(reason))
  }

  /// A successful unsafe request makes what is stored of its target invalid (RFC 9111 §4.4).
  private func invalidate(after head: ResponseHead) {
    for key in invalidatedKeys(by: head, to: forwarded.method, target: forwarded.target) {
      transaction.context.store.removeAll(for: key)
    }
  }

  private func fail(_ error: UpstreamError, uploadFailure: Upload.Failure? = nil) async {
    switch uploadFailure {
    case .malformed(let wire):
      transaction.context.counters.count(wire)
      transaction.response.closesAfterwards()
      await transaction.answer(ErrorPage(status: wire.status, reason: wire.explanation))
    case .stalled:
      transaction.context.counters.limits.add(.bodyTimeout)
      transaction.response.closesAfterwards()
      await transaction.answer(ErrorPage(status: 408, reason: "the request's body came too slowly"))
    case .clientGone:
      transaction.clientIsGone()
    case .upstream, nil:
      await transaction.fail(error, status: .passed(reason))
    }
  }
}

/// Streams a request's body upstream while the response is awaited: a task of its own.
final class Upload {
  enum Failure {
    /// What the client sent is not a body in the framing it announced.
    case malformed(WireError)
    /// The client sent nothing for too long.
    case stalled
    case clientGone
    /// The origin does not take the body; it may have answered already.
    case upstream

    /// What a failed read of the client's body means.
    init(_ error: any Error) {
      switch error {
      case let error as WireError: self = .malformed(error)
      case StreamError.timedOut: self = .stalled
      default: self = .clientGone  // Any other error of a stream.
      }
    }
  }

  private let body: RequestBody
  private let exchange: Exchange
  private(set) var failure: Failure?

  init(body: RequestBody, exchange: Exchange) {
    self.body = body
    self.exchange = exchange
  }

  func run() async {
    let isChunked = body.framing == .chunked
    var more = !body.isComplete
    while more {
      var pending: [UInt8] = []
      do {
        more = try await body.read { piece in
          if isChunked { pending += ChunkedCoding.chunkHeader(piece.byteCount) }
          piece.withUnsafeBytes { pending.append(contentsOf: $0) }
          if isChunked { pending += ChunkedCoding.chunkEnd }
        }
      } catch {
        failure = Failure(error)
        // The origin must not take a body for complete that is not (RFC 9112 §8).
        exchange.abandon()
        return
      }
      if !more, isChunked { pending += ChunkedCoding.lastChunk(trailers: body.trailers) }
      do {
        try await exchange.sendBody(pending, last: !more)
      } catch {
        failure = .upstream
        return
      }
    }
  }
}
