// The Range field (RFC 9110 §14.1, §14.2).

/// One range as a client asks for it; positions count from 0 and are inclusive. A number beyond `largest` is taken as
/// `largest`, so that adding one to it never overflows.
public enum ByteRange: Hashable, Sendable {
  case bounded(first: UInt64, last: UInt64)
  case from(UInt64)
  /// The last so many bytes; 0 is well formed and never satisfiable.
  case suffix(UInt64)

  public static let largest = UInt64(Int64.max)

  /// The range as a Range field spells it, without the unit.
  public var text: String {
    switch self {
    case .bounded(let first, let last): "\(first)-\(last)"
    case .from(let first): "\(first)-"
    case .suffix(let count): "-\(count)"
    }
  }
}

/// What a request's Range field comes to.
public enum RangeField: Hashable, Sendable {
  case absent
  /// At least one range, in the order asked.
  case bytes([ByteRange])
  /// An unknown unit, a malformed value, several Range lines, or more ranges than the limit: RFC 9110 §14.2 has a
  /// server ignore what it doesn't understand and allows it to ignore the rest.
  case ignored

  /// Reads the Range field of a request; `limit` is the most ranges that are taken.
  public static func parse(_ fields: Fields, limit: Int) -> RangeField {
    guard let value = fields.first(.range) else { return .absent }
    guard fields.count(of: .range) == 1 else { return .ignored }
    return parse(value, limit: limit)
  }

  /// The same for one value.
  public static func parse(_ value: FieldValue, limit: Int) -> RangeField {
    guard let equals = value.bytes.firstIndex(of: UInt8(ascii: "=")),
      ASCII.equalIgnoringCase(value.bytes[..<equals], "bytes".utf8)
    else { return .ignored }
    var ranges: [ByteRange] = []
    for part in value.bytes[(equals + 1)...].split(separator: ASCII.comma) {
      let member = ASCII.trimmed(part)
      // RFC 9110 §5.6.1.2: empty members of a list are ignored.
      if member.isEmpty { continue }
      guard let range = range(member), ranges.count < limit else { return .ignored }
      ranges.append(range)
    }
    return ranges.isEmpty ? .ignored : .bytes(ranges)
  }

  private static func range(_ member: ArraySlice<UInt8>) -> ByteRange? {
    guard let dash = member.firstIndex(of: UInt8(ascii: "-")) else { return nil }
    let before = member[..<dash]
    let after = member[(dash + 1)...]
    if before.isEmpty { return saturated(after).map(ByteRange.suffix) }
    guard let first = saturated(before) else { return nil }
    if after.isEmpty { return .from(first) }
    guard let last = saturated(after), first <= last else { return nil }
    return .bounded(first: first, last: last)
  }

  private static func saturated(_ digits: ArraySlice<UInt8>) -> UInt64? {
    guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
    return min(ASCII.decimal(digits) ?? .max, ByteRange.largest)
  }
}

extension ByteRange {
  /// The value of a Range field that asks for this range alone.
  public var fieldValue: FieldValue { FieldValue("bytes=\(text)") ?? "" }
}
