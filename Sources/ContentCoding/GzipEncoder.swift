// Puts the gzip coding on a stream (RFC 9110 §8.4.1.3, RFC 1952).

internal import CZlib

/// Encodes a stream as one gzip member without name and time, so that equal content gives equal bytes.
public final class GzipEncoder: StreamCoder {
  /// At an address of its own: zlib checks that it stays there.
  private let stream: UnsafeMutablePointer<z_stream>
  private var isFinished = false

  public init() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 15 bits of window, and 16 for a gzip wrapper; level and memory as the gzip program has them.
    let code = deflateInit2_(
      stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    precondition(code == Z_OK, "out of memory")
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  public func code(_ input: RawSpan, isLast: Bool, limit: Int) throws(CodingError) -> CodedPiece {
    precondition(!isFinished || input.byteCount == 0, "bytes after the last ones")
    guard !isFinished else { return CodedPiece(output: [], consumed: 0, hasMore: false) }
    var consumed = 0
    let output = input.withUnsafeBytes { bytes in
      [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        stream.lend(bytes, buffer)
        isFinished = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END
        consumed = bytes.count - Int(stream.pointee.avail_in)
        count = buffer.count - Int(stream.pointee.avail_out)
      }
    }
    let isFull = stream.takeBack()
    return CodedPiece(output: output, consumed: consumed, hasMore: isLast ? !isFinished : isFull)
  }
}
