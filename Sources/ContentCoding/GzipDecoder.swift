// Takes the gzip coding off a stream (RFC 9110 §8.4.1.3, RFC 1952).

internal import CZlib

/// Decodes gzip data. A stream of no bytes at all stands for no content, as many origins send it.
public final class GzipDecoder: StreamCoder {
  /// At an address of its own: zlib checks that it stays there.
  private let stream: UnsafeMutablePointer<z_stream>
  private var place = Place.start

  private enum Place {
    case start
    case inMember
    /// Behind a whole member: another may follow (RFC 1952 §2.2), or zeros that fill up a block.
    case behindMember
  }

  public init() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 15 bits of window, and 16 for a gzip wrapper and no other.
    let code = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    precondition(code == Z_OK, "out of memory")
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  public func code(_ input: RawSpan, isLast: Bool, limit: Int) throws(CodingError) -> CodedPiece {
    var failure: CodingError?
    var consumed = 0
    let output = input.withUnsafeBytes { bytes in
      [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        stream.lend(bytes, buffer)
        failure = decode()
        consumed = bytes.count - Int(stream.pointee.avail_in)
        count = buffer.count - Int(stream.pointee.avail_out)
      }
    }
    let isFull = stream.takeBack()
    if let failure { throw failure }
    let hasMore = isFull && place == .inMember
    if isLast, !hasMore, consumed == input.byteCount, place == .inMember { throw .truncated }
    return CodedPiece(output: output, consumed: consumed, hasMore: hasMore)
  }

  /// Decodes until the input is used up or the output is full.
  private func decode() -> CodingError? {
    while stream.pointee.avail_out > 0 {
      switch place {
      case .start:
        guard stream.pointee.avail_in > 0 else { return nil }
        place = .inMember
      case .behindMember:
        guard stream.pointee.avail_in > 0, let next = stream.pointee.next_in else { return nil }
        guard next.pointee != 0 else {
          stream.pointee.next_in = next + 1
          stream.pointee.avail_in -= 1
          continue
        }
        inflateReset(stream)
        place = .inMember
      case .inMember: break
      }
      switch inflate(stream, Z_NO_FLUSH) {
      case Z_STREAM_END: place = .behindMember
      // Z_BUF_ERROR: there was nothing to do, which is no error.
      case Z_OK, Z_BUF_ERROR:
        if stream.pointee.avail_in == 0 { return nil }
      case Z_MEM_ERROR: return .outOfMemory
      default: return .corrupt(stream.pointee.msg.map { String(cString: $0) } ?? "no reason given")
      }
    }
    return nil
  }
}

extension UnsafeMutablePointer<z_stream> {
  /// Points zlib at input and output for one call.
  func lend(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableBufferPointer<UInt8>) {
    pointee.next_in = UnsafeMutablePointer<UInt8>(mutating: input.bindMemory(to: UInt8.self).baseAddress)
    pointee.avail_in = UInt32(input.count)
    pointee.next_out = output.baseAddress
    pointee.avail_out = UInt32(output.count)
  }

  /// Leaves no pointer behind. Returns whether the output was full.
  func takeBack() -> Bool {
    let isFull = pointee.avail_out == 0
    pointee.next_in = nil
    pointee.avail_in = 0
    pointee.next_out = nil
    pointee.avail_out = 0
    return isFull
  }
}
