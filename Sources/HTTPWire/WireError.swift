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
  case trailersTooLarge(limit: Int)
  /// The input ended inside a head or a body.
  case truncated(String)

  /// The status a server answers with (RFC 9110 §15.5, §15.6).
  public var status: Int {
    switch self {
    case .badRequestLine, .badTarget, .badHost, .badStatusLine, .badField, .badContentLength, .conflictingFraming,
      .badChunk, .truncated:
      400
    case .targetTooLong: 414
    case .headTooLarge, .tooManyFields, .trailersTooLarge: 431
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
    case .trailersTooLarge(let limit): "the trailer section is larger than \(limit) bytes"
    case .truncated(let place): "the input ended \(place)"
    }
  }
}

/// Peer's octets as an explanation shows them: visible ASCII only, and not many.
func shown(_ text: String) -> String {
  let visible = text.unicodeScalars.prefix(40).map { $0.value > 0x20 && $0.value < 0x7F ? Character($0) : "?" }
  return "'\(String(visible))\(text.unicodeScalars.count > 40 ? "…" : "")'"
}
