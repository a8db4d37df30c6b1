// The socket of a stream as its loop sees it: readiness, waits and their ends.

import CLibevent
import Glibc

/// One non-blocking socket, its one event and who waits for it. Touched on its loop's thread only.
///
/// The loop's table keeps it until `close()`, which deletes the event first: so libevent never calls for an object
/// that has gone, whoever lets go of the stream and wherever.
final class StreamCore: LoopResource {
  let loop: EventLoop
  private(set) var descriptor: Int32
  private var event: OpaquePointer?
  /// Whether a receive may bring something; cleared when one brought nothing.
  var isReadable = true
  /// Whether the last receive brought less than it could, so that nothing was left.
  var hasTakenAll = false
  /// Whether a send may take something; cleared when one took nothing.
  var isWritable: Bool
  /// Whether the peer has ended its direction.
  var hasEnded = false
  var readFailure: StreamError?
  var writeFailure: StreamError?
  /// Bytes received and not consumed, from `pendingStart`.
  var pending: [UInt8] = []
  var pendingStart = 0
  var output: OutputQueue
  var peerGone: ((ByteStream.PeerEnd) -> Void)?
  /// Whether the system has told that the peer ended its direction.
  private(set) var hasPeerFinished = false
  /// Bytes a second that the peer has to take on average while there is something to send.
  var leastSendRate = 0.0
  /// When the peer must have taken enough, and what it has taken towards that; nil while there is nothing to send.
  private var sendPeriod: (end: Deadline, moved: Int)?
  private var shutsDownWhenSent = false
  private(set) var reader: Reader?
  /// Who is to be called instead of a reader, and at the latest when.
  private var waker: (deadline: Deadline, call: () -> Void)?
  private(set) var writer: Writer?
  private var nextID: UInt64 = 0
  private var timer: TimerEntry?
  /// Whether the loop sends for this stream in its next turn.
  private var isSendingLater = false
  /// Bytes moved in the loop's turn `budgetTurn`.
  private var budgetUsed = 0
  private var budgetTurn: UInt64 = 0

  /// Takes over `descriptor`, which must be a non-blocking stream socket.
  init(adopting descriptor: Int32, isConnected: Bool, on loop: EventLoop) throws {
    precondition(loop.isCurrent, "a stream is made on its loop")
    self.loop = loop
    self.descriptor = descriptor
    isWritable = isConnected
    guard var output = OutputQueue() else {
      Glibc.close(descriptor)
      throw StreamError.system(ENOMEM)
    }
    self.output = output
    let flags =
      Int16(EV_READ) | Int16(EV_WRITE) | Int16(EV_CLOSED) | Int16(EV_PERSIST) | Int16(truncatingIfNeeded: EV_ET)
    event = event_new(loop.confined.base, descriptor, flags, streamIsReady, Unmanaged.passUnretained(self).toOpaque())
    guard event != nil, event_add(event, nil) == 0 else {
      let code = errno
      if let event { event_free(event) }
      output.free()
      Glibc.close(descriptor)
      throw StreamError.system(code == 0 ? ENOMEM : code)
    }
    loop.confined.add(self)
  }

  var isOpen: Bool { descriptor >= 0 }

  /// Two threads on one stream would corrupt it; a caller that has left the loop is told at once.
  func checkThread() { precondition(loop.isCurrent, "a stream is used on its loop only") }

  func close() {
    checkThread()
    guard isOpen else { return }
    event_free(event)
    event = nil
    Glibc.close(descriptor)
    descriptor = -1
    output.free()
    pending = []
    pendingStart = 0
    peerGone = nil
    if let timer { loop.confined.timers.remove(timer) }
    timer = nil
    resumeReader(.closed)
    resumeWriter(.closed)
    wake()
    loop.confined.remove(self)
  }

  /// Closes with a reset, so that the peer cannot take what it has for the whole. What the socket takes of the queue is
  /// sent before.
  func abort() {
    checkThread()
    guard isOpen else { return }
    if writeFailure == nil, isWritable { _ = output.send(to: descriptor, isTimeOver: { false }) }
    resetWhenClosed(descriptor)
    close()
  }

  /// Ends the outgoing direction, once the queue is empty.
  func shutdownWrite() {
    checkThread()
    guard isOpen else { return }
    shutsDownWhenSent = output.count > 0 && writeFailure == nil
    if !shutsDownWhenSent { shutdown(descriptor, Int32(SHUT_WR)) }
  }

  // MARK: Events

