// Which of many things in memory were used lately, without a list that every use must change.
import Synchronization

/// Representations that hold something that can be had again (a buffer, an open file, a loaded segment), in the order
/// they got it. When there is too much, the first that was not used since it was last looked at lets go.
final class ClockQueue: Sendable {
  struct Member {
    weak var representation: Representation?
    var part: UInt64
  }

  private struct State {
    var members: [Member] = []
    var next = 0
    var total = 0
  }

  private let state = Mutex(State())
  private let limit: Int
  /// Makes a representation let go of its part unless it was used or must be kept; returns what that frees, else nil.
  private let release: @Sendable (Representation, UInt64) -> Int?

  init(limit: Int, release: @escaping @Sendable (Representation, UInt64) -> Int?) {
    self.limit = limit
    self.release = release
  }

  var total: Int { state.withLock { $0.total } }

  /// Counts what was taken or given back.
  func count(_ change: Int) { state.withLock { $0.total += change } }

  /// Puts a part in line that now takes `size`, and makes room. Must be called without a representation's lock.
  func enter(_ representation: Representation, part: UInt64, size: Int) {
    state.withLock { state in
      state.members.append(Member(representation: representation, part: part))
      state.total += size
    }
    shrink()
  }

  /// Makes room if there is too much; looks at a bounded number.
  func shrink() {
    for _ in 0..<32 {
      let member = state.withLock { state -> Member? in
        guard state.total > limit, state.next < state.members.count else { return nil }
        let member = state.members[state.next]
        state.next += 1
        if state.next > 1024, state.next * 2 > state.members.count {
          state.members.removeFirst(state.next)
          state.next = 0
        }
        return member
      }
      guard let member else { return }
      guard let representation = member.representation else { continue }
      if let freed = release(representation, member.part) {
        state.withLock { $0.total -= freed }
      } else {
        state.withLock { $0.members.append(member) }
      }
    }
  }
}
