// The Content-Range field (RFC 9110 §14.4).

/// Which bytes a 206 encloses, or how long the representation of a 416 is.
public enum ContentRange: Hashable, Sendable {
  /// Inclusive positions, first ≤ last < total; the total is nil where the sender wrote "*".
  case satisfied(first: UInt64, last: UInt64, total: UInt64?)
  case unsatisfied(total: UInt64)

  /// Nil for another unit and for values that §14.4 calls invalid, or that don't fit 63 bits.
  public static func parse(_ value: FieldValue) -> ContentRange? {
    guard let space = value.bytes.firstIndex(of: ASCII.space),
      ASCII.equalIgnoringCase(value.bytes[..<space], "bytes".utf8)
    else { return nil }
    let rest = value.bytes[(space + 1)...]
    guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    let range = rest[..<slash]
    let length = rest[(slash + 1)...]
    let total: UInt64?
    if length.elementsEqual([UInt8(ascii: "*")]) {
      total = nil
    } else {
      guard let number = number(length) else { return nil }
      total = number
    }
    if range.elementsEqual([UInt8(ascii: "*")]) { return total.map { .unsatisfied(total: $0) } }
    guard let dash = range.firstIndex(of: UInt8(ascii: "-")), let first = number(range[..<dash]),
      let last = number(range[(dash + 1)...]), first <= last, last < total ?? .max
    else { return nil }
    return .satisfied(first: first, last: last, total: total)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    guard let number = ASCII.decimal(digits), number < ByteRange.largest else { return nil }
    return number
  }

  /// The value as the field spells it.
  public var fieldValue: FieldValue {
    FieldValue(checked: [UInt8](capacity: Self.most) { write(to: &$0) }[...])
  }

  /// The most octets that the value takes.
  package static let most = 80

  /// Adds the value as the field spells it.
  package func write(to output: inout OutputSpan<UInt8>) {
    output.append("bytes ")
    switch self {
    case .satisfied(let first, let last, let total):
      output.append(decimal: first)
      output.append("-")
      output.append(decimal: last)
      output.append("/")
      if let total { output.append(decimal: total) } else { output.append("*") }
    case .unsatisfied(let total):
      output.append("*/")
      output.append(decimal: total)
    }
  }
}
