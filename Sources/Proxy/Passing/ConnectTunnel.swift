// CONNECT: a tunnel to an allowed port of an allowed destination (RFC 9110 §9.3.6).

import CachePolicy
import Configuration
import EventLoop
import HTTPMessage
import Upstream

/// Opens a tunnel for a client. Bound to its worker's loop.
struct ConnectTunnel {
  private let transaction: Transaction
  private let origin: Origin

  init(_ transaction: Transaction, origin: Origin) {
    self.transaction = transaction
    self.origin = origin
  }

  func run() async {
    if transaction.context.settings.offline {
      transaction.response.closesAfterwards()
      return await transaction.answerOffline()
    }
    let server: ByteStream
    transaction.goesUpstream()
    do {
      server = try await transaction.parts.pool.connectDirectly(to: origin)
    } catch {
      // What the client has sent already was meant for the tunnel, and must not be read as a request.
      transaction.response.closesAfterwards()
      return await transaction.fail(error, status: .passed(.tunnel))
    }
    // RFC 9110 §9.3.6: a 2xx to CONNECT has no Content-Length and no Transfer-Encoding.
    transaction.send(
      ResponseHead(status: 200, reason: "Connection established"), framing: .none,
      status: .passed(.tunnel), upstream: false)
    do {
      try await transaction.response.flush()
    } catch {
      server.close()
      return transaction.clientIsGone()
    }
    let tunnel = Tunnel(parts: transaction.parts, client: transaction.stream, server: server)
    await tunnel.run()
    transaction.response.becameTunnel(bytes: tunnel.toClient)
  }
}

/// Continues a connection as a tunnel after 101 (RFC 9110 §7.8), for WebSocket and the like.
struct UpgradedTunnel {
  private let transaction: Transaction
  private let exchange: Exchange

  init(_ transaction: Transaction, exchange: Exchange) {
    self.transaction = transaction
    self.exchange = exchange
  }

  func run(_ head: ResponseHead) async {
    guard let server = exchange.upgradedStream else { return transaction.abort() }
    let upgrade = head.fields.combined(.upgrade)
    var head = head
    head.fields.removeHopByHop()
    transaction.send(head, framing: .upgrade(upgrade), status: .passed(.upgrade), upstream: true)
    do {
      try await transaction.response.flush()
    } catch {
      exchange.abandon()
      return transaction.clientIsGone()
    }
    let tunnel = Tunnel(parts: transaction.parts, client: transaction.stream, server: server)
    await tunnel.run()
    exchange.abandon()
    transaction.response.becameTunnel(bytes: tunnel.toClient)
  }
}
