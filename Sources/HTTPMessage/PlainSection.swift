// Reads a whole section of plain field lines at once.

extension Fields {
  /// Adds the lines of the section that these octets begin with, where each stands as `serialized` gives it and an empty
  /// line ends them. That is how nearly all come, and it takes one copy instead of one for each line. Anything else is
  /// for `append(line:)`, which says what is wrong with it, if anything is.
  ///
  /// - Parameter countLimit: how many lines there may be.
  /// - Parameter lineLimit: how many octets a line may have with its CRLF.
  /// - Returns: the octets of the section with its empty line; nil, and nothing is added, where it is not that plain or
  ///   not all there.
  package mutating func append(plainSection octets: RawSpan, countLimit: Int, lineLimit: Int) -> Int? {
    let (count, bits) = (lines.count, seen)
    if lines.isEmpty { reserveCapacity(lines: 16, bytes: 0) }
    guard let end = notePlainLines(octets, countLimit, lineLimit) else {
      forgetLines(from: count, seen: bits)
      return nil
    }
    append(octets: octets.extracting(0..<end))
    return end + 2
  }

  /// Where the empty line begins; nil where there is none, or a line before it is not plain.
  private mutating func notePlainLines(_ octets: RawSpan, _ countLimit: Int, _ lineLimit: Int) -> Int? {
    var offset = 0
    while let lineFeed = octets.offsetOfLineFeed(from: offset) {
      let end = lineFeed - 1
      guard end >= offset, octets.byte(at: end) == ASCII.carriageReturn else { return nil }
      if end == offset { return offset }
      guard lines.count < countLimit, lineFeed + 1 - offset <= lineLimit,
        let line = Fields.plainLine(octets, offset..<end)
      else { return nil }
      note(line, at: offset)
      offset = lineFeed + 1
    }
    return nil
  }

  /// The line in these octets of the section, if it is a name, a colon, one space and a value without blanks around it.
  private static func plainLine(
    _ octets: RawSpan, _ range: Range<Int>
  ) -> (nameCount: Int, valueCount: Int, known: KnownField)? {
    guard let colon = octets.offset(of: ASCII.colon, from: range.lowerBound), colon + 2 < range.upperBound,
      octets.byte(at: colon + 1) == ASCII.space, !ASCII.isBlank(octets.byte(at: colon + 2)),
      !ASCII.isBlank(octets.byte(at: range.upperBound - 1)),
      octets.offsetOfControl(in: colon + 2..<range.upperBound) == nil
    else { return nil }
    let name = octets.extracting(range.lowerBound..<colon)
    let known = KnownField.recognise(name)
    guard known != .none || name.isToken else { return nil }
    return (name.byteCount, range.upperBound - colon - 2, known)
  }
}

extension RawSpan {
  /// Whether these octets are a token (RFC 9110 §5.6.2).
  fileprivate var isToken: Bool {
    for offset in 0..<byteCount where !ASCII.isToken(byte(at: offset)) { return false }
    return byteCount > 0
  }
}
