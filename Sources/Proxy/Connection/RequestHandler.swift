// Decides what a request is: for the proxy itself, a tunnel, a pass, or something to answer from the store.

import Configuration
import Diagnostics
import EventLoop
import HTTPMessage
import HTTPWire
import Upstream

/// Routes one request to what answers it. Bound to its worker's loop.
struct RequestHandler {
  private let transaction: Transaction

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Answers the request, whatever it is.
  func run() async {
    let request = transaction.request
    let settings = transaction.context.settings
    do {
      transaction.body = RequestBody(
        framing: try BodyFraming.of(request: request), limits: settings.chunkLimits, stream: transaction.stream,
        floor: RateFloor(rate: settings.clients.minimumRate, over: settings.clients.bodyTimeout.inSeconds))
    } catch {
      transaction.context.counters.malformedRequests.add()
      transaction.response.closesAfterwards()
      return await transaction.answer(ErrorPage(status: error.status, reason: error.explanation))
    }
    if let refusal = transaction.context.access.refusal(ofClient: transaction.stream.peer) {
      return await forbid(refusal)
    }
    guard !transaction.context.isOwnVia(request.fields) else {
      return await transaction.answer(
        ErrorPage(status: 508, reason: "the request has come through this proxy before: its way is a loop"))
    }
    switch request.target {
    case .origin(let path):
      let page = HelpPage.page(path: path, listeningOn: transaction.stream.local.description)
      await transaction.answer(page)
    case .asterisk:
      await OwnAnswer(transaction).options()
    case .authority(let host, let port):
      await connect(host: host, port: port)
    case .absolute(let target):
      await forward(to: target)
    }
  }

  private func connect(host: String, port: UInt16) async {
    if let refusal = transaction.context.access.refusal(ofConnectPort: port) { return await forbid(refusal) }
    await ConnectTunnel(transaction, origin: Origin(host: host, port: port)).run()
  }

  private func forward(to target: TargetURI) async {
    let request = transaction.request
    guard target.scheme == .http else {
      return await transaction.answer(
        ErrorPage(status: 501, reason: "https:// addresses are reached with CONNECT, not with a plain request"))
    }
    let forwarded: ForwardedRequest
    switch ForwardedRequest.make(from: transaction, to: target) {
    case .forward(let made): forwarded = made
    case .answerHere: return await OwnAnswer(transaction).lastHop()
    }
    if let range = request.fields.first(.range),
      range.bytes.count(where: { $0 == UInt8(ascii: ",") }) >= transaction.context.settings.limits.ranges
    {
      transaction.context.counters.limits.add(.ranges)
    }
    let hasBody = transaction.body?.isComplete == false
    if forwarded.upgrade != nil {
      return await Pass(transaction, forwarded, reason: .upgrade).run()
    }
    switch request.method {
    case .get where !hasBody, .head where !hasBody:
      await CachedRequest(transaction, forwarded).run()
    case .get, .head:
      await Pass(transaction, forwarded, reason: .requestBody).run()
    case _:
      await Pass(transaction, forwarded, reason: .method).run()
    }
  }

  private func forbid(_ reason: String) async {
    transaction.context.counters.forbidden.add()
    transaction.response.closesAfterwards()
    await transaction.answer(ErrorPage(status: 403, reason: reason))
  }
}
