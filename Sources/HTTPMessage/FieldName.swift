// The name of a header or trailer field (RFC 9110 §5.1).

/// A field name: a token that compares without regard to case and keeps its spelling for output.
public struct FieldName: Sendable {
  let known: KnownField

  /// The name as it was spelled; always a token.
  public let spelling: String

  init(known: KnownField, _ spelling: String) {
    self.known = known
    self.spelling = spelling
  }

  /// Nil unless the text is a token (RFC 9110 §5.6.2).
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard !bytes.isEmpty, bytes.allSatisfy(ASCII.isToken) else { return nil }
    self.init(known: KnownField.recognise(bytes.span.bytes), text)
  }

  /// The name in lower case, as structured fields and HTTP/2 spell it.
  public var lowercased: String { spelling.lowercased() }
}

extension FieldName: Hashable {
  public static func == (left: FieldName, right: FieldName) -> Bool {
    guard left.known == right.known else { return false }
    return left.known != .none || ASCII.equalIgnoringCase(left.spelling.utf8, right.spelling.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(known)
    guard known == .none else { return }
    for byte in spelling.utf8 { hasher.combine(ASCII.lowercased(byte)) }
  }
}

extension FieldName: ExpressibleByStringLiteral {
  /// For names in code; a literal that is no token is a programming error.
  public init(stringLiteral literal: StaticString) {
    guard let name = FieldName("\(literal)" as String) else { preconditionFailure("not a field name: \(literal)") }
    self = name
  }
}

extension FieldName: CustomStringConvertible {
  public var description: String { spelling }
}
