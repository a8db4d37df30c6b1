// Requests that end at this proxy: `OPTIONS *`, and TRACE and OPTIONS whose Max-Forwards is used up.

import CachePolicy
import HTTPMessage
import HTTPWire

/// Answers as the last recipient (RFC 9110 §7.6.2, §9.3.7, §9.3.8). Bound to its worker's loop.
struct OwnAnswer {
  private let transaction: Transaction

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// What the proxy itself can do.
  func options() async {
    await send([], type: nil, extra: [.allow: "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE, CONNECT"])
  }

  /// TRACE reflects the request it received, without what may be secret; OPTIONS tells what the proxy can do.
  func lastHop() async {
    guard transaction.request.method == .trace else { return await options() }
    let request = transaction.request
    var fields = request.fields
    for name: FieldName in [.authorization, .proxyAuthorization, .cookie] { fields.remove(name) }
    let reflected = RequestHead(
      method: request.method, target: request.target, version: request.version, fields: fields)
    await send(reflected.serialized(), type: "message/http", extra: Fields())
  }

  private func send(_ body: [UInt8], type: FieldValue?, extra: Fields) async {
    var head = ResponseHead(status: 200, fields: extra)
    if let type { head.fields.set(.contentType, type) }
    head.fields.set(.cacheControl, "no-store")
    transaction.send(head, framing: .length(UInt64(body.count)), status: CacheStatus(.local), upstream: false)
    transaction.response.send(body[...])
    await transaction.end()
  }
}
