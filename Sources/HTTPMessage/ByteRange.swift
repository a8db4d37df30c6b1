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

  /// The range of a Range field that asks plainly for one; nil for anything else, of which `parse` knows more. Most
  /// requests for a part are of this kind.
  public static func single(_ fields: Fields) -> ByteRange? {
    guard fields.count(of: .range) == 1, let value = fields.first(.range) else { return nil }
    return value.bytes.withBytes { text -> ByteRange? in
      var place = 0
      guard takeUnit(text, &place), let range = range(text, &place), place == text.byteCount else { return nil }
      return range
    }
  }

  /// The same for one value.
  public static func parse(_ value: FieldValue, limit: Int) -> RangeField {
    value.bytes.withBytes { parse($0, limit: limit) }
  }

  private static func parse(_ text: RawSpan, limit: Int) -> RangeField {
    let count = text.byteCount
    var place = 0
    guard takeUnit(text, &place) else { return .ignored }
    var ranges: [ByteRange] = []
    while place < count {
      // RFC 9110 §5.6.1.2: empty members of a list are ignored.
      if ASCII.isBlank(text.byte(at: place)) || text.byte(at: place) == ASCII.comma {
        place += 1
        continue
      }
      guard ranges.count < limit, let range = range(text, &place) else { return .ignored }
      ranges.append(range)
      while place < count, ASCII.isBlank(text.byte(at: place)) { place += 1 }
      guard place == count || text.byte(at: place) == ASCII.comma else { return .ignored }
    }
    return ranges.isEmpty ? .ignored : .bytes(ranges)
  }

  private static func takeUnit(_ text: RawSpan, _ place: inout Int) -> Bool {
    for byte in "bytes=".utf8 {
      guard place < text.byteCount, ASCII.lowercased(text.byte(at: place)) == byte else { return false }
      place += 1
    }
    return true
  }

  private static func range(_ text: RawSpan, _ place: inout Int) -> ByteRange? {
    let first = number(text, &place)
    guard place < text.byteCount, text.byte(at: place) == UInt8(ascii: "-") else { return nil }
    place += 1
    let last = number(text, &place)
    guard let first else { return last.map(ByteRange.suffix) }
    guard let last else { return .from(first) }
    return first <= last ? .bounded(first: first, last: last) : nil
  }

  /// The number whose digits stand at `place`, at most `ByteRange.largest`; nil where there are none.
  private static func number(_ text: RawSpan, _ place: inout Int) -> UInt64? {
    let start = place
    var number: UInt64 = 0
    while place < text.byteCount, ASCII.isDigit(text.byte(at: place)) {
      let digit = UInt64(text.byte(at: place) - 0x30)
      number = number > ByteRange.largest / 10 ? ByteRange.largest : min(number * 10 + digit, ByteRange.largest)
      place += 1
    }
    return place > start ? number : nil
  }
}

extension ByteRange {
  /// The value of a Range field that asks for this range alone.
  public var fieldValue: FieldValue { FieldValue("bytes=\(text)") ?? "" }
}
