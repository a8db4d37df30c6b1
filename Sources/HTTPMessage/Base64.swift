// Base 64 (RFC 4648 §4), for byte sequences and credentials.

/// The standard alphabet.
public enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The octets that the text spells, with padding or without; nil for anything else.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    let digits = text.prefix { $0 != UInt8(ascii: "=") }
    let padding = text.count - digits.count
    guard digits.count % 4 != 1, text.dropFirst(digits.count).allSatisfy({ $0 == UInt8(ascii: "=") }),
      padding == 0 || (padding <= 2 && text.count % 4 == 0)
    else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count * 3 / 4)
    var bits: UInt32 = 0
    var count = 0
    for digit in digits {
      guard let value = value(of: digit) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }

  /// The text, with padding.
  public static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var start = 0
    while start < bytes.count {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits = group.reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
      bits <<= UInt32(3 - group.count) * 8
      for place in 0...group.count {
        text.append(alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)])
      }
      for _ in group.count..<3 { text.append(UInt8(ascii: "=")) }
      start += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - 0x41)
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - 0x61) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - 0x30) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
