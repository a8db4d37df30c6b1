// Why a name has no addresses.

import CLibevent
import Glibc

/// Why a host name could not be resolved.
public enum ResolveError: Error, Equatable, Sendable {
  /// No such name, or it has no address.
  case notFound
  /// The name servers did not answer; another try may succeed.
  case temporary
  /// Too many look-ups are under way.
  case busy
  /// The waiting task was cancelled.
  case cancelled
  /// Any other failure; the value is that of `getaddrinfo`.
  case failed(Int32)

  /// What went wrong, in words.
  public var explanation: String {
    switch self {
    case .notFound: "there is no such host"
    case .temporary: "the name servers did not answer"
    case .busy: "too many names are being looked up"
    case .cancelled: "cancelled"
    case .failed(let code): gai_strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
  }

  init(code: Int32) {
    switch code {
    case EAI_NONAME, resolver_no_data, resolver_address_family: self = .notFound
    case EAI_AGAIN: self = .temporary
    default: self = .failed(code)
    }
  }
}
