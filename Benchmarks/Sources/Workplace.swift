// The one folder in which everything of a run happens, gone when the run is over, however it ends.
import Glibc
import TestSupport

/// Where a run works.
enum Workplace {
  /// The folder, once `prepare` has made it.
  private static let folder = Monitor<TemporaryFolder?>(nil)

  /// Makes the folder, and sees to it that servers end and files go also when the run is interrupted.
  static func prepare() throws {
    let made = try TemporaryFolder("larder-bench")
    folder.withLock { $0 = made }
    // Registered before the first child is started, so that it runs after the one that kills the children.
    atexit { Workplace.clear() }
    setenv("TMPDIR", made.path, 1)
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    _ = Background("signals") {
      var taken: Int32 = 0
      var signals = sigset_t()
      sigemptyset(&signals)
      for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
      sigwait(&signals, &taken)
      exit(128 + taken)
    }
    // A server for thousands of clients needs as many descriptors, and so does the load.
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  private static func clear() {
    folder.withLock { $0 }?.remove()
  }
}

/// Which core does what.
enum Cores {
  static let server = 0
  static let load = 1
}

/// Seconds on the monotonic clock.
func monotonicSeconds() -> Double {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}
