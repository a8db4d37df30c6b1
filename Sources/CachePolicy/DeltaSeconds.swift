// Non-negative seconds as caching fields spell them.
internal import HTTPMessage

/// Reads delta-seconds (RFC 9111 §1.2.2).
enum DeltaSeconds {
  /// 2^31: what every larger number counts as.
  static let limit: Int64 = 1 << 31

  /// The seconds of a text that consists of digits only; nil for any other.
  static func parse(_ bytes: some Collection<UInt8>) -> Int64? {
    guard !bytes.isEmpty, bytes.allSatisfy(ASCII.isDigit) else { return nil }
    // All digits, and yet no 64-bit number: too large.
    guard let number = ASCII.decimal(bytes) else { return limit }
    return Int64(min(number, UInt64(limit)))
  }
}
