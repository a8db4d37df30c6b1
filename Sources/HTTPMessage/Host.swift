// The authority part of a target or a Host field (RFC 3986 §3.2, RFC 9110 §4.2, §7.2).

/// A host and, where one was written, a port.
public struct Authority: Hashable, Sendable {
  /// In lower case; an IPv6 address is in its canonical form (RFC 5952) without brackets.
  public let host: String
  public let port: UInt16?

  /// Reads `host`, `host:port` or `[IPv6]:port`. Refused: userinfo, an empty host, percent-encoding, octets that no
  /// host name has (A-labels come as they are), addresses with a zone or in a number form other than dotted decimal,
  /// ports outside 1–65535.
  public static func parse(_ text: String) throws(TargetError) -> Authority {
    try parse(Array(text.utf8).span.bytes)
  }

  /// The same for octets.
  public static func parse(_ bytes: RawSpan) throws(TargetError) -> Authority {
    for offset in 0..<bytes.byteCount where bytes.byte(at: offset) == UInt8(ascii: "@") { throw .userinfo }
    var end = 0
    let host: String
    if bytes.byteCount > 0, bytes.byte(at: 0) == UInt8(ascii: "[") {
      while end < bytes.byteCount, bytes.byte(at: end) != UInt8(ascii: "]") { end += 1 }
      guard end < bytes.byteCount else { throw .badHost("'[' without ']'") }
      let inner = bytes.text(1..<end)
      guard let address = IPv6Text.canonical(inner) else { throw .badHost("not an IPv6 address in the brackets") }
      host = address
      end += 1
    } else {
      while end < bytes.byteCount, bytes.byte(at: end) != ASCII.colon { end += 1 }
      host = try registeredName(bytes.extracting(0..<end))
    }
    guard end < bytes.byteCount else { return Authority(host: host, port: nil) }
    guard bytes.byte(at: end) == ASCII.colon else { throw .badHost("text after the ']'") }
    return Authority(host: host, port: try port(bytes.extracting(end + 1..<bytes.byteCount)))
  }

  /// RFC 3986 allows an empty port; it means the default.
  private static func port(_ digits: RawSpan) throws(TargetError) -> UInt16? {
    guard digits.byteCount > 0 else { return nil }
    var number = 0
    for offset in 0..<digits.byteCount {
      let byte = digits.byte(at: offset)
      guard ASCII.isDigit(byte) else { throw .badPort("\(ASCII.description(byte)) in the port") }
      number = number * 10 + Int(byte - 0x30)
      guard number <= 65535 else { throw .badPort("a port above 65535") }
    }
    guard number > 0 else { throw .badPort("port 0") }
    return UInt16(number)
  }

  private static func registeredName(_ name: RawSpan) throws(TargetError) -> String {
    let count = name.byteCount
    guard count > 0 else { throw .badHost("no host") }
    guard count <= 255 else { throw .badHost("a host name of more than 255 octets") }
    var needsLowering = false
    var labelStart = 0
    for offset in 0..<count {
      let byte = name.byte(at: offset)
      switch byte {
      case UInt8(ascii: "."):
        guard offset > labelStart else { throw .badHost("an empty label in the host name") }
        labelStart = offset + 1
      case UInt8(ascii: "%"): throw .badHost("percent-encoding in the host name")
      case 0x80...: throw .badHost("a host name that is not ASCII (use its A-label form, xn--…)")
      case UInt8(ascii: "-"), UInt8(ascii: "_"): break
      default:
        guard ASCII.isLetter(byte) || ASCII.isDigit(byte) else {
          throw .badHost("\(ASCII.description(byte)) in the host name")
        }
        if ASCII.lowercased(byte) != byte { needsLowering = true }
      }
    }
    guard isUnambiguous(name) else { throw .badHost("an address that is not four decimal numbers up to 255") }
    let text = name.text(0..<count)
    return needsLowering ? text.lowercased() : text
  }

  /// A name whose last label is a number would be read as an address in octal, hexadecimal or fewer parts by some
  /// resolvers and not by others: only plain dotted decimal passes.
  private static func isUnambiguous(_ name: RawSpan) -> Bool {
    let count = name.byteCount
    let end = name.byte(at: count - 1) == UInt8(ascii: ".") ? count - 1 : count
    var start = end
    while start > 0, name.byte(at: start - 1) != UInt8(ascii: ".") { start -= 1 }
    guard isNumber(name.extracting(start..<end)) else { return true }
    return end == count && isDottedDecimal(name)
  }

