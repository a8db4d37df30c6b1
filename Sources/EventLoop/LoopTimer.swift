// A timer of a loop, and the wait built on it.

import Synchronization
import Threads

/// A timer that fires once, on its loop, unless cancelled before. May be handled on any thread.
///
/// Unchecked, because `entry` is touched on the loop's thread only.
public final class LoopTimer: @unchecked Sendable {
  private let loop: EventLoop
  private let fire: @Sendable () -> Void
  private let isOver = Atomic<Bool>(false)
  /// In the heap; it keeps the timer alive while it is there.
  private var entry: TimerEntry?

  init(loop: EventLoop, fire: @escaping @Sendable () -> Void) {
    self.loop = loop
    self.fire = fire
  }

  /// Keeps the timer from firing. On the loop itself it certainly does not fire afterwards; on another thread it
  /// may be firing at this moment. Does nothing once it has fired or was cancelled.
  public func cancel() {
    guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
    if loop.isCurrent {
      drop()
    } else {
      // What it holds is let go of with the loop's next turn; that is not worth a wake-up.
      loop.perform(waking: false) { [self] in drop() }
    }
  }

  /// Must be called on the loop, once.
  func schedule(at deadline: Deadline, firesOnStop: Bool) {
    guard deadline < .never, !isOver.load(ordering: .relaxed) else { return }
    let entry = TimerEntry(firesOnStop: firesOnStop) { [self] in
      self.entry = nil
      guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
      fire()
    }
    self.entry = entry
    loop.confined.timers.schedule(entry, at: deadline)
  }

  private func drop() {
    if let entry { loop.confined.timers.remove(entry) }
    entry = nil
  }
}

/// One task's wait for a point in time, or for its cancellation.
private final class Sleeper: Sendable {
  private enum State {
    case idle
    case waiting(UnsafeContinuation<Void, Never>)
    case over
  }

  private let state = Monitor(State.idle)

  func wait(_ continuation: UnsafeContinuation<Void, Never>) {
    let isOver = state.withLock { state in
      if case .over = state { return true }
      state = .waiting(continuation)
      return false
    }
    if isOver { continuation.resume() }
  }

  func wake() {
    let continuation = state.withLock { state -> UnsafeContinuation<Void, Never>? in
      defer { state = .over }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume()
  }
}

extension EventLoop {
  /// A timer that calls `fire` on the loop at `deadline`, at most a few hundredths of a second late on an idle
  /// loop. May be called on any thread.
  public func timer(at deadline: Deadline, _ fire: @escaping @Sendable () -> Void) -> LoopTimer {
    timer(at: deadline, firesOnStop: false, fire)
  }

  func timer(at deadline: Deadline, firesOnStop: Bool, _ fire: @escaping @Sendable () -> Void) -> LoopTimer {
    let timer = LoopTimer(loop: self, fire: fire)
    if isCurrent {
      timer.schedule(at: deadline, firesOnStop: firesOnStop)
    } else {
      perform { timer.schedule(at: deadline, firesOnStop: firesOnStop) }
    }
    return timer
  }

  /// Waits until `deadline`; ends early when the task is cancelled or the loop stops.
  public func sleep(until deadline: Deadline) async {
    let sleeper = Sleeper()
    let timer = timer(at: deadline, firesOnStop: true) { sleeper.wake() }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { sleeper.wait($0) }
    } onCancel: {
      sleeper.wake()
    }
    timer.cancel()
  }
}
