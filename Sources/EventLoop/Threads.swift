// Threads of our own, for what must not share one.

import CLibevent
import Glibc

/// Starts a thread that runs `body` and then ends; it must be joined or detached.
///
/// - Throws: `StreamError.system` where the system gives no thread.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) throws -> pthread_t {
  final class Start {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
  let start = Unmanaged.passRetained(Start(name: String(name.utf8.prefix(15)) ?? "", body: body))
  var thread = pthread_t()
  let code = pthread_create(
    &thread, nil,
    { context in
      guard let context else { return nil }
      let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
      name_thread(pthread_self(), start.name)
      start.body()
      return nil
    }, start.toOpaque())
  guard code == 0 else {
    start.release()
    throw StreamError.system(code)
  }
  return thread
}

/// A lock with a condition, for threads that wait for work.
///
/// It is also used where `Mutex` would do: the thread sanitizer sees these locks, and on Linux does not see those.
final class Monitor<State>: @unchecked Sendable {
  // Unchecked: `state` is reached under `mutex` only. The two stay where they were allocated.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var state: State

  init(_ state: State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Changes the state, and wakes one waiting thread if `body` says so.
  func update(_ body: (inout State) -> Bool) {
    pthread_mutex_lock(mutex)
    let wakes = body(&state)
    pthread_mutex_unlock(mutex)
    if wakes { pthread_cond_signal(condition) }
  }

  /// Reads or changes the state.
  func withLock<Value>(_ body: (inout State) -> Value) -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&state)
  }

  /// Waits until `body` returns a value.
  func wait<Value>(for body: (inout State) -> Value?) -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let value = body(&state) { return value }
      pthread_cond_wait(condition, mutex)
    }
  }

  /// Wakes every waiting thread.
  func wakeAll() { pthread_cond_broadcast(condition) }
}