  /// Digits alone, or "0x" and hexadecimal digits (none at all among them).
  private static func isNumber(_ label: RawSpan) -> Bool {
    guard label.byteCount > 0, ASCII.isDigit(label.byte(at: 0)) else { return false }
    let isHexadecimal =
      label.byteCount > 1 && label.byte(at: 0) == UInt8(ascii: "0") && label.byte(at: 1) | 0x20 == UInt8(ascii: "x")
    for offset in (isHexadecimal ? 2 : 1)..<label.byteCount {
      let byte = label.byte(at: offset)
      guard isHexadecimal ? ASCII.hexadecimalValue(byte) != nil : ASCII.isDigit(byte) else { return false }
    }
    return true
  }

  /// Four numbers up to 255 without leading zeros.
  private static func isDottedDecimal(_ name: RawSpan) -> Bool {
    var parts = 1
    var number = 0
    var digits = 0
    for offset in 0..<name.byteCount {
      let byte = name.byte(at: offset)
      if byte == UInt8(ascii: ".") {
        guard digits > 0 else { return false }
        parts += 1
        number = 0
        digits = 0
      } else {
        guard ASCII.isDigit(byte), digits == 0 || number > 0 else { return false }
        number = number * 10 + Int(byte - 0x30)
        digits += 1
        guard number <= 255 else { return false }
      }
    }
    return parts == 4 && digits > 0
  }
}

/// The text forms of IPv6 addresses (RFC 4291 §2.2, RFC 5952).
enum IPv6Text {
  /// The canonical form of an address, or nil for anything else (a zone among it).
  static func canonical(_ text: String) -> String? {
    groups(text).map(format)
  }

  private static func groups(_ text: String) -> [UInt16]? {
    var head: [UInt16] = []
    var tail: [UInt16]?
    var rest = text[...]
    if rest.hasPrefix("::") {
      tail = []
      rest = rest.dropFirst(2)
    }
    while !rest.isEmpty {
      let part = rest.prefix { $0 != ":" }
      var found: [UInt16]
      if part.contains(".") {
        guard part.endIndex == rest.endIndex, let pair = embeddedIPv4(part) else { return nil }
        found = pair
      } else {
        guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ ASCII.hexadecimalValue($0) != nil }),
          let group = UInt16(part, radix: 16)
        else { return nil }
        found = [group]
      }
      if tail == nil { head += found } else { tail?.append(contentsOf: found) }
      rest = rest[part.endIndex...]
      if rest.hasPrefix("::") {
        guard tail == nil else { return nil }
        tail = []
        rest = rest.dropFirst(2)
      } else if rest.hasPrefix(":") {
        rest = rest.dropFirst()
        if rest.isEmpty { return nil }
      }
    }
    guard let tail else { return head.count == 8 ? head : nil }
    let missing = 8 - head.count - tail.count
    guard missing >= 1 else { return nil }
    return head + [UInt16](repeating: 0, count: missing) + tail
  }

  private static func embeddedIPv4(_ text: Substring) -> [UInt16]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var octets: [UInt16] = []
    for part in parts {
      guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy(ASCII.isDigit), let octet = UInt8(part),
        part.utf8.count == 1 || part.first != "0"
      else { return nil }
      octets.append(UInt16(octet))
    }
    return [octets[0] << 8 | octets[1], octets[2] << 8 | octets[3]]
  }

  /// RFC 5952 §4: lower case, no leading zeros, "::" for the first of the longest runs of at least two zero groups.
  private static func format(_ groups: [UInt16]) -> String {
    var best = 0..<0
    var index = 0
    while index < 8 {
      var end = index
      while end < 8, groups[end] == 0 { end += 1 }
      if end - index > max(best.count, 1) { best = index..<end }
      index = max(end, index + 1)
    }
    func join(_ part: ArraySlice<UInt16>) -> String {
      part.map { String($0, radix: 16) }.joined(separator: ":")
    }
    return best.isEmpty ? join(groups[...]) : join(groups[..<best.lowerBound]) + "::" + join(groups[best.upperBound...])
  }
}
