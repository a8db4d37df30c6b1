// What a loop's own thread holds: the event base, the queue of jobs, the timers, the open sockets.

import CLibevent
import Glibc

/// A socket that its loop closes when it stops.
protocol LoopResource: AnyObject {
  /// Closes it and takes it from the loop's table; later calls do nothing.
  func close()
}

/// The state of one loop. Touched on its thread only, apart from `wakeUp()`.
final class LoopState {
  let base: OpaquePointer
  var timers = TimerHeap()
  /// Jobs that are ready.
  var jobs = LoopQueue<UnownedJob>()
  /// Jobs that are ready, and come behind those that were resumed at the end of the turn.
  private var laterJobs = LoopQueue<UnownedJob>()
  var work: [@Sendable () -> Void] = []
  /// Tasks that let others go first.
  var yielding: [UnsafeContinuation<Void, Never>] = []
  /// Tasks that let those go first that have their turn already.
  var atTurnEnd = LoopQueue<UnsafeContinuation<Void, Never>>()
  /// Counts the turns, for budgets per turn.
  private(set) var turns: UInt64 = 0
  /// When this turn has lasted long enough; nil until somebody asks.
  private var turnEnd: Deadline?
  private var events: UInt64 = 0
  /// Streams that have more to send to sockets that take it.
  var unfinished = LoopQueue<StreamCore>()
  /// Where input is received: consumed before anybody else runs, so one is enough for all streams.
  let input: UnsafeMutableRawBufferPointer
  private var resources: [ObjectIdentifier: any LoopResource] = [:]
  private let wakeDescriptor: Int32
  private var wakeEvent: OpaquePointer?
  private var timerEvent: OpaquePointer?
  /// When `timerEvent` is set to fire.
  private var armedFor = Deadline.never

  /// The most that one receive takes.
  static let inputBytes = 256 << 10

  init() throws {
    let configuration = event_config_new()
    // Other threads reach the loop through the wake descriptor, never through the base.
    event_config_set_flag(configuration, Int32(EVENT_BASE_FLAG_NOLOCK.rawValue))
    let made = event_base_new_with_config(configuration)
    event_config_free(configuration)
    guard let made else { throw StreamError.system(errno == 0 ? ENOMEM : errno) }
    base = made
    wakeDescriptor = make_eventfd()
    input = .allocate(byteCount: Self.inputBytes, alignment: 4096)
    guard wakeDescriptor >= 0 else {
      let code = errno
      event_base_free(base)
      // All is set by now, so the deinitialiser runs and lets go of the rest.
      throw StreamError.system(code)
    }
    // Edge-triggered: the counter need never be read.
    let flags = Int16(EV_READ) | Int16(EV_PERSIST) | Int16(truncatingIfNeeded: EV_ET)
    wakeEvent = event_new(base, wakeDescriptor, flags, { _, _, _ in }, nil)
    timerEvent = event_new(base, -1, 0, timersAreDue, Unmanaged.passUnretained(self).toOpaque())
    event_add(wakeEvent, nil)
  }

  deinit {
    // Not before: who was about to wake the loop while it ended still writes here.
    if wakeDescriptor >= 0 { Glibc.close(wakeDescriptor) }
    input.deallocate()
  }

  /// Ends the loop's current or next wait for events. May be called on any thread while the loop runs.
  func wakeUp() {
    var one: UInt64 = 1
    _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
  }

  // MARK: Turns

  var hasWork: Bool { !jobs.isEmpty || !work.isEmpty || !yielding.isEmpty || !atTurnEnd.isEmpty || !unfinished.isEmpty }

  /// Whether this turn has lasted long enough: what is left has its turn after the events that came meanwhile. So the
  /// loop is away from new requests for a time that does not grow with the number of connections.
  var isTurnOver: Bool {
    let now = Deadline.now
    guard let turnEnd else {
      turnEnd = now.advanced(bySeconds: Self.turnSeconds)
      return false
    }
    return now >= turnEnd
  }

  /// Begins what is allowed its own time: events and jobs have the same, so that neither waits for all of the other.
  func beginShare() { turnEnd = nil }

  /// Has been called for each event of a stream. What more there is waits for the jobs of those that came before: a
  /// thousand sockets may have become ready at once.
  func noteEvent() {
    events &+= 1
    guard events % Self.eventsPerLook == 0, isTurnOver else { return }
    event_base_loopbreak(base)
  }

  private static let turnSeconds = 250e-6
  /// The clock is looked at once in so many events.
  private static let eventsPerLook: UInt64 = 8

  /// Handles the events that are there, waiting for one if `blocking`.
  func turn(blocking: Bool) {
    turns &+= 1
    beginShare()
    armTimer()
    event_base_loop(base, blocking ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK)
    resumeYielding()
  }

  func resumeYielding() {
    guard !yielding.isEmpty else { return }
    let ready = yielding
    yielding = []
    for continuation in ready { continuation.resume() }
  }

  /// Makes the jobs of those that wait for the end of the turn the first ones; false where there are none. What was
  /// there before waits in `laterJobs`.
  func resumeAtTurnEnd() -> Bool {
    guard !atTurnEnd.isEmpty else { return false }
    swap(&jobs, &laterJobs)
    while let continuation = atTurnEnd.pop() { continuation.resume() }
    return true
  }

  func takeLaterJobs() {
    if jobs.isEmpty {
      swap(&jobs, &laterJobs)
    } else {
      while let job = laterJobs.pop() { jobs.append(job) }
    }
  }

  /// One libevent timer stands for the earliest of all; it is left alone when that one goes.
  private func armTimer() {
    let earliest = timers.earliest
    guard earliest < armedFor else { return }
    armedFor = earliest
    let now = Deadline.now
    let wait = earliest > now ? earliest.nanoseconds - now.nanoseconds : 0
    // Rounded up: too early would mean a second time.
    let microseconds = wait / 1000 + 1
    var interval = timeval(tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
    event_add(timerEvent, &interval)
  }

  fileprivate func fireTimers() {
    armedFor = .never
    let now = Deadline.now
    while let timer = timers.popDue(now) { timer.fire() }
  }

  // MARK: Resources

  var isEmpty: Bool { resources.isEmpty }

  func add(_ resource: some LoopResource) { resources[ObjectIdentifier(resource)] = resource }

  func remove(_ resource: some LoopResource) { resources[ObjectIdentifier(resource)] = nil }

  /// Closes every socket and ends every sleep.
  func closeAll() {
    for resource in Array(resources.values) { resource.close() }
    for timer in timers.removeAll() where timer.firesOnStop { timer.fire() }
  }

  /// The last call: lets go of what libevent holds.
  func free() {
    for event in [wakeEvent, timerEvent] { event_free(event) }
    event_base_free(base)
  }
}

private func timersAreDue(_: Int32, _: Int16, context: UnsafeMutableRawPointer?) {
  guard let context else { return }
  Unmanaged<LoopState>.fromOpaque(context).takeUnretainedValue().fireTimers()
}
