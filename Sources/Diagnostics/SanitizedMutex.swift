// A mutex that the thread sanitizer understands; each target that locks has this file.

#if THREAD_SANITIZER
  import Glibc

  /// Stands in for `Synchronization.Mutex` in builds for the thread sanitizer (`-Xswiftc -DTHREAD_SANITIZER`): that one
  /// makes its system calls itself, where the sanitizer does not see them, so that everything it guards would be
  /// reported as a race.
  ///
  /// Unchecked, because the pointers hide what is shared: `value` is reached under `lock` only, and came as `sending`,
  /// so that nobody outside can reach it; neither pointer changes.
  struct Mutex<Value>: ~Copyable, @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    init(_ initial: consuming sending Value) {
      pthread_mutex_init(lock, nil)
      value.initialize(to: initial)
    }

    deinit {
      value.deinitialize(count: 1)
      value.deallocate()
      pthread_mutex_destroy(lock)
      lock.deallocate()
    }

    borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      pthread_mutex_lock(lock)
      defer { pthread_mutex_unlock(lock) }
      // The lock is held: for the length of this call nobody else has what it points to.
      nonisolated(unsafe) let value = value
      return try body(&value.pointee)
    }
  }
#endif
