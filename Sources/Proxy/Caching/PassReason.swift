// Why a response is relayed and not stored: every reason has a name (design: rule 8).

import CachePolicy

/// The named reasons of a pass, as `detail` in Cache-Status and in the logs.
enum PassReason: Equatable {
  /// The method is not answered from a store.
  case method
  /// A GET or HEAD with a body may mean anything (RFC 9110 §9.3.1).
  case requestBody
  /// The connection is to change to another protocol.
  case upgrade
  case tunnel
  /// A precondition that only the origin may judge (RFC 9111 §4.3.2).
  case precondition
  /// HEAD has no body to store, and nothing stored answers it.
  case head(ForwardReason)
  /// RFC 9111 forbids storing the response, or reusing it.
  case refused(RefusalReason, ForwardReason)
  /// The cache has no room for it.
  case noSpace(ForwardReason)
  /// The end of the body is marked only by the connection's close (setting freshness.store_close_delimited).
  case closeDelimited(ForwardReason)
  /// A part without a strong validator or total cannot be combined with others.
  case partialUnvalidated(ForwardReason)
  /// The origin answered the request for a missing part with something else.
  case originAnswer(ForwardReason)
  /// The origin answered that what the client has is valid; what is stored is not.
  case clientsOwn(ForwardReason)
  /// What is stored changed under the request again and again: evicted, replaced, or lost.
  case contended
  /// The validator changed again and again while the response was put together.
  case validatorUnstable

  /// The token for `detail`.
  var token: String {
    switch self {
    case .method: "method"
    case .requestBody: "request-body"
    case .upgrade: "upgrade"
    case .tunnel: "tunnel"
    case .precondition: "precondition"
    case .head: "head"
    case .refused(let reason, _): reason.rawValue
    case .noSpace: "no-space"
    case .closeDelimited: "close-delimited"
    case .partialUnvalidated: "partial-unvalidated"
    case .originAnswer: "origin-answer"
    case .clientsOwn: "client-validated"
    case .contended: "contended"
    case .validatorUnstable: "validator-unstable"
    }
  }

  /// Why the request went forward (RFC 9211 §2.2).
  var forward: ForwardReason {
    switch self {
    case .method, .requestBody: .method
    case .upgrade, .tunnel, .validatorUnstable: .bypass
    case .precondition: .request
    case .contended: .partial
    case .head(let forward), .refused(_, let forward), .noSpace(let forward), .closeDelimited(let forward),
      .partialUnvalidated(let forward), .originAnswer(let forward), .clientsOwn(let forward):
      forward
    }
  }
}

extension CacheStatus {
  /// The status of a response that was relayed.
  ///
  /// - Parameter collapsed: false where the request has waited for another's response in vain (RFC 9211 §2.6).
  static func passed(_ reason: PassReason, collapsed: Bool? = nil) -> CacheStatus {
    CacheStatus(.forwarded(reason.forward, collapsed: collapsed), detail: reason.token)
  }

  /// The same of a response that was to be stored, or to come from another's fill, and is relayed because the store does
  /// not take it.
  var unstored: CacheStatus {
    guard case .forwarded(let reason, let code, _, let collapsed) = handling else { return self }
    return CacheStatus(
      .forwarded(reason, status: code, collapsed: collapsed.map { _ in false }), ttl: ttl, key: key,
      detail: PassReason.noSpace(reason).token)
  }
}
