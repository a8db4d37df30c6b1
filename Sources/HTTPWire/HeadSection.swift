// What request and response heads have in common: a start line, field lines, an empty line (RFC 9112 §2.1).

import HTTPMessage

/// Collects the field lines of a head or a trailer section.
struct FieldSection: Sendable {
  private(set) var fields = Fields()

  /// Adds a line; true when it was the empty line that ends the section.
  mutating func take(line: RawSpan, countLimit: Int) throws(WireError) -> Bool {
    guard line.byteCount > 0 else { return true }
    guard fields.count < countLimit else { throw .tooManyFields(limit: countLimit) }
    if fields.isEmpty { fields.reserveCapacity(lines: 16, bytes: 512) }
    do {
      try fields.append(line: line)
    } catch {
      throw .badField(error.explanation)
    }
    return false
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
  guard text.byteCount == 8, text.text(0..<5) == "HTTP/", ASCII.isDigit(text.byte(at: 5)),
    text.byte(at: 6) == UInt8(ascii: "."), ASCII.isDigit(text.byte(at: 7))
  else { return .failure(.malformed) }
  guard text.byte(at: 5) == UInt8(ascii: "1") else { return .failure(.unsupported(text.text(0..<8))) }
  switch text.byte(at: 7) {
  case UInt8(ascii: "0"): return .success(.http10)
  case UInt8(ascii: "1"): return .success(.http11)
  default: return .failure(.unsupported(text.text(0..<8)))
  }
}

enum VersionFault: Error {
  case malformed
  case unsupported(String)
}

extension Fields {
  /// RFC 9110 §8.6: a Content-Length that repeats one valid number is replaced by that number, so that whoever gets
  /// the message next can't read it otherwise. Anything else stays as it is, for `BodyFraming` to refuse.
  mutating func mergeContentLength() {
    guard let first = first(.contentLength) else { return }
    guard count(of: .contentLength) > 1 || first.bytes.contains(ASCII.comma) else { return }
    if case .success(let number?) = ContentLength.parse(self) { set(.contentLength, FieldValue(number)) }
  }
}
