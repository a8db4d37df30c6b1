// ContentCoding: puts content codings (RFC 9110 §8.4.1) on a stream of bytes and takes them off, piece by piece.

/// A content coding being put on a stream of bytes, or taken off it. Holds no more than its own window of it.
public protocol StreamCoder: AnyObject {
  /// Takes the next bytes of the stream, and gives what they come to.
  ///
  /// - Parameter input: what follows the bytes taken so far; it may be empty.
  /// - Parameter isLast: whether the stream ends where `input` does.
  /// - Parameter limit: the most bytes of output; above 0.
  /// - Throws: `CodingError`, after which the coder is of no more use.
  func code(_ input: RawSpan, isLast: Bool, limit: Int) throws(CodingError) -> CodedPiece
}

extension StreamCoder {
  /// Takes at most `most` of the next bytes, `rest`, and gives what they come to.
  ///
  /// - Parameter isLast: whether the stream ends where `rest` does, however little of it is taken now.
  public func code(
    atMost most: Int, of rest: ArraySlice<UInt8>, isLast: Bool, limit: Int
  ) throws(CodingError) -> CodedPiece {
    let next = rest.prefix(most)
    return try code(next.span.bytes, isLast: isLast && next.count == rest.count, limit: limit)
  }
}

/// What came of one call of a coder.
public struct CodedPiece: Sendable {
  /// The bytes that come next in the output; perhaps none.
  public let output: [UInt8]
  /// How many bytes of the input were taken. The others are to be given again.
  public let consumed: Int
  /// Whether there may be more output without more input.
  public let hasMore: Bool
}

/// Why a stream cannot be coded on.
public enum CodingError: Error, Equatable, Sendable {
  /// The bytes are not in this coding, or do not have the checksum or the length that they state.
  case corrupt(String)
  /// The stream ends within a member.
  case truncated
  case outOfMemory

  /// One line for logs.
  public var explanation: String {
    switch self {
    case .corrupt(let reason): "not valid gzip data (\(reason))"
    case .truncated: "gzip data that ends early"
    case .outOfMemory: "no memory for a content coding"
    }
  }
}
