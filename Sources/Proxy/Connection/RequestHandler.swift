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
  /// Why the client may not use the proxy; nil where it may.
  private let refusal: String?

  init(_ transaction: Transaction, refusal: String?) {
    self.transaction = transaction
    self.refusal = refusal
  }

  private enum Route {
    case page(ErrorPage)
    /// Refused for a reason that every further request would share.
    case last(ErrorPage)
    case help(path: String)
    case options
    /// `Max-Forwards` is used up: this proxy is the last recipient (RFC 9110 §7.6.2).
    case lastHop
    case tunnel(ConnectTunnel)
    case pass(Pass)
    case cached(CachedRequest)
  }

  /// Answers the request, whatever it is.
  func run() async {
    switch route() {
    case .cached(let cached): await cached.run()
    case .pass(let pass): await pass.run()
    case .tunnel(let tunnel): await tunnel.run()
    case .help(let path):
      await transaction.answer(HelpPage.page(path: path, listeningOn: transaction.stream.local.description))
    case .options: await OwnAnswer(transaction).options()
    case .lastHop: await OwnAnswer(transaction).lastHop()
    case .page(let page): await transaction.answer(page)
    case .last(let page):
      transaction.response.closesAfterwards()
      await transaction.answer(page)
    }
  }

  private func route() -> Route {
    let request = transaction.request
    let context = transaction.context
    do {
      let framing = try BodyFraming.of(request: request)
      // Who asks for an upgrade may go on to send what is no request.
      if framing != .none || request.fields.contains(.upgrade) {
        transaction.body = RequestBody(
          framing: framing, limits: context.settings.chunkLimits, stream: transaction.stream,
          floor: RateFloor(rate: context.settings.clients.minimumRate, over: context.clientTimes.body))
      }
    } catch {
      context.counters.malformedRequests.add()
      return .last(ErrorPage(status: error.status, reason: error.explanation))
    }
    if let refusal { return forbid(refusal) }
    guard !context.isOwnVia(request.fields) else {
      return .page(
        ErrorPage(status: 508, reason: "the request has come through this proxy before: its way is a loop"))
    }
    switch request.target {
    case .origin(let path): return .help(path: path)
    case .asterisk: return .options
    case .authority(let host, let port):
      if let refusal = context.access.refusal(ofConnectPort: port) { return forbid(refusal) }
      return .tunnel(ConnectTunnel(transaction, origin: Origin(host: host, port: port)))
    case .absolute(let target): return route(to: target)
    }
  }

  private func route(to target: TargetURI) -> Route {
    let request = transaction.request
    guard target.scheme == .http else {
      return .page(
        ErrorPage(status: 501, reason: "https:// addresses are reached with CONNECT, not with a plain request"))
    }
    guard ForwardedRequest.maxForwards(of: request) != 0 else { return .lastHop }
    if let range = request.fields.first(.range),
      range.bytes.count(where: { $0 == UInt8(ascii: ",") }) >= transaction.context.settings.limits.ranges
    {
      transaction.context.counters.limits.add(.ranges)
    }
    if request.fields.contains(.upgrade) {
      let forwarded = ForwardedRequest(transaction, to: target)
      if forwarded.upgrade != nil { return .pass(Pass(transaction, forwarded, reason: .upgrade)) }
    }
    guard request.method == .get || request.method == .head else { return pass(to: target, .method) }
    guard transaction.body?.isComplete ?? true else { return pass(to: target, .requestBody) }
    return .cached(CachedRequest(transaction, to: target))
  }

  private func pass(to target: TargetURI, _ reason: PassReason) -> Route {
    .pass(Pass(transaction, ForwardedRequest(transaction, to: target), reason: reason))
  }

  private func forbid(_ reason: String) -> Route {
    transaction.context.counters.forbidden.add()
    return .last(ErrorPage(status: 403, reason: reason))
  }
}
