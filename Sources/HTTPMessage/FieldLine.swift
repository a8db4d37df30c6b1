// Reads one field line (RFC 9112 §5) into a section.

/// What was wrong with a field line.
public enum FieldLineError: Error, Equatable, Sendable {
  /// No colon in the line.
  case noColon
  /// The line begins with the colon.
  case emptyName
  /// SP or HTAB at the start of the line: the obsolete line folding (RFC 9112 §5.2).
  case folded
  /// SP or HTAB between the name and the colon (RFC 9112 §5.1).
  case blankBeforeColon
  /// An octet that no token has.
  case nameByte(UInt8)
  /// CR, LF, NUL or another control in the value.
  case valueByte(UInt8)

  /// The finding in words.
  public var explanation: String {
    switch self {
    case .noColon: "a field line has no colon"
    case .emptyName: "a field line has no name before its colon"
    case .folded: "a field line is folded (it begins with whitespace)"
    case .blankBeforeColon: "whitespace between a field name and its colon"
    case .nameByte(let byte): "\(ASCII.description(byte)) in a field name"
    case .valueByte(let byte): "\(ASCII.description(byte)) in a field value"
    }
  }
}

extension Fields {
  /// Adds the line that these octets spell, given without its CRLF. Nothing is added when it throws.
  public mutating func append(line: RawSpan) throws(FieldLineError) {
    let count = line.byteCount
    let colon = line.offset(of: ASCII.colon, from: 0) ?? count
    let known = KnownField.recognise(line.extracting(0..<colon))
    if known == .none { try checkName(line, colon) }
    guard colon < count else { throw .noColon }
    if let bad = line.offsetOfControl(in: colon + 1..<count) { throw .valueByte(line.byte(at: bad)) }
    var lower = colon + 1
    var upper = count
    while lower < upper, ASCII.isBlank(line.byte(at: lower)) { lower += 1 }
    while lower < upper, ASCII.isBlank(line.byte(at: upper - 1)) { upper -= 1 }
    if lower == colon + 2, upper == count, line.byte(at: colon + 1) == ASCII.space {
      append(checkedLine: line, nameCount: colon, known)
    } else {
      append(checkedName: line.extracting(0..<colon), value: line.extracting(lower..<upper), known)
    }
  }

  /// Throws unless what stands before the colon, or before the end of a line without one, is a token.
  private func checkName(_ line: RawSpan, _ colon: Int) throws(FieldLineError) {
    var end = 0
    while end < colon, ASCII.isToken(line.byte(at: end)) { end += 1 }
    if end < colon {
      let found = line.byte(at: end)
      guard ASCII.isBlank(found) else { throw .nameByte(found) }
      throw end == 0 ? .folded : .blankBeforeColon
    }
    guard colon > 0 || line.byteCount == 0 else { throw .emptyName }
  }

  /// Reads back what `serialized` gave; nil when the octets are not field lines that each end with CRLF.
  public init?(serialized bytes: RawSpan) {
    self.init()
    reserveCapacity(lines: 16, bytes: bytes.byteCount)
    var start = 0
    while start < bytes.byteCount {
      guard let end = bytes.offsetOfLineFeed(from: start), end > start,
        bytes.byte(at: end - 1) == ASCII.carriageReturn
      else { return nil }
      do { try append(line: bytes.extracting(start..<end - 1)) } catch { return nil }
      start = end + 1
    }
  }
}
