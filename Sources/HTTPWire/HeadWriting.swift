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
    for byte in text.utf8 {
      // A target that code made up must not be able to end its line.
      if byte > ASCII.space, byte != 0x7F { bytes.append(byte) } else { bytes.append(percentEncoding: byte) }
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
    for byte in reason.utf8 { bytes.append(ASCII.isFieldContent(byte) ? byte : ASCII.space) }
    bytes.append(contentsOf: "\r\n".utf8)
    bytes.append(contentsOf: lines)
    bytes.append(contentsOf: "\r\n".utf8)
    return bytes
  }
}

extension [UInt8] {
  fileprivate mutating func append(percentEncoding byte: UInt8) {
    let digits = Array("0123456789ABCDEF".utf8)
    append(UInt8(ascii: "%"))
    append(digits[Int(byte >> 4)])
    append(digits[Int(byte & 15)])
  }
}
