// What a server asks of its process: many descriptors, and signals that arrive as calls.

import CLibevent
import Glibc

/// Raises the limit of open descriptors to the most that the process may have.
///
/// - Returns: the limit in force afterwards.
@discardableResult
public func raiseDescriptorLimit() -> Int {
  var limit = rlimit()
  guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
  var raised = limit
  raised.rlim_cur = limit.rlim_max
  if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
  return Int(clamping: limit.rlim_cur)
}

/// The signals a server acts on.
public enum ProcessSignal: Sendable, Equatable {
  /// SIGTERM.
  case terminate
  /// SIGINT.
  case interrupt
  /// SIGHUP.
  case hangUp
}

/// Delivers SIGTERM, SIGINT and SIGHUP as calls on a thread of its own.
///
/// Make it before any other thread is started: the signals are blocked in the calling thread, and the threads it
/// starts inherit that. SIGPIPE is ignored.
public final class SignalSource: Sendable {
  /// - Parameter handle: is called on the source's thread, once for each signal taken.
  /// - Throws: `StreamError.system` where the system gives no thread.
  public init(_ handle: @escaping @Sendable (ProcessSignal) -> Void) throws {
    signal(SIGPIPE, SIG_IGN)
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    let waited = set
    let thread = try startThread("larder-signals") {
      var waited = waited
      while true {
        var number: Int32 = 0
        guard sigwait(&waited, &number) == 0 else { continue }
        switch number {
        case SIGTERM: handle(.terminate)
        case SIGINT: handle(.interrupt)
        case SIGHUP: handle(.hangUp)
        default: continue
        }
      }
    }
    pthread_detach(thread)
  }
}
