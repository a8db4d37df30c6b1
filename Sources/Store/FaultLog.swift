// Telling of a failing disk without telling of every attempt.
import Diagnostics
import Synchronization
import Threads

/// A disk that fails does so at every call. Of each kind of failure the first is logged at once, and then one in ten
/// seconds with the number of those in between.
final class FaultLog: Sendable {
  /// What failed.
  enum Kind: Hashable {
    case journal
    case packWrite
    case reclaiming
    case bodyWrite
    case bodyRead
    case packRead
    case lost
    case sync
    case removal
    case indexRead
    case room
  }

  private struct State {
    var loggedAt: UInt64
    var unlogged = 0
  }

  /// Nanoseconds between two lines about the same kind.
  private static let interval: UInt64 = 10_000_000_000

  private let log: Log
  private let states = Mutex<[Kind: State]>([:])

  init(log: Log) { self.log = log }

  /// Notes a failure, in words that say what follows from it.
  func note(_ kind: Kind, _ message: @autoclosure () -> String) {
    let now = monotonicNanoseconds()
    let unlogged = states.withLock { states -> Int? in
      if let state = states[kind], now < state.loggedAt + FaultLog.interval {
        states[kind]?.unlogged += 1
        return nil
      }
      defer { states[kind] = State(loggedAt: now) }
      return states[kind]?.unlogged ?? 0
    }
    guard let unlogged else { return }
    log.error("cache: \(message())" + (unlogged > 0 ? " (and \(unlogged) more like it before)" : ""))
  }
}
