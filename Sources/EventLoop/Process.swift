// What a server asks of its process: many descriptors, and signals that arrive as calls.

import CLibevent
import Glibc
import Synchronization
import Threads

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

/// Delivers SIGTERM, SIGINT and SIGHUP as calls on a thread of its own, for the life of the process.
///
/// One per process; threads that were there before it make no difference. SIGPIPE is ignored.
public final class SignalSource: Sendable {
  /// - Parameter handle: is called on the source's thread, once for each signal taken.
  /// - Throws: `ThreadError` where the system gives no thread, `StreamError.system` where it gives no descriptor.
  public init(_ handle: @escaping @Sendable (ProcessSignal) -> Void) throws {
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw StreamError.system(errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // The handler must not wait should the pipe ever be full.
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    let source = ends[0]
    let thread = try startThread("larder-signals") {
      var number: UInt8 = 0
      while true {
        guard read(source, &number, 1) == 1 else { continue }
        switch Int32(number) {
        case SIGTERM: handle(.terminate)
        case SIGINT: handle(.interrupt)
        case SIGHUP: handle(.hangUp)
        default: continue
        }
      }
    }
    pthread_detach(thread)
    signalPipe.store(ends[1], ordering: .sequentiallyConsistent)
    var action = sigaction()
    action.__sigaction_handler.sa_handler = passOn
    action.sa_flags = SA_RESTART
    for number in [SIGTERM, SIGINT, SIGHUP] { sigaction(number, &action, nil) }
  }
}

/// Where the handler writes. Set before the handler is installed, so that the handler never is the one to make it.
private let signalPipe = Atomic<Int32>(-1)

/// The signal handler: only what is safe in one (signal-safety(7)).
private func passOn(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(signalPipe.load(ordering: .relaxed), &byte, 1)
  errno = saved
}
