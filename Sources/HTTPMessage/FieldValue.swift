// The value of a field line (RFC 9110 §5.5).

/// The octets of a field value: no control but HTAB, no whitespace at the ends. A value that could end its line or
/// begin another field cannot be made, so nothing that is reflected into a head can split it.
public struct FieldValue: Sendable {
  /// The octets; a slice that may share the storage of the fields it came from (indices need not begin at 0).
  public let bytes: ArraySlice<UInt8>

  /// For octets that were checked and trimmed before, or that code made so.
  package init(checked bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// Nil when the text holds CR, LF, NUL or another control; SP and HTAB at the ends are dropped.
  public init?(_ text: String) { self.init(bytes: text.utf8) }

  /// Nil when the octets hold CR, LF, NUL or another control; SP and HTAB at the ends are dropped.
  public init?(bytes: some Sequence<UInt8>) {
    let copy = Array(bytes)
    guard copy.allSatisfy(ASCII.isFieldContent) else { return nil }
    self.bytes = ASCII.trimmed(copy[...])
  }

  /// The decimal digits of a number.
  public init(_ number: some FixedWidthInteger) {
    var digits: [UInt8] = []
    digits.reserveCapacity(20)
    digits.append(decimal: number)
    bytes = digits[...]
  }

  public var isEmpty: Bool { bytes.isEmpty }

  /// The value as text; octets that are not UTF-8 become U+FFFD, so compare `bytes` where it matters.
  public var string: String { String(decoding: bytes, as: UTF8.self) }

  /// The number of a value that consists of digits only and fits 64 bits, else nil.
  public var decimal: UInt64? { ASCII.decimal(bytes) }

  /// True when the value is this text apart from the case of ASCII letters.
  public func equalsIgnoringCase(_ text: String) -> Bool { ASCII.equalIgnoringCase(bytes, text.utf8) }
}

extension FieldValue: Hashable {
  public static func == (left: FieldValue, right: FieldValue) -> Bool { left.bytes == right.bytes }

  public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension FieldValue: ExpressibleByStringLiteral {
  /// For values in code; a literal with a control in it is a programming error.
  public init(stringLiteral literal: StaticString) {
    guard let value = FieldValue("\(literal)" as String) else { preconditionFailure("not a field value: \(literal)") }
    self = value
  }
}

extension FieldValue: CustomStringConvertible {
  public var description: String { string }
}
