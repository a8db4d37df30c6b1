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

  public init(_ target: TargetURI) {
    text = "\(target.scheme.rawValue)://\(target.authority)\(CacheKey.normalised(target.pathAndQuery))"
  }

  /// For keys that were stored; `text` must be that of a key.
  public init(stored text: String) {
    self.text = text
  }

  public var description: String { text }

  private static func normalised(_ pathAndQuery: String) -> String {
    let input = Array(pathAndQuery.utf8)
    guard input.contains(percent) else { return pathAndQuery }
    var output: [UInt8] = []
    output.reserveCapacity(input.count)
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
    return String(decoding: output, as: UTF8.self)
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