  fileprivate func ready(_ what: Int16) {
    let hasJustFinished = what & Int16(EV_CLOSED) != 0 && !hasPeerFinished
    if hasJustFinished { hasPeerFinished = true }
    if what & Int16(EV_WRITE) != 0 {
      isWritable = true
      // A thousand sockets may have become ready at once.
      if output.count > 0, loop.confined.isTurnOver { sendLater() } else { sendMore() }
    }
    if what & Int16(EV_READ) != 0 {
      isReadable = true
      hasTakenAll = false
      if reader != nil {
        resumeReader(nil)
      } else if waker != nil {
        wake()
      } else if peerGone != nil {
        reportPeerGone()
      }
    }
    // A reader that was waiting finds the end by itself.
    if hasJustFinished, reader == nil, isOpen { peerGone?(.finished) }
  }

  /// Sends what the socket takes, and lets go on who waits for that.
  func sendMore() {
    isSendingLater = false
    if writeFailure == nil { sendQueued() }
    if let writer, output.count <= writer.limit || writeFailure != nil { resumeWriter(writeFailure) }
  }

  /// Sends in the loop's next turn.
  private func sendLater() {
    guard !isSendingLater else { return }
    isSendingLater = true
    loop.confined.unfinished.append(self)
  }

  /// Sends what the socket takes.
  func sendQueued() {
    checkThread()
    guard isOpen, isWritable, output.count > 0 else { return }
    let moved: Int
    switch output.send(to: descriptor, isTimeOver: { loop.confined.isTurnOver }) {
    case .emptied(let count): moved = count
    case .full(let count):
      moved = count
      isWritable = false
    case .paused(let count):
      moved = count
      sendLater()
    case .failed(let count, let failure):
      moved = count
      writeFailure = failure
    }
    if output.count == 0 {
      sendPeriod = nil
      if shutsDownWhenSent { shutdownWrite() }
    }
    guard moved > 0 else { return }
    if writeFailure == nil { noteSent() }
    spend(moved)
    sendPeriod?.moved += moved
    // Not by the clock: an event just behind the deadline, before the timer has been looked at, must not renew it.
    if let stall = writer?.stall, hasTakenEnough(stall: stall) { writer?.deadline = beginSendPeriod(stall: stall) }
  }

  /// When the peer must have taken enough of what is queued. Once it has, it gets the same time for the next; so it
  /// does where that time went by while nobody waited.
  func sendDeadline(stall: Double) -> Deadline {
    if let sendPeriod, !hasTakenEnough(stall: stall), sendPeriod.end > .now { return sendPeriod.end }
    return beginSendPeriod(stall: stall)
  }

  private func hasTakenEnough(stall: Double) -> Bool {
    guard let sendPeriod else { return true }
    return Double(sendPeriod.moved) >= max(1, leastSendRate * stall)
  }

  private func beginSendPeriod(stall: Double) -> Deadline {
    let end = Deadline.after(seconds: stall)
    sendPeriod = output.count > 0 ? (end, 0) : nil
    return end
  }

  /// Looks for a reset without taking what has come before it.
  private func reportPeerGone() {
    // The system tells an error once: it may have told it to the send that came just before, and it is kept.
    if writeFailure != .reset, writeFailure != .timedOut {
      let code = socketError(descriptor)
      guard code != 0 else { return }
      writeFailure = StreamError(code: code)
    }
    readFailure = writeFailure
    let report = peerGone
    peerGone = nil
    report?(.reset)
  }

  // MARK: Waits

  /// Waits until something may have come; at once where that is so already.
  func waitForInput(until deadline: Deadline, _ cancellation: ReadCancellation) async throws {
    precondition(reader == nil, "two tasks read from one stream")
    nextID += 1
    let id = nextID
    let failure: StreamError?
    switch cancellation {
    case .heeded:
      failure = await wait({ beginRead($0, id, until: deadline) }, onCancel: { $0.cancelReader(id) })
    case .ignored:
      failure = await withUnsafeContinuation { suspend($0, until: beginRead($0, id, until: deadline)) }
    }
    if let failure { throw failure }
  }

  private func beginRead(
    _ continuation: UnsafeContinuation<StreamError?, Never>, _ id: UInt64, until deadline: Deadline
  ) -> Deadline? {
    if isReadable { return nil }
    reader = Reader(id: id, continuation: continuation, deadline: deadline)
    return deadline
  }

  /// - Parameter deadline: nil to go on at once.
  private func suspend(_ continuation: UnsafeContinuation<StreamError?, Never>, until deadline: Deadline?) {
    checkThread()
    if let deadline { schedule(deadline) } else { continuation.resume(returning: nil) }
  }

  /// Has `call` called when input, its end or the deadline has come, or the stream is closed; no task waits meanwhile.
  ///
  /// - Returns: false, and nothing is called, where something may have come already.
  func park(until deadline: Deadline, _ call: @escaping () -> Void) -> Bool {
    checkThread()
    precondition(reader == nil && waker == nil, "a task reads from a parked stream")
    guard isOpen, !isReadable, pendingStart == pending.count, !hasEnded, readFailure == nil else { return false }
    waker = (deadline, call)
    schedule(deadline)
    return true
  }

