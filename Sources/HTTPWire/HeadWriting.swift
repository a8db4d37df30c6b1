// Writes heads (RFC 9112 §2.1).

public import HTTPMessage

extension RequestHead {
  /// The octets of the head with its empty line.
  public func serialized() -> [UInt8] {
    let text = target.text
    var bytes: [UInt8] = []
    let lines = fields.serialized
    bytes.reserveCapacity(method.name.utf8.count + text.utf8.count + lines.count + 16)
    bytes.append(method.name)
    bytes.append(ASCII.space)
    // A target that code made up must not be able to end its line.
    if text.utf8.allSatisfy(isTargetByte) {
      bytes.append(text)
    } else {
      for byte in text.utf8 {
        if isTargetByte(byte) { bytes.append(byte) } else { bytes.append(percentEncoding: byte) }
      }
    }
    bytes.append(ASCII.space)
    bytes.append(version.text)
    bytes.append("\r\n")
    bytes.append(contentsOf: lines)
    bytes.append("\r\n")
    return bytes
  }
}

extension ResponseHead {
  /// The octets of the head with its empty line.
  public func serialized() -> [UInt8] {
    let lines = fields.serialized
    return [UInt8](capacity: lines.count + reason.utf8.count + 32) { output in
      output.append(startLine: version, status: status, reason: reason)
      output.append(lines.span.bytes)
      output.append("\r\n")
    }
  }
}

extension OutputSpan<UInt8> {
  /// Appends a status line with its end (RFC 9112 §4). It takes 32 octets beside the reason's at most.
  package mutating func append(startLine version: HTTPVersion, status: Int, reason: String) {
    append(text: version.text)
    append(" ")
    append(decimal: status)
    append(" ")
    let text = reason.utf8Span.span.bytes
    if text.offsetOfControl(in: 0..<text.byteCount) == nil {
      append(text)
    } else {
      // An octet that no status line can hold would end it.
      for byte in reason.utf8 { append(ASCII.isFieldContent(byte) ? byte : ASCII.space) }
    }
    append("\r\n")
  }
}

private func isTargetByte(_ byte: UInt8) -> Bool { byte > ASCII.space && byte != 0x7F }

extension [UInt8] {
  fileprivate mutating func append(percentEncoding byte: UInt8) {
    let digits = Array("0123456789ABCDEF".utf8)
    append(UInt8(ascii: "%"))
    append(digits[Int(byte >> 4)])
    append(digits[Int(byte & 15)])
  }
}
