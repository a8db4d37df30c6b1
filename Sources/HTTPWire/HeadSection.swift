// What request and response heads have in common: a start line, field lines, an empty line (RFC 9112 §2.1).

public import HTTPMessage

/// Collects the field lines of a head or a trailer section.
struct FieldSection: Sendable {
  private(set) var fields = Fields()

  var isEmpty: Bool { fields.isEmpty }

  /// Begins with the memory of fields that are not needed any more; they are empty then.
  mutating func begin(reusing old: inout Fields) {
    swap(&fields, &old)
    fields.removeAll()
  }

  /// Adds a line; true when it was the empty line that ends the section.
  ///
  /// - Parameter mendsBlanks: whitespace before a colon is removed, as a proxy does in a response (RFC 9112 §5.1).
  mutating func take(line: RawSpan, countLimit: Int, mendsBlanks: Bool = false) throws(WireError) -> Bool {
    guard line.byteCount > 0 else { return true }
    guard fields.count < countLimit else { throw .tooManyFields(limit: countLimit) }
    if fields.isEmpty { fields.reserveCapacity(lines: 16, bytes: 512) }
    do {
      try fields.append(line: line)
    } catch {
      guard mendsBlanks, error == .blankBeforeColon, let mended = mended(line) else {
        throw .badField(error.explanation)
      }
      do { try fields.append(line: mended.span.bytes) } catch { throw .badField(error.explanation) }
    }
    return false
  }

  /// Takes a whole section at once, if it is all there and plain.
  ///
  /// - Returns: how many octets it has with its empty line; nil where it is to be taken line by line.
  mutating func takeWhole(_ input: RawSpan, countLimit: Int, lineLimit: Int) -> Int? {
    fields.append(plainSection: input, countLimit: countLimit, lineLimit: lineLimit)
  }

  /// The line without the blanks before its colon. Nil for what is no field line then either, and for the fields that
  /// say how long the message is: whoever read them as no fields at all would see another end.
  private func mended(_ line: RawSpan) -> [UInt8]? {
    var nameEnd = 0
    while nameEnd < line.byteCount, ASCII.isToken(line.byte(at: nameEnd)) { nameEnd += 1 }
    var colon = nameEnd
    while colon < line.byteCount, ASCII.isBlank(line.byte(at: colon)) { colon += 1 }
    guard colon < line.byteCount, line.byte(at: colon) == ASCII.colon, let name = FieldName(line.text(0..<nameEnd)),
      name != .contentLength, name != .transferEncoding
    else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(line.byteCount)
    bytes.append(line.extracting(0..<nameEnd))
    bytes.append(line.extracting(colon..<line.byteCount))
    return bytes
  }

  /// Gives the fields away and begins anew.
  mutating func finish() -> Fields {
    let all = fields
    fields = Fields()
    return all
  }
}

/// Reads the version of a start line (RFC 9112 §2.3).
func parseVersion(_ text: RawSpan) -> Result<HTTPVersion, VersionFault> {
  guard text.byteCount == 8, isProtocolName(text), ASCII.isDigit(text.byte(at: 5)),
    text.byte(at: 6) == UInt8(ascii: "."), ASCII.isDigit(text.byte(at: 7))
  else { return .failure(.malformed) }
  guard text.byte(at: 5) == UInt8(ascii: "1") else { return .failure(.unsupported(text.text(0..<8))) }
  switch text.byte(at: 7) {
  case UInt8(ascii: "0"): return .success(.http10)
  case UInt8(ascii: "1"): return .success(.http11)
  default: return .failure(.unsupported(text.text(0..<8)))
  }
}

private func isProtocolName(_ text: RawSpan) -> Bool {
  text.byte(at: 0) == UInt8(ascii: "H") && text.byte(at: 1) == UInt8(ascii: "T")
    && text.byte(at: 2) == UInt8(ascii: "T")
    && text.byte(at: 3) == UInt8(ascii: "P") && text.byte(at: 4) == UInt8(ascii: "/")
}

enum VersionFault: Error {
  case malformed
  case unsupported(String)
}

extension Fields {
  /// False where Content-Length is there and is not one valid number.
  public var hasPlainContentLength: Bool {
    guard contains(.contentLength) else { return true }
    if case .success = ContentLength.parse(self) { return count(of: .contentLength) == 1 }
    return false
  }

  /// RFC 9110 §8.6: a Content-Length that repeats one valid number, or spells it with leading zeros, is replaced by that
  /// number, so that whoever gets the message next can't read it otherwise. Anything else stays as it is, for `BodyFraming` to refuse.
  mutating func mergeContentLength() {
    guard contains(.contentLength), let first = first(.contentLength) else { return }
    let isPlain =
      !first.bytes.contains(ASCII.comma) && (first.bytes.first != UInt8(ascii: "0") || first.bytes.count == 1)
    guard count(of: .contentLength) > 1 || !isPlain else { return }
    if case .success(let number?) = ContentLength.parse(self) { set(.contentLength, FieldValue(number)) }
  }
}
