// TestSupport: real and scripted peers, a raw client, and event synchronisation for tests of the whole program.
//
// Everything here blocks the calling thread and has a bound: a wait that is not fulfilled in time throws and says
// what it waited for. Nothing here uses the program's own parsers, so that a fault in one of them cannot hide itself.
internal import Glibc

/// What went wrong in the harness itself or while waiting; the text is meant to be read in a test's failure.
public struct HarnessError: Error, CustomStringConvertible, Sendable {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }

  /// The failure of a system call, with the current `errno` in words.
  public static func system(_ call: String) -> HarnessError {
    HarnessError("\(call): \(String(cString: strerror(errno)))")
  }
}

/// How long waits may take before they fail. Generous: it is reached only where something hangs.
public enum Patience {
  /// Seconds that one wait may take; `LARDER_TEST_PATIENCE` multiplies it (sanitizers, slow machines).
  public static let seconds: Double = 30 * (environment("LARDER_TEST_PATIENCE").flatMap(Double.init) ?? 1)
}

/// A variable of the test process's environment, nil when unset or empty.
public func environment(_ name: String) -> String? {
  guard let value = getenv(name) else { return nil }
  let text = String(cString: value)
  return text.isEmpty ? nil : text
}

/// Seconds on the monotonic clock.
func monotonicSeconds() -> Double {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}
