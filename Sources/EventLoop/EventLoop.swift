// EventLoop: the only target that knows libevent. Loops, streams, listeners, timers, names and signals.

import CLibevent
import Glibc
import Synchronization
import Threads

/// A thread that waits for sockets and timers, and runs the jobs of the tasks bound to it.
///
/// It is both a serial executor, for the actor that owns it, and a task executor, so that a task begun on it stays
/// on its thread through every wait. Jobs enqueued on its own thread go to a plain queue; jobs from other threads
/// take a lock, and wake the loop only while it sleeps.
///
/// Unchecked, because `confined` is touched on the loop's own thread only, and everything else is locked or atomic.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
  /// What other threads have left for the loop.
  private struct Inbox {
    var jobs: [UnownedJob] = []
    var work: [@Sendable () -> Void] = []
    /// Whether the loop waits for events, so that it must be woken.
    var isAsleep = false
    var isStopping = false
    /// Nothing runs any more.
    var isOver = false
  }

  private let inbox = Monitor(Inbox())
  private let threadID = Atomic<UInt>(0)
  private let thread = Monitor<pthread_t?>(nil)
  let confined: LoopState

  private init() throws {
    confined = try LoopState()
  }

  /// Starts a loop on a thread of its own, which lives until `stop()`.
  ///
  /// Ignores SIGPIPE in the whole process: a write to a socket whose peer has gone is an error, not a signal.
  ///
  /// - Parameter name: the thread's name, of which the system keeps 15 bytes.
  /// - Throws: `ThreadError` where the system gives no thread, `StreamError.system` where it gives no descriptor.
  public static func start(name: String) throws -> EventLoop {
    signal(SIGPIPE, SIG_IGN)
    let loop = try EventLoop()
    let thread = try startThread(name) { loop.run() }
    loop.thread.withLock { $0 = thread }
    return loop
  }

  /// Closes the streams and listeners of the loop, runs the jobs that follow from it, and ends the thread.
  ///
  /// Waits for the thread, so it must not be called on it. Sleeping tasks are woken, other timers never fire.
  /// Tasks that wait for something else must have ended before: their jobs are not run any more.
  public func stop() {
    precondition(!isCurrent, "a loop cannot wait for its own end")
    leave { $0.isStopping = true }
    let running = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    if let running { pthread_join(running, nil) }
  }

  /// Whether the caller runs on the loop's thread.
  public var isCurrent: Bool { threadID.load(ordering: .relaxed) == pthread_self() }

  // MARK: Executor

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isCurrent {
      confined.jobs.append(job)
    } else {
      leave { $0.jobs.append(job) }
    }
  }

  public func isSameExclusiveExecutionContext(other: EventLoop) -> Bool { self === other }

  public func checkIsolated() {
    precondition(isCurrent, "not on the loop's thread")
  }

  public func isIsolatingCurrentContext() -> Bool? { isCurrent }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  // MARK: Work

  /// Runs `work` on the loop, in one of its next turns; never at once, even on the loop's own thread.
  ///
  /// - Parameter waking: without it, a sleeping loop sleeps on and finds the work when something else wakes it.
  func perform(waking: Bool = true, _ work: @escaping @Sendable () -> Void) {
    if isCurrent {
      confined.work.append(work)
    } else {
      leave(waking: waking) { $0.work.append(work) }
    }
  }

  /// Lets the other tasks and events of the loop have a turn. Must be called on the loop.
  public func nextTurn() async {
    await withUnsafeContinuation { confined.yielding.append($0) }
  }

  /// Waits until the others that have their turn now have had it; not at all where there is nobody. Who sends after that
  /// sends together with them: a peer on this machine that sleeps is woken once for all, and not by each. Must be
  /// called on the loop.
  public func turnEnd() async {
    guard !confined.jobs.isEmpty else { return }
    await withUnsafeContinuation { confined.atTurnEnd.append($0) }
  }

  private func leave(waking: Bool = true, _ change: (inout Inbox) -> Void) {
    let wakes = inbox.withLock { inbox in
      guard !inbox.isOver else { return false }
      change(&inbox)
      defer { if waking { inbox.isAsleep = false } }
      return waking && inbox.isAsleep
    }
    if wakes { confined.wakeUp() }
  }

  // MARK: The thread

  private func run() {
    threadID.store(pthread_self(), ordering: .relaxed)
    while !takeInbox() {
      runJobs()
      confined.turn(blocking: fallAsleep())
    }
    finish()
    threadID.store(0, ordering: .relaxed)
  }

  /// Takes what other threads have left; true once the loop is to stop.
  private func takeInbox() -> Bool {
    inbox.withLock { inbox in
      inbox.isAsleep = false
      if !inbox.jobs.isEmpty { confined.jobs.append(takingFrom: &inbox.jobs) }
      if !inbox.work.isEmpty {
        confined.work += inbox.work
        inbox.work.removeAll(keepingCapacity: true)
      }
      return inbox.isStopping
    }
  }

  /// Whether there is nothing to do but wait for events; from then on other threads wake the loop.
  private func fallAsleep() -> Bool {
    guard !confined.hasWork else { return false }
    return inbox.withLock { inbox in
      guard inbox.jobs.isEmpty, inbox.work.isEmpty, !inbox.isStopping else { return false }
      inbox.isAsleep = true
      return true
    }
  }

  /// Runs what is queued, for a time: events must not wait for many tasks, or for some that wake each other for ever.
  private func runJobs() {
    runShare()
    if confined.resumeAtTurnEnd() {
      runShare()
      confined.takeLaterJobs()
    }
    // Those that have begun to send come last, but one of them in every turn: so a request waits for jobs, which are
    // short, and not for the bodies of a thousand others.
    while let stream = confined.unfinished.pop() {
      stream.sendMore()
      if confined.isTurnOver { break }
    }
    guard !confined.work.isEmpty else { return }
    let work = confined.work
    confined.work = []
    for item in work { item() }
  }

  private func runShare() {
    confined.beginShare()
    let serial = asUnownedSerialExecutor()
    let tasks = asUnownedTaskExecutor()
    while let job = confined.jobs.pop() {
      job.runSynchronously(isolatedTo: serial, taskExecutor: tasks)
      if confined.isTurnOver { break }
    }
  }

  /// Closes what is open and runs what follows from that, until nothing is left.
  private func finish() {
    while true {
      confined.closeAll()
      while confined.hasWork {
        runJobs()
        confined.resumeYielding()
      }
      _ = takeInbox()
      let isOver = inbox.withLock { inbox in
        guard !confined.hasWork, confined.isEmpty, inbox.jobs.isEmpty, inbox.work.isEmpty else { return false }
        inbox.isOver = true
        return true
      }
      if isOver { break }
    }
    confined.free()
  }
}
