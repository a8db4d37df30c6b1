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
    /// In pieces: a loop thread adds to it, and must not move many weak references at once when it grows or shrinks.
    var chunks: [[Member]] = []
    /// The first member of the first chunk that has not been taken out.
    var next = 0
    var count = 0
    var total = 0

    mutating func append(_ member: Member) {
      if chunks.isEmpty || chunks[chunks.count - 1].count == Self.chunkSize {
        chunks.append([])
        chunks[chunks.count - 1].reserveCapacity(Self.chunkSize)
      }
      chunks[chunks.count - 1].append(member)
      count += 1
    }

    mutating func takeFirst() -> Member? {
      guard let first = chunks.first, next < first.count else { return nil }
      let member = first[next]
      next += 1
      count -= 1
      if next == Self.chunkSize {
        chunks.removeFirst()
        next = 0
      }
      return member
    }

    private static let chunkSize = 1024
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

  /// Counts what was taken or given back by other means. A part counts until it has let go, or its representation has
  /// gone; what is never counted down would leave no room for others in the end.
  func count(_ change: Int) { state.withLock { $0.total += change } }

  /// How many parts stand in line, those of representations that have gone among them.
  var count: Int { state.withLock { $0.count } }

  /// Puts a part in line that now takes `size`, and makes room. Must be called without a representation's lock.
  func enter(_ representation: Representation, part: UInt64, size: Int) {
    let (isTooMuch, count) = state.withLock { state in
      state.append(Member(representation: representation, part: part))
      state.total += size
      return (state.total > limit, state.count)
    }
    if isTooMuch {
      // None is looked at twice: what has just come in is not to go before it was used.
      shrink(looks: min(count, 32))
    } else if count > Self.few {
      dropGone()
    }
  }

  /// Makes room if there is too much.
  private func shrink(looks: Int) {
    for _ in 0..<looks {
      let member = state.withLock { state -> Member? in
        state.total > limit ? state.takeFirst() : nil
      }
      guard let member else { return }
      guard let representation = member.representation else { continue }
      if let freed = release(representation, member.part) {
        state.withLock { $0.total -= freed }
      } else {
        state.withLock { $0.append(member) }
      }
    }
  }

  /// Drops the first in line whose representations have gone; where there is never too much, nobody else would. One that
  /// is there goes to the end, so that about as many of each kind stand in line in the long run.
  private func dropGone() {
    for _ in 0..<8 {
      // Looked at without the lock: this may be the last to let go of it, which is counted here.
      guard let member = state.withLock({ $0.takeFirst() }) else { return }
      guard member.representation == nil else { return state.withLock { $0.append(member) } }
    }
  }

  /// So many that have gone are no matter.
  private static let few = 1024
}
