// The thread that computes digests of stored representations, one after the other.

import Digests
import EventLoop
import Glibc
import Spans
import Store
import Synchronization

/// Computes digests on a thread of its own that yields to all others, begun with the first.
///
/// Bounded: it holds one window of a body at a time, and no more than so many representations wait for it.
final class DigestThread: Sendable {
  private struct Job {
    let representation: Representation
    let algorithm: DigestAlgorithm
    let continuation: UnsafeContinuation<[UInt8]?, Never>
  }

  private struct State {
    var loop: EventLoop?
    var task: Task<Void, Never>?
    var waiting: [Job] = []
    var isStopped = false
  }

  private let state = Mutex(State())
  /// The most representations that wait.
  private static let longestQueue = 4096
  /// How much is read at a time, in bytes.
  private static let window: UInt64 = 1 << 20

  /// The digest of a complete representation, as it is stored.
  ///
  /// - Returns: nil where it cannot be had: bytes have been evicted or found bad meanwhile, too many wait already, the
  ///   algorithm is not available, or the thread has been stopped.
  func digest(of representation: Representation, _ algorithm: DigestAlgorithm) async -> [UInt8]? {
    await withUnsafeContinuation { continuation in
      let job = Job(representation: representation, algorithm: algorithm, continuation: continuation)
      if !enqueue(job) { continuation.resume(returning: nil) }
    }
  }

  /// Gives up what waits and what is under way, and ends the thread.
  func stop() async {
    let (loop, task, jobs) = state.withLock { state in
      state.isStopped = true
      defer { (state.loop, state.task, state.waiting) = (nil, nil, []) }
      return (state.loop, state.task, state.waiting)
    }
    for job in jobs { job.continuation.resume(returning: nil) }
    await task?.value
    loop?.stop()
  }

  private func enqueue(_ job: Job) -> Bool {
    state.withLock { state in
      guard !state.isStopped, state.waiting.count < Self.longestQueue else { return false }
      if state.loop == nil {
        guard let loop = try? EventLoop.start(name: "larder-digests") else { return false }
        state.loop = loop
        Task(executorPreference: loop) { Self.yieldToOthers() }
      }
      state.waiting.append(job)
      if state.task == nil { state.task = Task(executorPreference: state.loop) { await self.work() } }
      return true
    }
  }

  /// The thread gives way to those that serve clients (on Linux the nice value is each thread's own).
  private static func yieldToOthers() { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }

  private func work() async {
    while let job = next() {
      job.continuation.resume(returning: await compute(job))
    }
  }

  private func next() -> Job? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.task = nil
        return nil
      }
      return state.waiting.removeFirst()
    }
  }

  private func compute(_ job: Job) async -> [UInt8]? {
    let representation = job.representation
    guard let total = representation.total, var hasher = DigestHasher(job.algorithm) else { return nil }
    var position: UInt64 = 0
    while position < total {
      if state.withLock({ $0.isStopped }) { return nil }
      let window = ByteSpan(position, min(total, position + Self.window))
      // Only what is being read is kept from eviction: what goes before or after is not worth the digest.
      let pin = representation.pin(window)
      defer { withExtendedLifetime(pin) {} }
      guard let bytes = try? await representation.bytes(in: window), Self.take(bytes, into: &hasher) else { return nil }
      position += UInt64(bytes.count)
    }
    return hasher.finish()
  }

  private static func take(_ bytes: StoredBytes, into hasher: inout DigestHasher) -> Bool {
    switch bytes {
    case .memory(let slice): hasher.update(slice.span.bytes)
    case .file:
      guard let copy = bytes.copied() else { return false }
      hasher.update(copy.span.bytes)
    }
    return true
  }
}
