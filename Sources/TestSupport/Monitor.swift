// A value guarded by a lock, on which threads wait for a condition: the base of every latch in the harness.
internal import Glibc

/// A value shared by threads. Every change wakes the waiters, and every wait has a bound. Nothing of the program's is under
/// it: the harness must not lean on what it tests.
///
/// Unchecked, because the compiler does not see the lock: `state` is reached under the mutex only, and what a body takes
/// out of it may be shared. The two pointers never change, and what they point to is made to be shared.
public final class Monitor<State: Sendable>: @unchecked Sendable {
  private var state: State
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  public init(_ initial: State) {
    state = initial
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
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

  /// Reads or changes the value, then wakes all waiters.
  @discardableResult
  public func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer {
      pthread_cond_broadcast(condition)
      pthread_mutex_unlock(mutex)
    }
    return try body(&state)
  }

  /// Waits until `ready` returns a value, and returns it. Throws, naming `what`, when that takes too long.
  @discardableResult
  public func wait<Result>(
    for what: @autoclosure () -> String, seconds: Double = Patience.seconds, _ ready: (inout State) throws -> Result?
  ) throws -> Result {
    let limit = monotonicSeconds() + seconds
    var deadline = timespec()
    deadline.tv_sec = Int(limit)
    deadline.tv_nsec = Int((limit - Double(Int(limit))) * 1e9)
    if let result = try waitUntil(deadline, ready) { return result }
    // The text may well come from this very value, so it is made without the lock.
    throw HarnessError("waited \(seconds) s in vain for \(what())")
  }

  private func waitUntil<Result>(
    _ deadline: timespec, _ ready: (inout State) throws -> Result?
  ) rethrows -> Result? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    var deadline = deadline
    var isLate = false
    while true {
      if let result = try ready(&state) { return result }
      if isLate { return nil }
      isLate = pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT
    }
  }
}

/// A gate that a test opens: whoever reaches it earlier waits there.
public final class ManualGate: Sendable {
  private let state = Monitor((isOpen: false, waiting: 0))
  private let name: String

  public init(_ name: String) {
    self.name = name
  }

  /// Lets everyone through, now and later.
  public func open() {
    state.withLock { $0.isOpen = true }
  }

  /// Waits until the gate is open.
  public func pass() throws {
    state.withLock { $0.waiting += 1 }
    try state.wait(for: "the gate “\(name)” to open") { $0.isOpen ? () : nil }
  }

  /// Waits until `count` callers in all have come to the gate.
  public func waitForArrival(_ count: Int = 1) throws {
    try state.wait(for: "\(count) arrivals at the gate “\(name)”") { $0.waiting >= count ? () : nil }
  }
}

/// A body of work on a thread of its own; an error it throws is thrown again by `join`.
public final class Background: Sendable {
  private let outcome = Monitor<Result<Void, any Error>?>(nil)
  private let name: String

  public init(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
    self.name = name
    let outcome = self.outcome
    startThread {
      do {
        try body()
        outcome.withLock { $0 = .success(()) }
      } catch {
        outcome.withLock { $0 = .failure(error) }
      }
    }
  }

  /// Waits for the end of the work.
  public func join(seconds: Double = Patience.seconds * 2) throws {
    try outcome.wait(for: "the end of “\(name)”", seconds: seconds) { $0 }.get()
  }

  /// Waits for the end of the work, whatever it was.
  func joinIgnoringErrors(seconds: Double = Patience.seconds) {
    do {
      try join(seconds: seconds)
    } catch {
      // The outcome was the business of whoever asked for it.
    }
  }
}

/// Runs every body on its own thread and waits for all; throws the first error in their order.
public func concurrently(_ bodies: [@Sendable () throws -> Void]) throws {
  let threads = bodies.enumerated().map { Background("concurrent body \($0.offset)", $0.element) }
  for thread in threads { try thread.join(seconds: Patience.seconds * 10) }
}

private final class ThreadBody {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Starts a detached thread.
func startThread(_ body: @escaping @Sendable () -> Void) {
  let box = Unmanaged.passRetained(ThreadBody(body))
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
  defer { pthread_attr_destroy(&attributes) }
  var thread = pthread_t()
  let failure = pthread_create(
    &thread, &attributes,
    { argument in
      guard let argument else { return nil }
      Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
      return nil
    }, box.toOpaque())
  precondition(failure == 0, "pthread_create failed: \(failure)")
}
