// The request as it goes upstream: hop-by-hop fields off, Via on, the target in origin-form.

import Configuration
import HTTPMessage
import HTTPWire
import Upstream

/// A client's request turned into what is asked of the origin (RFC 9110 §7.6). Bound to its worker's loop.
final class ForwardedRequest {
  let target: TargetURI
  private let request: RequestHead
  private let via: FieldValue
  /// What is left of `Max-Forwards` (RFC 9110 §7.6.2), where it counts.
  private let maxForwards: UInt64?
  /// What the client wants to change to on this connection (RFC 9110 §7.8), for a pass that becomes a tunnel.
  let upgrade: FieldValue?
  /// Whether the client accepts trailer fields (RFC 9110 §6.5.1).
  let acceptsTrailers: Bool
  /// The fields that go upstream; those of the client's conditionals and Range among them. Made when they are first
  /// asked for, since most requests are answered from the store.
  private(set) lazy var fields = makeFields()

  var method: Method { request.method }

  /// The target in the form that origins take (RFC 9112 §3.2.1); `OPTIONS` of a server as a whole is `*` (§3.2.4).
  private var originTarget: RequestTarget {
    method == .options && target.isPathEmpty ? .asterisk : .origin(target.pathAndQuery)
  }

  /// The request as it would go upstream, for decisions about what answers it.
  var head: RequestHead {
    RequestHead(method: method, target: originTarget, version: .http11, fields: fields)
  }

  /// What is left of `Max-Forwards`, for the methods that it counts for (RFC 9110 §7.6.2). At 0 this proxy is the last
  /// recipient, and the request must not be forwarded.
  static func maxForwards(of request: RequestHead) -> UInt64? {
    guard request.fields.contains(.maxForwards), request.method == .trace || request.method == .options else {
      return nil
    }
    return request.fields.first(.maxForwards)?.decimal
  }

  convenience init(_ transaction: Transaction, to target: TargetURI) {
    let request = transaction.request
    self.init(
      request, to: target, via: transaction.context.via(receivedOver: request.version),
      maxForwards: ForwardedRequest.maxForwards(of: request))
  }

  private init(_ request: RequestHead, to target: TargetURI, via: FieldValue, maxForwards: UInt64?) {
    self.request = request
    self.target = target
    self.via = via
    self.maxForwards = maxForwards
    let fields = request.fields
    upgrade =
      request.version == .http11 && fields.hasListMember(.connection, "upgrade") ? fields.combined(.upgrade) : nil
    acceptsTrailers = fields.hasListMember(.te, "trailers")
  }

  /// The target's authority; as a rule Host has said it.
  private var host: FieldValue? {
    if let said = request.fields.first(.host), said.bytes.isEqual(to: target.authority) { return said }
    return FieldValue(target.authority)
  }

  private func makeFields() -> Fields {
    var fields = request.fields
    fields.removeHopByHop()
    if let maxForwards, maxForwards > 0 { fields.set(.maxForwards, FieldValue(maxForwards - 1)) }
    var ordered = Fields()
    ordered.reserveCapacity(
      lines: fields.count + 2,
      bytes: fields.serialized.count + target.authority.utf8.count + via.bytes.count + 32)
    if let host { ordered.append(.host, host) }
    ordered.append(contentsOf: fields, without: Self.replaced)
    ordered.append(.via, via)
    return ordered
  }

  /// The target's authority wins over whatever Host said (RFC 9112 §3.2.2), and credentials for a proxy end at the
  /// proxy that they were meant for (RFC 9110 §11.7.2).
  private static let replaced = FieldNameSet([.host, .proxyAuthorization])

  /// A GET of the same target without what belongs to the request's own content.
  var asGet: ForwardedRequest {
    var fields = request.fields
    for name: FieldName in [.contentLength, .transferEncoding, .contentType, .contentEncoding, .expect, .upgrade] {
      fields.remove(name)
    }
    let get = RequestHead(method: .get, target: request.target, version: request.version, fields: fields)
    return ForwardedRequest(get, to: target, via: via, maxForwards: nil)
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
  /// Whether a request carries this very instance in its `Via`.
  func isOwnVia(_ fields: Fields) -> Bool {
    fields.contains(.via)
      && fields.listMembers(.via).contains { member in
        let parts = member.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
        return parts.count >= 2 && parts[1].lowercased() == settings.name.lowercased()
      }
  }
}
