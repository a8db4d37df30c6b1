// Writes heads (RFC 9112 §2.1).

public import HTTPMessage

extension RequestHead {
  /// The octets of the head with its empty line.
  public func serialized() -> [UInt8] {
    let text = target.text
    var bytes: [UInt8] = []
    let lines = fields.serialized
    bytes.reserveCapacity(method.name.utf8.count + text.utf8.count + lines.count + 16)
    bytes.append(contentsOf: method.name.utf8)
    bytes.append(ASCII.space)
    // A target that code made up must not be able to end its line.
    if text.utf8.allSatisfy(isTargetByte) {
      bytes.append(contentsOf: text.utf8)
    } else {
      for byte in text.utf8 {
        if isTargetByte(byte) { bytes.append(byte) } else { bytes.append(percentEncoding: byte) }
      }
    }
    bytes.append(ASCII.space)
    bytes.append(contentsOf: version.text.utf8)
    bytes.append(contentsOf: "\r\n".utf8)
    bytes.append(contentsOf: lines)
    bytes.append(contentsOf: "\r\n".utf8)
    return bytes
  }
}

extension ResponseHead {
  /// The octets of the head with its empty line.
  public func serialized() -> [UInt8] {
    var writer = ResponseHeadWriter(version: version, status: status, reason: reason, lines: fields.serialized)
    return writer.end()
  }
}

/// Writes a response's head straight to octets: the start line, lines that are ready, then single fields.
public struct ResponseHeadWriter {
  private var octets: [UInt8] = []

  /// - Parameter lines: whole field lines as `Fields.serialized` gives them.
  public init(version: HTTPVersion = .http11, status: Int, reason: String, lines: [UInt8]) {
    octets.reserveCapacity(reason.utf8.count + lines.count + 256)
    octets.append(contentsOf: version.text.utf8)
    octets.append(ASCII.space)
    octets.append(decimal: status)
    octets.append(ASCII.space)
    // An octet that no status line can hold would end it.
    for byte in reason.utf8 { octets.append(ASCII.isFieldContent(byte) ? byte : ASCII.space) }
    endLine()
    octets.append(contentsOf: lines)
  }

  /// Adds a field line.
  public mutating func append(_ name: FieldName, _ value: FieldValue) {
    begin(name)
    octets.append(contentsOf: value.bytes)
    endLine()
  }

  /// Adds a field line whose value is a number.
  public mutating func append(_ name: FieldName, decimal number: UInt64) {
    begin(name)
    octets.append(decimal: number)
    endLine()
  }

  /// Adds a Content-Range field line.
  public mutating func append(_ range: ContentRange) {
    begin(.contentRange)
    range.write(to: &octets)
    endLine()
  }

  /// The head with its empty line. Nothing may be added afterwards.
  public mutating func end() -> [UInt8] {
    endLine()
    return octets
  }

  private mutating func begin(_ name: FieldName) {
    octets.append(contentsOf: name.spelling.utf8)
    octets.append(ASCII.colon)
    octets.append(ASCII.space)
  }

  private mutating func endLine() {
    octets.append(ASCII.carriageReturn)
    octets.append(ASCII.lineFeed)
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