  private func wake() {
    guard let call = waker?.call else { return }
    waker = nil
    call()
  }

  /// Waits until the connection stands or has failed.
  func waitForConnection(until deadline: Deadline) async throws {
    try await waitForWriter(limit: 0, stall: nil, until: deadline) { isWritable }
  }

  /// Waits until at most `limit` bytes are queued.
  func waitForOutput(limit: Int, stall: Double, until deadline: Deadline) async throws {
    try await waitForWriter(limit: limit, stall: stall, until: deadline) {
      output.count <= limit || writeFailure != nil
    }
    if let writeFailure { throw writeFailure }
  }

  /// - Parameter isOver: asked before the wait begins: the event may have come on the task's way here.
  private func waitForWriter(
    limit: Int, stall: Double?, until deadline: Deadline, isOver: () -> Bool
  ) async throws {
    precondition(writer == nil, "two tasks write to one stream")
    nextID += 1
    let id = nextID
    let failure = await wait(
      { continuation in
        if isOver() { return nil }
        writer = Writer(id: id, continuation: continuation, limit: limit, stall: stall, deadline: deadline)
        return deadline
      }, onCancel: { $0.cancelWriter(id) })
    if let failure { throw failure }
  }

  /// Suspends the task until one of the resumptions below.
  ///
  /// - Parameter begin: registers the continuation and returns its deadline, or nil to go on at once.
  private func wait(
    isolation: isolated (any Actor)? = #isolation,
    _ begin: (UnsafeContinuation<StreamError?, Never>) -> Deadline?,
    onCancel: @escaping @Sendable (StreamCore) -> Void
  ) async -> StreamError? {
    if Task.isCancelled { return .cancelled }
    let carried = LoopConfined(self)
    let loop = loop
    return await withTaskCancellationHandler {
      // Captured, it keeps this closure on the loop. The library takes a closure that is not bound to its caller's
      // isolation otherwise, and a task without a preferred executor would begin its wait on another thread.
      _ = isolation
      return await withUnsafeContinuation {
        // The way here may lead through the loop's queue: a cancellation that came meanwhile has found no wait to end.
        Task.isCancelled ? $0.resume(returning: .cancelled) : suspend($0, until: begin($0))
      }
    } onCancel: {
      // Always in a later turn: by then the wait has begun, or will see that the task was cancelled.
      loop.perform { onCancel(carried.value) }
    }
  }

  private func cancelReader(_ id: UInt64) {
    if reader?.id == id { resumeReader(.cancelled) }
  }

  private func cancelWriter(_ id: UInt64) {
    if writer?.id == id { resumeWriter(.cancelled) }
  }

  private func resumeReader(_ failure: StreamError?) {
    guard let ended = reader else { return }
    reader = nil
    ended.continuation.resume(returning: failure)
  }

  private func resumeWriter(_ failure: StreamError?) {
    guard let ended = writer else { return }
    writer = nil
    ended.continuation.resume(returning: failure)
  }

  // MARK: Time

  /// Sees to it that the timer fires at `deadline` or before. Where it is set to an earlier point it stays there and
  /// looks again then: so a deadline that moves on with every request costs nothing.
  private func schedule(_ deadline: Deadline) {
    guard deadline < .never else { return }
    if let timer, timer.isScheduled, timer.due <= deadline { return }
    let timer = timer ?? TimerEntry { [unowned self] in checkDeadlines() }
    self.timer = timer
    loop.confined.timers.schedule(timer, at: deadline)
  }

  private func checkDeadlines() {
    let now = Deadline.now
    if let reader, reader.deadline <= now { resumeReader(.timedOut) }
    if let writer, writer.deadline <= now { resumeWriter(.timedOut) }
    if let waker, waker.deadline <= now { wake() }
    schedule(min(reader?.deadline ?? .never, writer?.deadline ?? .never, waker?.deadline ?? .never))
  }

  // MARK: Fairness

  /// Counts bytes moved towards what the stream may move in one turn of the loop.
  func spend(_ count: Int) {
    if budgetTurn != loop.confined.turns {
      budgetTurn = loop.confined.turns
      budgetUsed = 0
    }
    budgetUsed += count
  }

  /// Whether the stream has had its share of this turn.
  var isOverBudget: Bool {
    budgetTurn == loop.confined.turns && budgetUsed >= Self.bytesPerTurn && loop.confined.isTurnOver
  }

  private static let bytesPerTurn = 256 << 10
  /// What a read counts for besides its bytes: many small requests in a row have to let others go first as well.
  static let readCharge = 64 << 10
}

private func streamIsReady(_: Int32, what: Int16, context: UnsafeMutableRawPointer?) {
  guard let context else { return }
  let stream = Unmanaged<StreamCore>.fromOpaque(context).takeUnretainedValue()
  let state = stream.loop.confined
  stream.ready(what)
  state.noteEvent()
}
