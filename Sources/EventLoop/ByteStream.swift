// A TCP connection as tasks see it: reads, queued writes, and the ends of both.

import CLibevent
import Glibc

/// What a cancellation of the task does to a read that waits.
public enum ReadCancellation: Sendable {
  /// The read throws `.cancelled`.
  case heeded
  /// Nothing: the wait ends with input, at its deadline, or when the stream is closed.
  case ignored
}

/// One connected socket. Bound to one loop: every member is used on that loop only.
///
/// One task may read while another flushes. Letting go of the last reference closes it.
public final class ByteStream {
  /// The address of the other side.
  public let peer: SocketAddress
  let core: StreamCore

  init(_ core: StreamCore, peer: SocketAddress) {
    self.core = core
    self.peer = peer
  }

  deinit {
    guard !core.loop.isCurrent else {
      core.close()
      return
    }
    let carried = LoopConfined(core)
    core.loop.perform { carried.value.close() }
  }

  /// Connects to `address`. Must be called on `loop`.
  ///
  /// - Throws: `StreamError`; `.timedOut` when the deadline passes first.
  public static func connect(
    to address: SocketAddress, on loop: EventLoop, deadline: Deadline
  ) async throws -> ByteStream {
    let descriptor = try makeSocket(address.family)
    setOption(descriptor, IPPROTO_TCP, TCP_NODELAY, 1)
    let code = address.withSystemAddress { Glibc.connect(descriptor, $0, $1) } == 0 ? 0 : errno
    guard code == 0 || code == EINPROGRESS else {
      Glibc.close(descriptor)
      throw StreamError(code: code)
    }
    let core = try StreamCore(adopting: descriptor, isConnected: code == 0, on: loop)
    let stream = ByteStream(core, peer: address)
    guard code != 0 else { return stream }
    do {
      try await core.waitForConnection(until: deadline)
      let failure = socketError(core.descriptor)
      guard failure == 0 else { throw StreamError(code: failure) }
    } catch {
      stream.close()
      throw error
    }
    return stream
  }

  /// The address of this side.
  public var local: SocketAddress { SocketAddress(ofSocket: core.descriptor) ?? .unspecified }

  // MARK: Input

  /// Hands bytes to `consume`: those left over from the last read, else at most 256 KiB that have come.
  ///
  /// `consume` returns how many it took, at least one; the rest is kept for the next read. If it throws, all of them
  /// are gone and its error is thrown on.
  ///
  /// - Parameter cancellation: whether a cancellation of the task ends the wait. To heed it costs more than to read.
  /// - Parameter most: no more than so many bytes are received; what was left over before comes whole.
  /// - Returns: false at the end of input, without having called `consume`.
  /// - Throws: `StreamError`; `.timedOut` when nothing comes before the deadline.
  public func read(
    deadline: Deadline, cancellation: ReadCancellation = .heeded, atMost most: Int = .max,
    _ consume: (RawSpan) throws -> Int
  ) async throws -> Bool {
    if core.isOverBudget { await core.loop.nextTurn() }
    while true {
      switch core.nextInput(atMost: most) {
      case .pending:
        try core.consumePending(consume)
        return true
      case .received(let count):
        try core.consumeReceived(count, consume)
        return true
      case .end: return false
      case .failed(let failure): throw failure
      case .nothing:
        // A timer is rounded up: who only looks does not wait for one.
        guard deadline > .now else { throw StreamError.timedOut }
        try await core.waitForInput(until: deadline, cancellation)
      }
    }
  }

  /// Hands over the next `count` bytes if so many have come, without waiting; at most 256 KiB.
  ///
  /// - Parameter take: returns whether it took them.
  /// - Returns: false where they are still to be read.
  public func readAtOnce(_ count: Int, _ take: ([UInt8]) -> Bool) -> Bool {
    core.gather(count) && core.takePending(count, take)
  }

  /// Has `call` called once, on the loop, when input, its end or the deadline has come, or the stream is closed. So a
  /// stream can wait without a task, which keeps the memory of its deepest call as long as it lives.
  ///
  /// Nobody may read meanwhile.
  ///
  /// - Returns: false, and nothing will be called, where something may have come already.
  public func park(until deadline: Deadline, _ call: @escaping () -> Void) -> Bool { core.park(until: deadline, call) }

