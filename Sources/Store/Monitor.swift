// Locks for the threads that may block: a state that can be waited for, and one for many readers.
import CLMDB
import Glibc

/// A state behind a mutex, and the wait for it to change. Only the store's own threads wait; a loop thread just changes
/// it and signals.
///
/// Unchecked: `state` is touched in `withLock` and `wait` only, which hold the mutex; the mutex and the condition variable
/// are made for use by all threads, are never replaced, and stay where they are until nobody refers to this any more.
final class Monitor<State: Sendable>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var state: State

  init(_ state: State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Nothing of the state may be released for the last time in `body` whose end comes back here.
  func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&state)
  }

  /// What a look at the state comes to.
  enum Look<Result> {
    case done(Result)
    /// There is nothing yet: look again after a signal, or at the deadline (nanoseconds of the monotonic clock).
    case wait(until: UInt64?)
  }

  /// Looks at the state at once, after each signal, and now and then without one, until there is something.
  func wait<Result>(_ look: (inout State) -> Look<Result>) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      switch look(&state) {
      case .done(let result): return result
      case .wait(until: nil): pthread_cond_wait(condition, mutex)
      case .wait(until: let deadline?):
        var moment = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        pthread_cond_timedwait(condition, mutex, &moment)
      }
    }
  }

  func signal() { pthread_cond_signal(condition) }

  func broadcast() { pthread_cond_broadcast(condition) }
}

/// Nanoseconds of the monotonic clock.
func monotonicNanoseconds() -> UInt64 {
  var moment = timespec()
  clock_gettime(CLOCK_MONOTONIC, &moment)
  return UInt64(moment.tv_sec) * 1_000_000_000 + UInt64(moment.tv_nsec)
}

/// Seconds since 1970.
func wallSeconds() -> UInt64 {
  var moment = timespec()
  clock_gettime(CLOCK_REALTIME, &moment)
  return UInt64(max(0, moment.tv_sec))
}

/// Runs `body` on a new thread of this name; returns what joins it.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) -> pthread_t {
  final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  let context = Unmanaged.passRetained(Box(body)).toOpaque()
  let outcome = pthread_create(
    &thread, nil,
    { context in
      guard let context else { return nil }
      Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
      return nil
    }, context)
  precondition(outcome == 0, "no thread to be had: \(String(cString: strerror(outcome)))")
  pthread_setname_np(thread, name)
  return thread
}

/// A lock that many may hold for reading, or one for writing. For what may block.
///
/// Unchecked: `lock` is never replaced, points to what is made for use by all threads, and stays where it is until nobody
/// refers to this any more.
final class ReadWriteLock: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

  init() { pthread_rwlock_init(lock, nil) }

  deinit {
    pthread_rwlock_destroy(lock)
    lock.deallocate()
  }

  func read<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    pthread_rwlock_rdlock(lock)
    defer { pthread_rwlock_unlock(lock) }
    return try body()
  }

  func write<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    pthread_rwlock_wrlock(lock)
    defer { pthread_rwlock_unlock(lock) }
    return try body()
  }
}
