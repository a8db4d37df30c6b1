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

  func nextInput() -> Input {
    checkThread()
    guard isOpen else { return .failed(.closed) }
    if pendingStart < pending.count { return .pending }
    if let readFailure { return .failed(readFailure) }
    if hasEnded { return .end }
    while isReadable {
      let buffer = loop.confined.input
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 {
        spend(count)
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
      // Not after a short receive already: a reset right behind the bytes comes with the same edge.
      case EAGAIN: isReadable = false
      default:
        let failure = StreamError(code: code)
        readFailure = failure
        return .failed(failure)
      }
    }
    return .nothing
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
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) < 0 && errno == EAGAIN
  }
}
