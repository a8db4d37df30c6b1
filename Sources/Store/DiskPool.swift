// The threads that wait for the disk, so that no loop does.
import Glibc
import Threads

/// A few threads that run what may block on a disk. Work is taken in the order it came.
final class DiskPool: Sendable {
  private typealias Work = @Sendable () -> Void

  private struct State {
    var waiting: [Work?] = []
    var next = 0
    /// How many threads wait for work.
    var idle = 0
    var isStopped = false
    var threads: [pthread_t] = []

    /// Takes the next work out, leaving nothing of it: what it holds may be released only without the lock, because the
    /// end of an open file comes back here.
    mutating func takeNext() -> Work? {
      guard next < waiting.count else { return nil }
      let work = waiting[next]
      waiting[next] = nil
      next += 1
      if next == waiting.count {
        waiting.removeAll(keepingCapacity: waiting.capacity <= 4096)
        next = 0
      }
      return work
    }
  }

  private let state = Monitor(State())

  init(name: String, threads count: Int) {
    let threads = (0..<max(1, count)).map { index in startStoreThread("\(name)-\(index)") { [self] in serve() } }
    state.withLock { $0.threads = threads }
  }

  /// Runs `work` on one of the threads, or at once when the pool has stopped.
  func submit(_ work: @escaping @Sendable () -> Void) {
    let (isTaken, wakes) = state.withLock { state in
      guard !state.isStopped else { return (false, false) }
      state.waiting.append(work)
      return (true, state.idle > 0)
    }
    if wakes { state.signal() }
    if !isTaken { work() }
  }

  /// Runs `work` on one of the threads and resumes on the caller's executor with what it returned.
  func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      submit { continuation.resume(returning: work()) }
    }
  }

  /// Finishes what was submitted and ends the threads; must not be called on one of them.
  func stop() {
    let ending = state.withLock { state in
      state.isStopped = true
      defer { state.threads = [] }
      return state.threads
    }
    state.broadcast()
    for thread in ending { pthread_join(thread, nil) }
  }

  private func serve() {
    while let work = next() { work() }
  }

  /// Waits for work; nil when the pool has stopped and nothing is left.
  private func next() -> Work? {
    var isIdle = false
    return state.wait { state in
      if isIdle { state.idle -= 1 }
      isIdle = false
      if let work = state.takeNext() { return .done(work) }
      if state.isStopped { return .done(nil) }
      state.idle += 1
      isIdle = true
      return .wait(until: nil)
    }
  }
}
