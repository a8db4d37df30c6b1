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

/// The output of one stream: a front of two pieces that are sent from where they stand, and an evbuffer behind it.
/// Freed by hand, by whoever made it.
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
  /// What was queued while nothing stood in the buffer: as a rule a head and a small body, and all there is. An evbuffer
  /// would copy them into memory that it gets and frees for each.
  private var front: (ArraySlice<UInt8>, ArraySlice<UInt8>) = ([], [])
  private var frontCount: Int { front.0.count + front.1.count }
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

  mutating func free() {
    evbuffer_free(buffer)
    front = ([], [])
  }

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
    guard !bytes.isEmpty else { return }
    if count == frontCount, front.1.isEmpty, bytes.count <= Self.firstPiece {
      if front.0.isEmpty { front.0 = bytes } else { front.1 = bytes }
      count += bytes.count
      return
    }
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
        lead > 0 || frontCount > 0
        ? sendMemory(to: descriptor)
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

  /// Sends the front and what the buffer has in memory behind it.
  ///
  /// Where a file follows, that is sent at once: both leave in one segment. A short segment ahead would also be the one
  /// by which the client's system takes the time that its receive window grows with, and does not.
  private mutating func sendMemory(to descriptor: Int32) -> Int {
    let buffered = (hasFile ? lead : count) - frontCount
    let flags = Int32(MSG_NOSIGNAL) | (hasFile ? Int32(MSG_MORE) : 0)
    let sent = withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.memoryPieces) { pieces in
      front.0.withUnsafeBytes { first in
        front.1.withUnsafeBytes { second in
          pieces[0] = iovec(iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count)
          pieces[1] = iovec(iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count)
          let behind = UnsafeMutableBufferPointer(rebasing: pieces[2...])
          let needed =
            buffered > 0 ? evbuffer_peek(buffer, buffered, nil, behind.baseAddress, Int32(behind.count)) : 0
          var message = msghdr()
          message.msg_iov = pieces.baseAddress
          message.msg_iovlen = 2 + min(Int(needed), behind.count)
          return sendmsg(descriptor, &message, flags)
        }
      }
    }
    if sent > 0 { drain(sent) }
    return sent
  }

  /// In how many pieces what stands in memory is sent at a time.
  private static let memoryPieces = 8

  /// Drops bytes that have left.
  private mutating func drain(_ sent: Int) {
    let (first, second) = (front.0.count, front.1.count)
    // An empty slice of what was sent would hold on to its memory.
    front.0 = sent < first ? front.0.dropFirst(sent) : []
    guard sent > first else { return }
    front.1 = sent - first < second ? front.1.dropFirst(sent - first) : []
    if sent > first + second { evbuffer_drain(buffer, sent - first - second) }
  }

  private final class Retained {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }
  }
}
