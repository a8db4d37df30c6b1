// Bytes that have yet to leave through a socket: copied, referenced or in a file.

import CLibevent
import Glibc

/// A part of a file that is to be sent, without going through memory of the process.
public struct FileRegion: Sendable {
  let descriptor: Int32
  let owner: any AnyObject & Sendable
  let offset: UInt64
  let length: Int

  /// The `length` bytes of the file from `offset` on. They must be there, and should be resident: reading them blocks.
  ///
  /// - Parameter owner: keeps `descriptor` open; it is retained until the last byte has left or the stream is closed.
  public init(descriptor: Int32, owner: any AnyObject & Sendable, offset: UInt64, length: Int) {
    self.descriptor = descriptor
    self.owner = owner
    self.offset = offset
    self.length = length
  }
}

/// The output of one stream, over an evbuffer. Freed by hand, by whoever made it.
struct OutputQueue {
  /// How a round of sending ended, with the bytes it moved.
  enum Sent {
    case emptied(Int)
    /// The socket takes no more for now.
    case full(Int)
    /// It may take more, but others have their turn.
    case paused(Int)
    case failed(Int, StreamError)
  }

  private let buffer: OpaquePointer
  /// Bytes that have not left.
  private(set) var count = 0
  /// Bytes in memory that stand before the first part of a file that was queued, and have not left.
  private var lead = 0
  private var hasFile = false

  /// Nil where memory is short.
  init?() {
    guard let buffer = evbuffer_new() else { return nil }
    self.buffer = buffer
    // Without this libevent reads file segments into memory.
    evbuffer_set_flags(buffer, UInt64(EVBUFFER_FLAG_DRAINS_TO_FD))
  }

  func free() { evbuffer_free(buffer) }

  /// What is sent first, in about the time of the work for a request, and what is sent at a time after that.
  private static let firstPiece = 64 << 10
  private static let piece = 256 << 10

  /// From here on a reference is cheaper than a copy.
  static let referencedFrom = 4096

  mutating func append(copying bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty, evbuffer_add(buffer, bytes.baseAddress, bytes.count) == 0 else { return }
    count += bytes.count
  }

  mutating func append(_ bytes: ArraySlice<UInt8>) {
    if bytes.count < Self.referencedFrom {
      bytes.withUnsafeBytes { append(copying: $0) }
      return
    }
    // The pointer outlives the closure: a native array's elements do not move while it is referenced and not
    // changed, and the retained owner refers to it until libevent is done.
    let owner = Unmanaged.passRetained(Retained(bytes))
    let isAdded = owner.takeUnretainedValue().bytes.withUnsafeBytes { bytes in
      evbuffer_add_reference(
        buffer, bytes.baseAddress, bytes.count,
        { _, _, owner in if let owner { Unmanaged<Retained>.fromOpaque(owner).release() } }, owner.toOpaque()) == 0
    }
    if isAdded { count += bytes.count } else { owner.release() }
  }

  /// - Throws: `StreamError.system` where memory is short.
  mutating func append(_ region: FileRegion) throws {
    guard region.length > 0 else { return }
    // Mapped, a file that was cut short would be a SIGBUS.
    let flags = UInt32(EVBUF_FS_DISABLE_MMAP | EVBUF_FS_DISABLE_LOCKING)
    guard
      let segment = evbuffer_file_segment_new(region.descriptor, Int64(region.offset), Int64(region.length), flags)
    else { throw StreamError.system(ENOMEM) }
    let owner = Unmanaged.passRetained(region.owner as AnyObject)
    evbuffer_file_segment_add_cleanup_cb(
      segment, { _, _, owner in if let owner { Unmanaged<AnyObject>.fromOpaque(owner).release() } }, owner.toOpaque())
    let isAdded = evbuffer_add_file_segment(buffer, segment, 0, Int64(region.length)) == 0
    // The buffer holds the segment now; where it does not, this lets go of the owner too.
    evbuffer_file_segment_free(segment)
    guard isAdded else { throw StreamError.system(ENOMEM) }
    if !hasFile { lead = count }
    hasFile = true
    count += region.length
  }

  /// Sends until nothing is left, the socket takes no more, or after a piece `isTimeOver`.
  mutating func send(to descriptor: Int32, isTimeOver: () -> Bool) -> Sent {
    var moved = 0
    while count > 0 {
      if moved >= Self.firstPiece, isTimeOver() { return .paused(moved) }
      errno = 0
      let sent =
        lead > 0
        ? sendLead(to: descriptor)
        : Int(evbuffer_write_atmost(buffer, descriptor, moved < Self.firstPiece ? Self.firstPiece : Self.piece))
      let code = errno
      if sent > 0 {
        moved += sent
        count -= sent
        lead = max(0, lead - sent)
        if count == 0 { hasFile = false }
        continue
      }
      switch code {
      case EINTR: continue
      case EAGAIN: return .full(moved)
      // sendfile that moves nothing and says nothing has met the end of the file.
      case 0: return .failed(moved, .system(ENODATA))
      default: return .failed(moved, StreamError(code: code))
      }
    }
    return .emptied(moved)
  }

  /// Sends what stands before a file, which follows at once: both leave in one segment. A short segment ahead would
  /// also be the one by which the client's system takes the time that its receive window grows with, and does not.
  private func sendLead(to descriptor: Int32) -> Int {
    withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.leadPieces) { pieces in
      let needed = evbuffer_peek(buffer, lead, nil, pieces.baseAddress, Int32(pieces.count))
      var message = msghdr()
      message.msg_iov = pieces.baseAddress
      message.msg_iovlen = min(Int(needed), pieces.count)
      let sent = sendmsg(descriptor, &message, Int32(MSG_MORE) | Int32(MSG_NOSIGNAL))
      if sent > 0 { evbuffer_drain(buffer, sent) }
      return sent
    }
  }

  /// In how many pieces what stands before a file is sent at a time.
  private static let leadPieces = 4

  private final class Retained {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }
  }
}
