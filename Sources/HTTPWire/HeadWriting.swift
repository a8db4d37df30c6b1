// Writes heads (RFC 9112 §2.1).

public import HTTPMessage

extension RequestHead {
  /// The octets of the head with its empty line.
  public func serialized() -> [UInt8] {
    let text = target.text
    let lines = fields.serialized
    // A target that code made up must not be able to end its line; an octet then takes three.
    let isPlain = hasTargetBytesOnly(text.utf8Span.span.bytes)
    let most = method.name.utf8.count + text.utf8.count * (isPlain ? 1 : 3) + lines.count + 16
    return [UInt8](capacity: most) { output in
      output.append(text: method.name)
      output.append(" ")
      if isPlain {
        output.append(text: text)
      } else {
        for byte in text.utf8 { output.append(target: byte) }
      }
      output.append(" ")
      output.append(text: version.text)
      output.append("\r\n")
      output.append(lines.span.bytes)
      output.append("\r\n")
    }
  }
}

extension ResponseHead {
  /// The octets of the head with its empty line.
  public func serialized() -> [UInt8] {
    let lines = fields.serialized
    return [UInt8](capacity: lines.count + reason.utf8.count + 17) { output in
      output.append(startLine: version, status: status, reason: reason)
      output.append(lines.span.bytes)
      output.append("\r\n")
    }
  }
}

extension OutputSpan<UInt8> {
  /// Appends a status line with its end (RFC 9112 §4). It takes 15 octets beside the reason's.
  package mutating func append(startLine version: HTTPVersion, status: Int, reason: String) {
    switch version {
    case .http10: append("HTTP/1.0 ")
    case .http11: append("HTTP/1.1 ")
    }
    append(digit: status / 100 % 10)
    append(digit: status / 10 % 10)
    append(digit: status % 10)
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

extension OutputSpan<UInt8> {
  private mutating func append(digit: Int) { append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)) }
}

private func isTargetByte(_ byte: UInt8) -> Bool { byte > ASCII.space && byte != 0x7F }

/// Whether `isTargetByte` is true of all; several octets at a time.
private func hasTargetBytesOnly(_ bytes: RawSpan) -> Bool {
  bytes.offsetOfControl(in: 0..<bytes.byteCount) == nil && bytes.offset(of: ASCII.space, from: 0) == nil
    && bytes.offset(of: ASCII.tab, from: 0) == nil
}

extension OutputSpan<UInt8> {
  fileprivate mutating func append(target byte: UInt8) {
    guard !isTargetByte(byte) else { return append(byte) }
    let digits = Array("0123456789ABCDEF".utf8)
    append(UInt8(ascii: "%"))
    append(digits[Int(byte >> 4)])
    append(digits[Int(byte & 15)])
  }
}
