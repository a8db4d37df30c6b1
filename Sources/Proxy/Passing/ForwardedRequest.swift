// The request as it goes upstream: hop-by-hop fields off, Via on, the target in origin-form.

import Configuration
import HTTPMessage
import HTTPWire
import Upstream

/// A client's request turned into what is asked of the origin (RFC 9110 §7.6).
struct ForwardedRequest {
  let target: TargetURI
  /// The fields that go upstream; those of the client's conditionals and Range among them.
  var fields: Fields
  let method: Method
  /// What the client wants to change to on this connection (RFC 9110 §7.8), for a pass that becomes a tunnel.
  let upgrade: FieldValue?
  /// Whether the client accepts trailer fields (RFC 9110 §6.5.1).
  let acceptsTrailers: Bool

  /// The target in the form that origins take (RFC 9112 §3.2.1); `OPTIONS` of a server as a whole is `*` (§3.2.4).
  private var originTarget: RequestTarget {
    method == .options && target.isPathEmpty ? .asterisk : .origin(target.pathAndQuery)
  }

  /// The request as it would go upstream, for decisions about what answers it.
  var head: RequestHead {
    RequestHead(method: method, target: originTarget, version: .http11, fields: fields)
  }

  enum Made {
    case forward(ForwardedRequest)
    /// `Max-Forwards` is used up: this proxy is the last recipient (RFC 9110 §7.6.2).
    case answerHere
  }

  static func make(from transaction: Transaction, to target: TargetURI) -> Made {
    let request = transaction.request
    var fields = request.fields
    let upgrade =
      request.version == .http11 && fields.hasListMember(.connection, "upgrade") ? fields.combined(.upgrade) : nil
    let acceptsTrailers = fields.hasListMember(.te, "trailers")
    fields.removeHopByHop()
    // Credentials for a proxy end at the proxy that they were meant for (RFC 9110 §11.7.2).
    fields.remove(.proxyAuthorization)
    if request.method == .trace || request.method == .options, let left = fields.first(.maxForwards)?.decimal {
      guard left > 0 else { return .answerHere }
      fields.set(.maxForwards, FieldValue(left - 1))
    }
    // RFC 9112 §3.2.2: the target's authority wins over whatever Host said.
    fields.remove(.host)
    var ordered = Fields()
    if let host = FieldValue(target.authority) { ordered.append(.host, host) }
    ordered.append(contentsOf: fields)
    ordered.append(.via, transaction.context.via(receivedOver: request.version))
    return .forward(
      ForwardedRequest(
        target: target, fields: ordered, method: request.method, upgrade: upgrade, acceptsTrailers: acceptsTrailers))
  }

  /// A GET of the same target without what belongs to the request's own content.
  var asGet: ForwardedRequest {
    var fields = fields
    for name: FieldName in [.contentLength, .transferEncoding, .contentType, .contentEncoding, .expect] {
      fields.remove(name)
    }
    return ForwardedRequest(
      target: target, fields: fields, method: .get, upgrade: nil, acceptsTrailers: acceptsTrailers)
  }

  /// The request without a body, with these fields.
  func upstream(fields: Fields? = nil) -> UpstreamRequest { asking(method, with: fields ?? self.fields) }

  /// A request for the same target, without a body.
  func asking(_ method: Method, with fields: Fields) -> UpstreamRequest {
    UpstreamRequest(
      origin: Origin(target),
      head: RequestHead(method: method, target: originTarget, version: .http11, fields: fields))
  }

  /// The request whose body follows in the framing that the client used.
  func upstream(body framing: BodyFraming) -> UpstreamRequest {
    var fields = fields
    switch framing {
    case .chunked:
      fields.remove(.contentLength)
      fields.set(.transferEncoding, "chunked")
    case .none, .length, .untilClose: break
    }
    if let upgrade {
      fields.set(.connection, "Upgrade")
      fields.set(.upgrade, upgrade)
    } else if acceptsTrailers {
      fields.set(.connection, "TE")
      fields.set(.te, "trailers")
    }
    return UpstreamRequest(
      origin: Origin(target),
      head: RequestHead(method: method, target: originTarget, version: .http11, fields: fields),
      framing: framing)
  }
}

extension ProxyContext {
  /// What we add to `Via` of what we forward (RFC 9110 §7.6.3): the protocol as received, and this instance.
  func via(receivedOver version: HTTPVersion) -> FieldValue {
    let received = version == .http11 ? "1.1" : "1.0"
    return FieldValue("\(received) \(settings.name)") ?? "1.1 larder"
  }

  /// Whether a request carries this very instance in its `Via`.
  func isOwnVia(_ fields: Fields) -> Bool {
    fields.listMembers(.via).contains { member in
      let parts = member.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
      return parts.count >= 2 && parts[1].lowercased() == settings.name.lowercased()
    }
  }
}
