// Writing octets one behind the other, into memory that is there already or into an array.

extension OutputSpan<UInt8> {
  /// Appends octets.
  ///
  /// - Precondition: there is room for them, as for all that is appended here.
  @inlinable @inline(__always) package mutating func append(_ octets: RawSpan) {
    precondition(octets.byteCount <= freeCapacity)
    withUnsafeMutableBufferPointer { room, count in
      octets.withUnsafeBytes { UnsafeMutableRawBufferPointer(room)[count...].copyBytes(from: $0) }
      count += octets.byteCount
    }
  }

  /// Appends the octets of a literal.
  @inlinable @inline(__always) package mutating func append(_ literal: StaticString) {
    literal.withUTF8Buffer { append(UnsafeRawBufferPointer($0).bytes) }
  }

  /// Appends the UTF-8 octets of a text.
  @inlinable package mutating func append(text: String) { append(text.utf8Span.span.bytes) }

  /// Appends the decimal digits of a number, of which there are at most 20.
  @inlinable package mutating func append(decimal number: some FixedWidthInteger) {
    if number < 0 { append(UInt8(ascii: "-")) }
    append(digitsOf: UInt64(number.magnitude))
  }

  @usableFromInline mutating func append(digitsOf number: UInt64) {
    var digits = 1
    var bound: UInt64 = 10
    while digits < 20, number >= bound {
      digits += 1
      bound &*= 10
    }
    precondition(digits <= freeCapacity)
    withUnsafeMutableBufferPointer { room, count in
      var place = count + digits
      var rest = number
      // The last digit is found first.
      repeat {
        place -= 1
        room[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      count += digits
    }
  }
}

extension [UInt8] {
  /// Appends the octets of a span.
  @inlinable package mutating func append(_ span: RawSpan) {
    span.withUnsafeBytes { append(contentsOf: $0) }
  }

  /// Appends the UTF-8 octets of a text.
  @inlinable package mutating func append(_ text: String) { append(text.utf8Span.span.bytes) }

  /// Appends the decimal digits of a number.
  @inlinable package mutating func append(decimal number: some FixedWidthInteger) {
    append(addingCapacity: 21) { $0.append(decimal: number) }
  }
}
