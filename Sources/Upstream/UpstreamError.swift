// Every way an exchange with upstream can fail, with the status a client is told (RFC 9110 §15.6).

import Diagnostics
public import EventLoop
public import HTTPWire

/// Why an exchange did not bring a response, or not all of it.
public enum UpstreamError: Error, Sendable {
  /// The host name has no address.
  case unresolvable(host: String, reason: String)
  /// No address of the origin took the connection.
  case unreachable(Origin, StreamError)
  /// The access rules forbid the address that the name resolved to.
  case forbidden(Origin, reason: String)
  /// All connections allowed to this origin stayed busy.
  case busy(Origin)
  /// Nothing came within the time allowed.
  case silent(Origin, seconds: Double)
  /// The body came more slowly than allowed: less than so many bytes per second over so many seconds.
  case slow(Origin, bytesPerSecond: UInt64, seconds: Double)
  /// The connection broke before the response, or its body, was complete.
  case broken(Origin, StreamError)
  /// The origin closed before the response, or its body, was complete.
  case closedEarly(Origin)
  /// What came was not HTTP, or its end was in doubt (RFC 9112 §6.3).
  case malformed(Origin, WireError)
  /// The origin answered that it cannot serve now (429 or 5xx).
  case unavailable(Origin, status: Int)
  /// The origin's answer did not fit what was asked.
  case unusable(Origin, reason: String)
  /// The task that waited was cancelled.
  case cancelled

  /// The status a gateway answers with.
  public var status: Int {
    switch self {
    case .unresolvable, .unreachable, .broken, .closedEarly, .malformed, .unavailable, .unusable: 502
    case .silent, .slow: 504
    case .busy, .cancelled: 503
    case .forbidden: 403
    }
  }

  /// The reason in words, for error pages and the log.
  public var explanation: String {
    switch self {
    case .unresolvable(let host, let reason): "the host name \"\(host)\" could not be resolved: \(reason)"
    case .unreachable(let origin, let error): "no connection to \(origin): \(error.explanation)"
    case .forbidden(_, let reason): reason
    case .busy(let origin): "all connections allowed to \(origin) are busy"
    case .silent(let origin, let seconds): "\(origin) sent nothing for \(Int(seconds)) seconds"
    case .slow(let origin, let rate, let seconds):
      "\(origin) sent less than \(rate) bytes per second for \(Int(seconds)) seconds"
    case .broken(let origin, let error): "the connection to \(origin) broke: \(error.explanation)"
    case .closedEarly(let origin): "\(origin) closed the connection before its response was complete"
    case .malformed(let origin, let error): "\(origin) sent a malformed response: \(error.explanation)"
    case .unavailable(let origin, let status): "\(origin) answered \(status)"
    case .unusable(let origin, let reason): "\(origin) gave an answer that cannot be used: \(reason)"
    case .cancelled: "the request was cancelled"
    }
  }

  /// The token for `detail` in Cache-Status and for logs (RFC 9211 §2.8).
  public var token: String {
    switch self {
    case .unresolvable: "unresolvable"
    case .unreachable: "unreachable"
    case .forbidden: "forbidden"
    case .busy: "upstream-busy"
    case .silent: "upstream-silent"
    case .slow: "upstream-slow"
    case .broken: "upstream-broken"
    case .closedEarly: "upstream-closed-early"
    case .malformed: "upstream-malformed"
    case .unavailable: "upstream-unavailable"
    case .unusable: "upstream-unusable"
    case .cancelled: "cancelled"
    }
  }

  /// What a stream's failure means during an exchange with `origin`, whose limit was `seconds`.
  init(_ error: any Error, origin: Origin, seconds: Double) {
    switch error {
    case let error as UpstreamError: self = error
    case let error as WireError: self = .malformed(origin, error)
    case let error as StreamError:
      switch error {
      case .timedOut: self = .silent(origin, seconds: seconds)
      case .cancelled: self = .cancelled
      case .reset, .closed, .system: self = .broken(origin, error)
      }
    default: self = .broken(origin, .closed)
    }
  }
}
