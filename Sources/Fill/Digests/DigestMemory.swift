// What is remembered of digests: what answers to fills stated, what has been compared, and what came out wrong.

import CachePolicy
import Digests
import EventLoop
import Synchronization

/// A bounded memory shared by all workers; one lock, held for table look-ups only. What does not fit is forgotten: that
/// costs a digest more or one less, never a wrong byte.
final class DigestMemory: Sendable {
  private struct Failure {
    let stated: StatedDigest
    let found: [UInt8]
    let until: Deadline
  }

  private struct State {
    /// Statements of answers to fills, by the number of the representation.
    var heard: [UInt64: [StatedDigest]] = [:]
    /// The numbers of representations that have been compared.
    var compared: Set<UInt64> = []
    /// The last failure of each key.
    var failures: [CacheKey: Failure] = [:]
  }

  private let state = Mutex(State())
  /// How long a key's failure is remembered, in seconds.
  private let seconds: Double
  private static let limit = 16_384

  init(seconds: Double) { self.seconds = seconds }

  /// What an answer to a fill stated.
  func hear(_ stated: [StatedDigest], of representation: UInt64) {
    state.withLock { state in
      if state.heard.count >= Self.limit { state.heard.removeAll(keepingCapacity: true) }
      state.heard[representation] = stated
    }
  }

  func heard(of representation: UInt64) -> [StatedDigest] { state.withLock { $0.heard[representation] ?? [] } }

  /// Whether it is to be compared now: it was not before, or what came of that has been withdrawn.
  func begin(_ representation: UInt64) -> Bool {
    state.withLock { state in
      state.heard[representation] = nil
      if state.compared.count >= Self.limit { state.compared.removeAll(keepingCapacity: true) }
      return state.compared.insert(representation).inserted
    }
  }

  /// Nothing came of a comparison: once the representation is complete again it may be repeated.
  func withdraw(_ representation: UInt64) { state.withLock { _ = $0.compared.remove(representation) } }

  /// What follows from a digest that is not what was stated.
  enum Consequence {
    /// It is the first in a while: the representation goes, and is fetched anew.
    case fetchAnew
    /// The same came again although it was fetched anew: what the origin states is wrong, and the bytes are its own.
    case keep
    /// It was fetched anew already, and came differently: the representation goes, and is not fetched by itself.
    case drop
  }

  /// Notes a failure.
  func failed(_ key: CacheKey, _ stated: StatedDigest, found: [UInt8]) -> Consequence {
    let now = Deadline.now
    let failure = Failure(stated: stated, found: found, until: .after(seconds: seconds))
    return state.withLock { state in
      let known = state.failures[key].flatMap { $0.until > now ? $0 : nil }
      if known == nil, state.failures.count >= Self.limit {
        state.failures = state.failures.filter { $0.value.until > now }
        if state.failures.count >= Self.limit { state.failures.removeAll(keepingCapacity: true) }
      }
      state.failures[key] = failure
      guard let known else { return .fetchAnew }
      return known.stated.algorithm == stated.algorithm && known.stated.value == stated.value && known.found == found
        ? .keep : .drop
    }
  }

  /// A representation of the key was right: the next failure is a first one.
  func succeeded(_ key: CacheKey) {
    state.withLock { if !$0.failures.isEmpty { $0.failures[key] = nil } }
  }
}
