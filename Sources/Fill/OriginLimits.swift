// What origins are known to take: how many connections for one object, remembered for a while.

import EventLoop
import Synchronization
import Upstream

/// Origins that refused, or did not reward, several connections for one object. Shared by all workers.
final class OriginLimits: Sendable {
  private let known = Mutex<[Origin: (most: Int, until: Deadline)]>([:])

  /// The most connections for one object of that origin.
  func most(for origin: Origin) -> Int {
    known.withLock { known in
      guard let entry = known[origin] else { return .max }
      if entry.until > .now { return entry.most }
      known[origin] = nil
      return .max
    }
  }

  /// From now on, for a while, no more than `most`.
  func remember(_ origin: Origin, atMost most: Int) {
    let until = Deadline.after(seconds: Self.memory)
    known.withLock { known in
      if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
      known[origin] = (min(most, known[origin]?.most ?? .max), until)
    }
  }

  /// In seconds.
  private static let memory = 300.0
  /// Forgetting an origin costs one more trial, and a table without bound costs memory.
  private static let limit = 1000
}
