// Writes the chunked transfer coding (RFC 9112 §7.1).

public import HTTPMessage

/// The octets between the runs of content.
public enum ChunkedCoding {
  /// What stands before so many octets of content (at least one: size 0 would end the body). Behind them comes
  /// `chunkEnd`.
  public static func chunkHeader(_ size: Int) -> [UInt8] {
    precondition(size > 0, "an empty chunk would end the body")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(18)
    var shift = (Int.bitWidth - size.leadingZeroBitCount - 1) / 4 * 4
    while shift >= 0 {
      bytes.append(digits[size >> shift & 15])
      shift -= 4
    }
    bytes.append(ASCII.carriageReturn)
    bytes.append(ASCII.lineFeed)
    return bytes
  }

  private static let digits = Array("0123456789abcdef".utf8)

  /// What stands behind the content of every chunk.
  public static let chunkEnd: [UInt8] = Array("\r\n".utf8)

  /// The end of a body with these trailer fields; without any there is no trailer section.
  public static func lastChunk(trailers: Fields) -> [UInt8] {
    let lines = trailers.serialized
    var bytes: [UInt8] = []
    bytes.reserveCapacity(lines.count + 5)
    bytes.append("0\r\n")
    bytes.append(contentsOf: lines)
    bytes.append("\r\n")
    return bytes
  }
}
