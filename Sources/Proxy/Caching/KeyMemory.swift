// Remembers for a while that the responses of a cache key need special care.

import CachePolicy
import EventLoop
import Synchronization

/// Cache keys with an expiry. Shared by all workers; one lock, held for table look-ups only.
final class KeyMemory: Sendable {
  private let seconds: Double
  private let until = Mutex<[CacheKey: Deadline]>([:])
  private static let limit = 10_000

  init(seconds: Double) { self.seconds = seconds }

  /// The key is remembered from now on, anew if it was already.
  func remember(_ key: CacheKey) {
    let deadline = Deadline.after(seconds: seconds)
    until.withLock { table in
      if table.count >= Self.limit {
        let now = Deadline.now
        table = table.filter { $0.value > now }
        // A flood of such keys costs waiting, never memory.
        if table.count >= Self.limit { table.removeAll(keepingCapacity: true) }
      }
      table[key] = deadline
    }
  }

  /// The key is as any other again.
  func forget(_ key: CacheKey) {
    until.withLock { if !$0.isEmpty { $0[key] = nil } }
  }

  func contains(_ key: CacheKey) -> Bool {
    until.withLock { table in
      guard let deadline = table[key] else { return false }
      if deadline > .now { return true }
      table[key] = nil
      return false
    }
  }
}
