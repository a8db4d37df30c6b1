// A state behind a lock, and the wait for it to change.
public import Glibc

/// A state that threads share: changed under a lock, and waited for.
///
/// It also stands where `Mutex` would do: the thread sanitizer sees these locks, and on Linux does not see those.
///
/// Unchecked, because the compiler does not see the lock: `state` is touched in `withLock` and `wait` only, which hold the
/// mutex. The mutex and the condition variable are made for use by all threads, are never replaced, and stay where they
/// are until nobody refers to this any more.
public final class Monitor<State: Sendable>: @unchecked Sendable {
  @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  @usableFromInline let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  @usableFromInline var state: State

  public init(_ state: State) {
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

  /// Reads or changes the state; who waits is told by `signal` or `broadcast`, afterwards.
  ///
  /// Nothing of the state may be released for the last time in `body` whose end comes back here.
  @inlinable
  public func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&state)
  }

  /// What a look at the state comes to.
  public enum Look<Result> {
    case done(Result)
    /// There is nothing yet: look again after a signal, or at the deadline (nanoseconds of the monotonic clock).
    case wait(until: UInt64?)
  }

  /// Looks at the state at once, after each signal, and now and then without one, until there is something. Blocks the
  /// thread: not for a loop's.
  @inlinable
  public func wait<Result>(_ look: (inout State) -> Look<Result>) -> Result {
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

  /// Lets one that waits look again.
  public func signal() { pthread_cond_signal(condition) }

  /// Lets all that wait look again.
  public func broadcast() { pthread_cond_broadcast(condition) }
}
