// How an operation on a socket can fail.

import CLibevent
import Glibc

/// Why a stream, a connect or a listener failed.
public enum StreamError: Error, Equatable, Sendable {
  /// The deadline has passed, or no byte has moved for the time allowed.
  case timedOut
  /// The peer has reset the connection, or takes no bytes any more.
  case reset
  /// The stream was closed on this side.
  case closed
  /// The waiting task was cancelled.
  case cancelled
  /// Any other error of the system; the value is its `errno`.
  case system(Int32)

  /// What went wrong, in words.
  public var explanation: String {
    switch self {
    case .timedOut: "timed out"
    case .reset: "connection reset by the peer"
    case .closed: "the connection was already closed"
    case .cancelled: "cancelled"
    case .system(let code): Self.words(for: code)
    }
  }

  /// The outcome that an `errno` of a socket call stands for.
  init(code: Int32) {
    switch code {
    case ECONNRESET, EPIPE: self = .reset
    case ETIMEDOUT: self = .timedOut
    default: self = .system(code)
    }
  }

  private static func words(for code: Int32) -> String {
    switch code {
    case ECONNREFUSED: return "connection refused"
    case EHOSTUNREACH: return "no route to the host"
    case ENETUNREACH: return "the network is unreachable"
    case EADDRINUSE: return "the address is already in use"
    case EADDRNOTAVAIL: return "the address is not one of this machine, or no port is free"
    case EACCES, EPERM: return "not permitted"
    case EMFILE, ENFILE: return "too many open files"
    case ENODATA: return "a file was shorter than the part of it that was to be sent"
    default:
      var text = [CChar](repeating: 0, count: 128)
      guard strerror_r(code, &text, text.count) == 0 else { return "error \(code)" }
      return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
}
