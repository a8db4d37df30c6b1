// Relays a response that is not stored: its head, and its body as it comes, no faster than the client takes it.

import CachePolicy
import Diagnostics
import HTTPMessage
import HTTPWire
import Upstream

/// The response half of a pass. Bound to its worker's loop.
struct Relay {
  private let transaction: Transaction
  private let exchange: Exchange
  private let acceptsTrailers: Bool

  init(_ transaction: Transaction, exchange: Exchange, acceptsTrailers: Bool = false) {
    self.transaction = transaction
    self.exchange = exchange
    self.acceptsTrailers = acceptsTrailers
  }

  /// Sends `head` and what follows it upstream. The exchange is over when this returns.
  func run(_ head: ResponseHead, status: CacheStatus) async {
    var head = head
    head.fields.removeHopByHop()
    transaction.send(head, framing: framing, status: status, upstream: true)
    do {
      while try await exchange.readBody({ transaction.response.send($0) }) {
        try await flush()
      }
    } catch {
      exchange.abandon()
      transaction.record.bytesFromUpstream = transaction.response.bodyBytes
      return isClientGone(error) ? transaction.clientIsGone() : transaction.abort()
    }
    transaction.record.bytesFromUpstream = transaction.response.bodyBytes
    let trailers = acceptsTrailers ? exchange.trailers : Fields()
    exchange.finish()
    await transaction.end(trailers: trailers)
  }

  private struct ClientGone: Error {}

  /// Who resets the connection while upstream is waited for has the request cancelled.
  private func isClientGone(_ error: any Error) -> Bool {
    if case UpstreamError.cancelled = error { return true }
    return error is ClientGone
  }

  private func flush() async throws {
    do {
      try await transaction.response.flush(downTo: Self.sendBuffer)
    } catch {
      throw ClientGone()
    }
  }

  private var framing: OutgoingFraming {
    switch exchange.responseFraming {
    case .none: .none
    case .length(let count): .length(count)
    case .chunked: .unknownLength
    case .untilClose: .untilClose
    }
  }

  private static let sendBuffer = 256 << 10
}

extension Transaction {
  /// Tells the client that upstream failed: as a page where there is no head yet, else by cutting the response off.
  func fail(_ error: UpstreamError, status: CacheStatus) async {
    switch error {
    case .cancelled: return clientIsGone()
    case .forbidden: context.counters.forbidden.add()
    case .malformed(_, let wire): context.counters.count(wire)
    case .unresolvable, .unreachable, .busy, .silent, .slow, .broken, .closedEarly, .unavailable, .unusable: break
    }
    context.log.info("\(record.identifier) \(record.method) \(record.target): \(error.explanation)")
    await answer(ErrorPage(status: error.status, reason: error.explanation), status: status)
  }
}
