// The frame of a multipart/byteranges body (RFC 9110 §14.6).

import HTTPMessage
import Spans

/// Part heads and end of a multipart body for given spans; its length is known before a byte is sent.
struct Multipart {
  let boundary: String
  private let total: UInt64
  private let contentType: FieldValue?

  /// - Parameter random: makes the boundary, so that no body can hold it by design.
  init(total: UInt64, contentType: FieldValue?, random: (UInt64, UInt64)) {
    self.total = total
    self.contentType = contentType
    boundary = "larder-" + String(random.0, radix: 36) + String(random.1, radix: 36)
  }

  var mediaType: FieldValue {
    FieldValue("multipart/byteranges; boundary=\(boundary)") ?? "multipart/byteranges"
  }

  /// What stands before the bytes of a part.
  func head(of span: ByteSpan) -> [UInt8] {
    var text = "\r\n--\(boundary)\r\n"
    if let contentType { text += "Content-Type: \(contentType.string)\r\n" }
    text += "Content-Range: bytes \(span.lower)-\(span.upper - 1)/\(total)\r\n\r\n"
    return Array(text.utf8)
  }

  /// What stands after the last part.
  var end: [UInt8] { Array("\r\n--\(boundary)--\r\n".utf8) }

  /// The length of the whole body, in bytes.
  func length(of spans: [ByteSpan]) -> UInt64 {
    spans.reduce(UInt64(end.count)) { $0 + UInt64(head(of: $1).count) + $1.count }
  }
}
