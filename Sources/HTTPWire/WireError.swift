// Why octets were refused.

/// What was found that HTTP/1.1 forbids, that two parsers could read differently, or that is above a limit. After one
/// of these nothing more can be read from the connection.
public enum WireError: Error, Hashable, Sendable {
  case badRequestLine(String)
  case badTarget(String)
  case badHost(String)
  case badStatusLine(String)
  case unsupportedVersion(String)
  case badField(String)
  case badContentLength(String)
  case conflictingFraming(String)
  case unknownTransferCoding(String)
  case badChunk(String)
  case targetTooLong(limit: Int)
  case headTooLarge(limit: Int)
  case tooManyFields(limit: Int)
  case lineTooLong(limit: Int)
  case trailersTooLarge(limit: Int)
  case tooManyTrailers(limit: Int)
  case chunkExtensionsTooLarge(limit: Int)
  /// The input ended inside a head or a body.
  case truncated(String)

  /// The status a server answers with (RFC 9110 §15.5, §15.6).
  public var status: Int {
    switch self {
    case .badRequestLine, .badTarget, .badHost, .badStatusLine, .badField, .badContentLength, .conflictingFraming,
      .badChunk, .chunkExtensionsTooLarge, .truncated:
      400
    case .targetTooLong: 414
    case .headTooLarge, .tooManyFields, .lineTooLong, .trailersTooLarge, .tooManyTrailers: 431
    case .unknownTransferCoding: 501
    case .unsupportedVersion: 505
    }
  }

  /// What was found, in words fit for an error page and a log (no octet of the input but visible ASCII).
  public var explanation: String {
    switch self {
    case .badRequestLine(let found): "bad request line: \(found)"
    case .badTarget(let found): "bad request target: \(found)"
    case .badHost(let found): "bad Host: \(found)"
    case .badStatusLine(let found): "bad status line: \(found)"
    case .unsupportedVersion(let found): "unsupported protocol version: \(found) (HTTP/1.0 and HTTP/1.1 are spoken)"
    case .badField(let found): "bad field: \(found)"
    case .badContentLength(let found): "bad Content-Length: \(found)"
    case .conflictingFraming(let found): "the end of the message is ambiguous: \(found)"
    case .unknownTransferCoding(let found): "unknown transfer coding: \(found)"
    case .badChunk(let found): "bad chunk: \(found)"
    case .targetTooLong(let limit): "the request target is longer than \(limit) bytes"
    case .headTooLarge(let limit): "the head is larger than \(limit) bytes"
    case .tooManyFields(let limit): "more than \(limit) fields"
    case .lineTooLong(let limit): "a line of the head is longer than \(limit) bytes"
    case .tooManyTrailers(let limit): "more than \(limit) fields in the trailer section"
    case .chunkExtensionsTooLarge(let limit): "chunk extensions of more than \(limit) bytes, or no line end"
    case .trailersTooLarge(let limit): "the trailer section is larger than \(limit) bytes"
    case .truncated(let place): "the input ended \(place)"
    }
  }
}

/// The bounds on what a peer may send that a message can run into, each named as its setting is.
public enum WireLimit: String, CaseIterable, Sendable {
  case targetBytes = "target_bytes"
  case headBytes = "head_bytes"
  case lineBytes = "line_bytes"
  case fieldCount = "field_count"
  case chunkExtensionBytes = "chunk_line_bytes"
  case trailerBytes = "trailer_bytes"
  case trailerCount = "trailer_count"
}

extension WireError {
  /// The bound that was passed; nil where the message was wrong and not too large.
  public var limit: WireLimit? {
    switch self {
    case .targetTooLong: .targetBytes
    case .headTooLarge: .headBytes
    case .lineTooLong: .lineBytes
    case .tooManyFields: .fieldCount
    case .chunkExtensionsTooLarge: .chunkExtensionBytes
    case .trailersTooLarge: .trailerBytes
    case .tooManyTrailers: .trailerCount
    case .badRequestLine, .badTarget, .badHost, .badStatusLine, .unsupportedVersion, .badField, .badContentLength,
      .conflictingFraming, .unknownTransferCoding, .badChunk, .truncated:
      nil
    }
  }
}

/// Peer's octets as an explanation shows them: visible ASCII only, and not many.
func shown(_ text: String) -> String {
  let visible = text.unicodeScalars.prefix(40).map { $0.value > 0x20 && $0.value < 0x7F ? Character($0) : "?" }
  return "'\(String(visible))\(text.unicodeScalars.count > 40 ? "…" : "")'"
}
