// Requests for the same cache key wait for the response head of the first of them, instead of all going upstream.

import CachePolicy
import EventLoop
import Synchronization

/// The requests that are about to learn a response head, one leader for a key. Shared by all workers.
///
/// One lock, held for table look-ups only.
final class Collapser: Sendable {
  /// How a request stands to others for the same key.
  enum Standing {
    /// It goes upstream; the lead ends when the head is known, or when it is dropped.
    case leads(Lead)
    /// Another request was already on its way; its head is known now, or its lead has ended without one.
    case waited
    /// The same, but the answer was for the other's client alone and says nothing of the response.
    case unanswered
    /// The time was over first.
    case slow
  }

  private struct Waiter {
    let id: UInt64
    let continuation: UnsafeContinuation<Standing, Never>
  }

  private struct State {
    var waiting: [CacheKey: [Waiter]] = [:]
    var nextID: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Leads for `key`, or waits for who leads, at most until `deadline`.
  func enter(_ key: CacheKey, deadline: Deadline, loop: EventLoop) async -> Standing {
    let id = state.withLock { state -> UInt64? in
      if state.waiting[key] == nil {
        state.waiting[key] = []
        return nil
      }
      state.nextID += 1
      return state.nextID
    }
    guard let id else { return .leads(Lead(collapser: self, key: key)) }
    let timer = loop.timer(at: deadline) { [weak self] in self?.release(id, of: key) }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { (continuation: UnsafeContinuation<Standing, Never>) in
        let waits = state.withLock { state in
          guard !Task.isCancelled, state.waiting[key] != nil else { return false }
          state.waiting[key]?.append(Waiter(id: id, continuation: continuation))
          return true
        }
        if !waits { continuation.resume(returning: .waited) }
      }
    } onCancel: {
      release(id, of: key)
    }
  }

  /// Leads for `key`; nil where somebody does so already.
  func lead(_ key: CacheKey) -> Lead? {
    let isFirst = state.withLock { state in
      guard state.waiting[key] == nil else { return false }
      state.waiting[key] = []
      return true
    }
    return isFirst ? Lead(collapser: self, key: key) : nil
  }

  private func release(_ id: UInt64, of key: CacheKey) {
    let waiter = state.withLock { state -> Waiter? in
      guard let index = state.waiting[key]?.firstIndex(where: { $0.id == id }) else { return nil }
      return state.waiting[key]?.remove(at: index)
    }
    waiter?.continuation.resume(returning: .slow)
  }

  fileprivate func end(_ key: CacheKey, _ standing: Standing) {
    let waiters = state.withLock { $0.waiting.removeValue(forKey: key) } ?? []
    for waiter in waiters { waiter.continuation.resume(returning: standing) }
  }

  /// The right to go upstream first for a key.
  final class Lead: Sendable {
    private let collapser: Collapser
    private let key: CacheKey
    private let isOver = Atomic<Bool>(false)

    fileprivate init(collapser: Collapser, key: CacheKey) {
      self.collapser = collapser
      self.key = key
    }

    deinit { end() }

    /// The head is known: whoever waits goes on. Later calls do nothing.
    func end() { end(.waited) }

    /// The head is known, and is of no use to whoever waits. Later calls do nothing.
    func endUnanswered() { end(.unanswered) }

    private func end(_ standing: Standing) {
      guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
      collapser.end(key, standing)
    }
  }
}
