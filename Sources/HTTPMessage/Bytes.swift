// Byte classes of RFC 9110 §5.6 and the few conversions between spans, arrays and strings.

/// Names for the octets that the grammars mention, and their classes.
@usableFromInline package enum ASCII {
  @inlinable package static var tab: UInt8 { 0x09 }
  @inlinable package static var lineFeed: UInt8 { 0x0A }
  @inlinable package static var carriageReturn: UInt8 { 0x0D }
  @inlinable package static var space: UInt8 { 0x20 }
  @inlinable package static var quote: UInt8 { UInt8(ascii: "\"") }
  @inlinable package static var comma: UInt8 { UInt8(ascii: ",") }
  @inlinable package static var colon: UInt8 { UInt8(ascii: ":") }
  @inlinable package static var backslash: UInt8 { UInt8(ascii: "\\") }

  /// `tchar` of RFC 9110 §5.6.2, as two bit sets: a table in memory would cost a cache line.
  @inlinable package static func isToken(_ byte: UInt8) -> Bool {
    if byte < 64 { return (0x03FF_6CFA_0000_0000 as UInt64) >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return (0x57FF_FFFF_C7FF_FFFE as UInt64) >> UInt64(byte - 64) & 1 == 1 }
    return false
  }

  /// True for the octets that a field value may hold (RFC 9110 §5.5): HTAB, SP, VCHAR and obs-text.
  @inlinable package static func isFieldContent(_ byte: UInt8) -> Bool {
    (byte >= space && byte != 0x7F) || byte == tab
  }

  @inlinable package static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

  @inlinable package static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  @inlinable package static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

  @inlinable package static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

  /// The value of a hexadecimal digit, or nil.
  @inlinable package static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte &- 0x30 }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : nil
  }

  /// An octet as an error message shows it: itself where visible, else its number.
  package static func description(_ byte: UInt8) -> String {
    byte > space && byte < 0x7F ? "'\(Character(Unicode.Scalar(byte)))'" : "byte 0x" + hexadecimal(byte)
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return digits.count == 1 ? "0" + digits : digits
  }

  /// True when both have the same bytes apart from the case of ASCII letters.
  @inlinable package static func equalIgnoringCase(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>)
    -> Bool
  {
    guard left.count == right.count else { return false }
    // By hand: this runs for every field of every head, and zip() does not become a plain loop.
    var other = right.startIndex
    for byte in left {
      guard lowercased(byte) == lowercased(right[other]) else { return false }
      right.formIndex(after: &other)
    }
    return true
  }

  /// The collection without SP and HTAB at both ends (OWS of RFC 9110 §5.6.3).
  @inlinable package static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var lower = bytes.startIndex
    var upper = bytes.endIndex
    while lower < upper, isBlank(bytes[lower]) { lower += 1 }
    while lower < upper, isBlank(bytes[upper - 1]) { upper -= 1 }
    return bytes[lower..<upper]
  }

  /// The number that the decimal digits spell; nil for anything but digits, for nothing, and beyond 64 bits.
  @inlinable package static func decimal(_ bytes: some Collection<UInt8>) -> UInt64? {
    guard !bytes.isEmpty else { return nil }
    var number: UInt64 = 0
    for byte in bytes {
      guard isDigit(byte) else { return nil }
      let (tens, overTens) = number.multipliedReportingOverflow(by: 10)
      let (sum, overSum) = tens.addingReportingOverflow(UInt64(byte - 0x30))
      guard !overTens, !overSum else { return nil }
      number = sum
    }
    return number
  }
}

extension RawSpan {
  /// The octet at an offset (bounds are checked).
  @inlinable package func byte(at offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

  /// The octets of an offset range as text; octets that are not UTF-8 become U+FFFD.
  @inlinable package func text(_ offsets: Range<Int>) -> String {
    extracting(offsets).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether both have the same octets. Eight a step.
  @inlinable package func isEqual(to other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    var offset = 0
    while offset + 8 <= byteCount {
      guard
        unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
          == other.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      else { return false }
      offset += 8
    }
    while offset < byteCount {
      guard byte(at: offset) == other.byte(at: offset) else { return false }
      offset += 1
    }
    return true
  }

  /// The offset of the first line feed at or after an offset, or nil.
  @inlinable package func offsetOfLineFeed(from start: Int) -> Int? { offset(of: ASCII.lineFeed, from: start) }

  /// The offset of the first such octet at or after an offset, or nil. Eight octets a step.
  @inlinable package func offset(of octet: UInt8, from start: Int) -> Int? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var offset = start
    while offset + 8 <= byteCount {
      let word = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ (ones &* UInt64(octet))
      let found = (word &- ones) & ~word & highs
      // The lowest set bit is exact (later ones may be borrows), and it is the earliest octet on little endian.
      if found != 0 { return offset + UInt64(littleEndian: found).trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < byteCount {
      if byte(at: offset) == octet { return offset }
      offset += 1
    }
    return nil
  }

  /// The offset of the first octet of a range that a field value must not hold, or nil. Eight octets a step.
  @inlinable package func offsetOfControl(in range: Range<Int>) -> Int? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var offset = range.lowerBound
    while offset < range.upperBound {
      // The last few are looked at with those before them, where there are eight.
      let step = Swift.max(Swift.min(offset, range.upperBound - 8), range.lowerBound)
      if step + 8 <= range.upperBound {
        let word = unsafeLoadUnaligned(fromByteOffset: step, as: UInt64.self)
        let deleted = word ^ (ones &* 0x7F)
        let below = (word &- ones &* 0x20) & ~word & highs
        let deletes = (deleted &- ones) & ~deleted & highs
        if below | deletes == 0 {
          offset = step + 8
          continue
        }
      }
      // A tab, a control, or fewer than eight: look at each.
      let end = Swift.min(offset + 8, range.upperBound)
      while offset < end {
        if !ASCII.isFieldContent(byte(at: offset)) { return offset }
        offset += 1
      }
    }
    return nil
  }
}

extension ArraySlice<UInt8> {
  /// Whether these are the octets of a text.
  @inlinable package func isEqual(to text: String) -> Bool {
    span.bytes.isEqual(to: text.utf8Span.span.bytes)
  }

  /// Lends the octets as a span.
  @inlinable package func withBytes<Result, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(span.bytes)
  }
}
