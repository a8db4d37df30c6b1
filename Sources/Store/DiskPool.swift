// The threads that wait for the disk, so that no loop does.
import Glibc

/// A few threads that run what may block on a disk. Work is taken in the order it came.
///
/// Unchecked: everything that changes is reached under `monitor` only.
final class DiskPool: @unchecked Sendable {
  private let monitor = Monitor()
  // All of these under the monitor's lock.
  private var waiting: [(@Sendable () -> Void)?] = []
  private var next = 0
  private var idle = 0
  private var isStopped = false
  private var threads: [pthread_t] = []

  init(name: String, threads count: Int) {
    threads = (0..<max(1, count)).map { index in startThread("\(name)-\(index)") { [self] in serve() } }
  }

  /// Runs `work` on one of the threads, or at once when the pool has stopped.
  func submit(_ work: @escaping @Sendable () -> Void) {
    monitor.lock()
    guard !isStopped else {
      monitor.unlock()
      return work()
    }
    waiting.append(work)
    let wakes = idle > 0
    monitor.unlock()
    if wakes { monitor.signal() }
  }

  /// Runs `work` on one of the threads and resumes on the caller's executor with what it returned.
  func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      submit { continuation.resume(returning: work()) }
    }
  }

  /// Finishes what was submitted and ends the threads; must not be called on one of them.
  func stop() {
    monitor.lock()
    isStopped = true
    let ending = threads
    threads = []
    monitor.unlock()
    monitor.broadcast()
    for thread in ending { pthread_join(thread, nil) }
  }

  private func serve() {
    while true {
      monitor.lock()
      while next == waiting.count, !isStopped {
        idle += 1
        monitor.wait()
        idle -= 1
      }
      let isDone = next == waiting.count
      let work = isDone ? nil : takeNext()
      monitor.unlock()
      guard let work else { return }
      work()
    }
  }

  /// Takes the next work out, leaving nothing of it: what it holds may be released only without the lock, because the
  /// end of an open file comes back here.
  private func takeNext() -> (@Sendable () -> Void)? {
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
