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
    var bytes: [UInt8] = []
    let lines = fields.serialized
    bytes.reserveCapacity(reason.utf8.count + lines.count + 24)
    bytes.append(contentsOf: version.text.utf8)
    bytes.append(ASCII.space)
    bytes.append(decimal: status)
    bytes.append(ASCII.space)
    if reason.utf8.allSatisfy(ASCII.isFieldContent) {
      bytes.append(contentsOf: reason.utf8)
    } else {
      for byte in reason.utf8 { bytes.append(ASCII.isFieldContent(byte) ? byte : ASCII.space) }
    }
    bytes.append(contentsOf: "\r\n".utf8)
    bytes.append(contentsOf: lines)
    bytes.append(contentsOf: "\r\n".utf8)
    return bytes
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
