// The primary cache key: the target URI in a form that all its equal spellings share.
public import HTTPMessage

/// The key of all stored responses of one target URI (RFC 9111 §2).
///
/// Spellings that RFC 9110 §4.2.3 and RFC 3986 §6.2.2 define as the same URI share a key: the case of scheme and host,
/// the default port, an empty path (`TargetURI` has done these), the case of hexadecimal digits, and percent-encoded
/// unreserved characters. Two spellings are left apart although RFC 3986 joins them: dot segments and encoded dots.
/// The request goes upstream as it was written, and origins disagree about dots, so that one key for both would let
/// a client plant the answer to one URI under the other.
public struct CacheKey: Hashable, Sendable, CustomStringConvertible {
  /// The absolute URI in normal form; visible ASCII only.
  public let text: String
  /// That of the text.
  public let hash: KeyHash

  public init(_ target: TargetURI) {
    guard target.pathAndQuery.utf8Span.span.bytes.offset(of: CacheKey.percent, from: 0) != nil else {
      self.init(stored: target.absolute)
      return
    }
    var octets: [UInt8] = []
    octets.reserveCapacity(target.authority.utf8.count + target.pathAndQuery.utf8.count + 8)
    octets.append(target.scheme.rawValue)
    octets.append("://")
    octets.append(target.authority)
    CacheKey.append(normalised: target.pathAndQuery, to: &octets)
    self.init(stored: String(decoding: octets, as: UTF8.self))
  }

  /// For keys that were stored; `text` must be that of a key.
  public init(stored text: String) {
    self.text = text
    hash = KeyHash(text)
  }

  public static func == (one: CacheKey, other: CacheKey) -> Bool { one.hash == other.hash && one.text == other.text }

  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  public var description: String { text }

  private static func append(normalised pathAndQuery: String, to output: inout [UInt8]) {
    let input = Array(pathAndQuery.utf8)
    var index = 0
    while index < input.count {
      guard input[index] == percent, index + 2 < input.count,
        let high = ASCII.hexadecimalValue(input[index + 1]), let low = ASCII.hexadecimalValue(input[index + 2])
      else {
        output.append(input[index])
        index += 1
        continue
      }
      let octet = high << 4 | low
      if isUnreserved(octet) {
        output.append(octet)
      } else {
        output += [percent, upperCased(input[index + 1]), upperCased(input[index + 2])]
      }
      index += 3
    }
  }

  private static let percent = UInt8(ascii: "%")

  /// RFC 3986 §2.3, without the dot.
  private static func isUnreserved(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "~")
  }

  private static func upperCased(_ digit: UInt8) -> UInt8 {
    ASCII.isLetter(digit) ? digit & ~0x20 : digit
  }
}
