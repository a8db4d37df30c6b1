// The input side of a stream: what has come, and what was left of it.

import CLibevent
import Glibc

extension StreamCore {
  /// What a read finds.
  enum Input {
    /// Bytes left over from before.
    case pending
    /// So many bytes in the loop's buffer.
    case received(Int)
    case end
    case nothing
    case failed(StreamError)
  }

  /// - Parameter most: so many bytes are received at most; the loop's buffer has a limit of its own.
  func nextInput(atMost most: Int) -> Input {
    checkThread()
    guard isOpen else { return .failed(.closed) }
    return pendingStart < pending.count ? .pending : receive(atMost: most)
  }

  /// Receives once what has come into the loop's buffer.
  private func receive(atMost most: Int = .max) -> Input {
    if let readFailure { return .failed(readFailure) }
    if hasEnded { return .end }
    while isReadable {
      let buffer = loop.confined.input
      let room = min(buffer.count, max(1, most))
      let count = recv(descriptor, buffer.baseAddress, room, 0)
      if count > 0 {
        spend(count + Self.readCharge)
        hasTakenAll = count < room
        return .received(count)
      }
      let code = errno
      if count == 0 {
        // A reset that a write was told of looks like a clean end here.
        guard writeFailure != .reset else { return .failed(.reset) }
        hasEnded = true
        return .end
      }
      switch code {
      case EINTR: continue
      // Not after a short receive alone: a reset right behind the bytes comes with the same edge (`noteSent`).
      case EAGAIN: isReadable = false
      default:
        let failure = StreamError(code: code)
        readFailure = failure
        return .failed(failure)
      }
    }
    return .nothing
  }

  /// Bytes have left since: had the peer's end or a reset come with the bytes last received, it would be known by now.
  /// So where those were all there were, there is nothing until the next event.
  func noteSent() {
    if hasTakenAll, !hasPeerFinished { isReadable = false }
  }

  /// Whether `count` bytes are pending, after one look whether they have come. More than the loop's buffer never are.
  func gather(_ count: Int) -> Bool {
    checkThread()
    guard isOpen, count <= LoopState.inputBytes else { return false }
    if pending.count - pendingStart < count, case .received(let more) = receive() {
      pending.removeFirst(pendingStart)
      pendingStart = 0
      pending.append(contentsOf: loop.confined.input[..<more])
    }
    return pending.count - pendingStart >= count
  }

  /// Hands `count` pending bytes to `take`, without a copy where they are all; they stay where it returns false.
  func takePending(_ count: Int, _ take: ([UInt8]) -> Bool) -> Bool {
    let isAll = pendingStart == 0 && pending.count == count
    let isTaken = take(isAll ? pending : Array(pending[pendingStart..<pendingStart + count]))
    guard isTaken, isOpen else { return isTaken }
    pendingStart += count
    if pendingStart == pending.count {
      pending = []
      pendingStart = 0
    }
    return true
  }

  func consumeReceived(_ count: Int, _ consume: (RawSpan) throws -> Int) throws {
    let bytes = UnsafeRawBufferPointer(rebasing: loop.confined.input[..<count])
    let taken = try consume(bytes.bytes)
    precondition(taken > 0 && taken <= count, "a read consumes at least one byte, and no more than there are")
    guard taken < count, isOpen else { return }
    pending = Array(bytes[taken...])
    pendingStart = 0
  }

  func consumePending(_ consume: (RawSpan) throws -> Int) throws {
    spend(Self.readCharge)
    // Taken out, so that a consumer that closes the stream does not change what it reads.
    let bytes = pending
    let start = pendingStart
    pending = []
    pendingStart = 0
    let taken = try bytes.withUnsafeBytes { try consume(UnsafeRawBufferPointer(rebasing: $0[start...]).bytes) }
    precondition(
      taken > 0 && taken <= bytes.count - start, "a read consumes at least one byte, and no more than there are")
    guard start + taken < bytes.count, isOpen else { return }
    pending = bytes
    pendingStart = start + taken
  }

  func isIdleClean() -> Bool {
    checkThread()
    guard isOpen, pendingStart == pending.count, !hasEnded, readFailure == nil, writeFailure == nil,
      output.count == 0
    else { return false }
    var byte: UInt8 = 0
    guard recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) < 0, errno == EAGAIN else { return false }
    isReadable = false
    return true
  }
}