  /// Whether the connection can be used for another request: open on both sides, and nothing has come unasked.
  public func isIdleClean() -> Bool { core.isIdleClean() }

  // MARK: Output

  /// Bytes queued that the socket has not taken.
  public var queuedBytes: Int { core.isOpen ? core.output.count : 0 }

  /// Queues bytes for `flush`: small pieces are copied, large ones kept. On a closed stream they are dropped.
  public func queue(_ bytes: [UInt8]) { queue(bytes[...]) }

  /// Queues bytes for `flush`: small pieces are copied, large ones kept. On a closed stream they are dropped.
  public func queue(_ bytes: ArraySlice<UInt8>) {
    core.checkThread()
    guard core.isOpen else { return }
    core.output.append(bytes)
  }

  /// Queues a copy of bytes for `flush`. On a closed stream they are dropped.
  public func queue(_ bytes: RawSpan) {
    core.checkThread()
    guard core.isOpen else { return }
    bytes.withUnsafeBytes { core.output.append(copying: $0) }
  }

  /// Queues a part of a file for `flush`. On a closed stream it is dropped.
  ///
  /// Should the file prove shorter when its turn comes, the flush throws `.system(ENODATA)` and nothing more is sent.
  public func queue(_ region: FileRegion) {
    core.checkThread()
    guard core.isOpen else { return }
    do {
      try core.output.append(region)
    } catch {
      core.writeFailure = error as? StreamError ?? .closed
    }
  }

  /// Sends what is queued and waits until at most `limit` bytes of it are left; those leave on their own.
  ///
  /// - Parameter stall: the seconds that may go by without a byte moved.
  /// - Throws: `StreamError`; `.timedOut` after a stall.
  public func flush(downTo limit: Int = 0, stall: Double) async throws {
    if core.isOverBudget { await core.loop.nextTurn() }
    guard core.isOpen else { throw StreamError.closed }
    if core.writeFailure == nil { core.sendQueued() }
    if let failure = core.writeFailure { throw failure }
    guard core.output.count > limit else { return }
    try await core.waitForOutput(limit: limit, stall: stall, until: core.sendDeadline(stall: stall))
  }

  /// Sends what is queued as far as the socket takes it; true when nothing is left, so that a flush would do nothing.
  public func sendAtOnce() -> Bool {
    guard core.isOpen, core.writeFailure == nil, !core.isOverBudget else { return false }
    core.sendQueued()
    return core.writeFailure == nil && core.output.count == 0
  }

  // MARK: Ends

  /// Ends this side's direction once all that is queued has left; the other goes on.
  public func shutdownWrite() { core.shutdownWrite() }

  /// Closes both directions. What is queued is dropped; who waits is told `.closed`. Later calls do nothing.
  public func close() { core.close() }

  /// Closes with a reset, so that the peer cannot take what it has for the whole. What is queued and can be sent at
  /// once is sent before. Later calls do nothing.
  public func abort() { core.abort() }

  /// Whether the peer was seen to have reset the connection.
  public var isPeerGone: Bool { core.readFailure == .reset || core.writeFailure == .reset }

  /// Whether the peer is known to have ended its direction; what it sent before may still be unread.
  public var hasPeerFinished: Bool { core.hasEnded || core.hasPeerFinished }

  /// What the peer did while nobody read.
  public enum PeerEnd: Sendable {
    /// It has reset the connection; nothing more is reported.
    case reset
    /// It has ended its direction.
    case finished
  }

  /// Calls `report` on the loop when the peer resets the connection, or ends its direction, while nobody reads.
  public func onPeerGone(_ report: ((PeerEnd) -> Void)?) {
    if core.isOpen { core.peerGone = report }
  }

  /// The bytes a second that the peer must take on average over a flush's `stall` time while there is something to
  /// send. 0 asks for a byte in that time.
  public var leastSendRate: Double {
    get { core.leastSendRate }
    set { core.leastSendRate = newValue }
  }
}
