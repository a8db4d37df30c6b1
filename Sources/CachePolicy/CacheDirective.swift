// One directive of a Cache-Control field, before it has a meaning.
public import HTTPMessage

/// A directive as it was written (RFC 9111 §5.2). Every request reads a few of them: nothing is copied.
struct CacheDirective: Sendable {
  /// What stands before "=", without whitespace around it.
  private let name: ArraySlice<UInt8>
  /// What stands after "=", without the quotes of a quoted string; nil without "=".
  let argument: ArraySlice<UInt8>?
  /// Whether the argument is as the grammar has it: no whitespace around "=", and nothing after the quotes.
  private let isWellFormed: Bool
  /// Whether there is a quote that does not delimit a whole argument. What follows it may be text or directives, and
  /// two readers may differ about which.
  let isUnreadable: Bool

  /// Calls `body` with the directives of all lines of Cache-Control, in their order.
  static func forEach(_ fields: Fields, _ body: (CacheDirective) -> Void) {
    fields.forEachListMember(.cacheControl) { body(CacheDirective($0)) }
  }

  /// Calls `body` with the directives of a targeted field, a dictionary (RFC 9213 §2.1).
  ///
  /// - Returns: false for a value that is empty or no dictionary: it says nothing.
  static func forEach(targeted value: FieldValue, _ body: (CacheDirective) -> Void) -> Bool {
    guard let entries = StructuredField.parseDictionary(value), !entries.isEmpty else { return false }
    for entry in entries {
      if case .item(let item) = entry.member { CacheDirective(entry.key, item.value).map(body) }
    }
    return true
  }

  /// A member of a targeted field. Values that a directive cannot have are not consumed (RFC 9213 §2.1).
  private init?(_ key: String, _ value: StructuredValue) {
    name = Array(key.utf8)[...]
    isWellFormed = true
    isUnreadable = false
    let takesSeconds = CacheDirective.secondsNames.contains(key)
    switch value {
    case .integer(let number) where takesSeconds: argument = Array("\(number)".utf8)[...]
    case .boolean(true) where !takesSeconds: argument = nil
    case .string(let names) where CacheDirective.fieldNameNames.contains(key): argument = Array(names.utf8)[...]
    case .integer, .decimal, .string, .token, .bytes, .boolean: return nil
    }
  }

  private static let secondsNames: Set<String> = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"]
  private static let fieldNameNames: Set<String> = ["no-cache", "private"]

  private init(_ member: ArraySlice<UInt8>) {
    let hasQuote = member.contains(ASCII.quote)
    guard let equals = member.firstIndex(of: UInt8(ascii: "=")) else {
      name = member
      argument = nil
      isWellFormed = true
      isUnreadable = hasQuote
      return
    }
    let written = member[..<equals]
    let value = member[(equals + 1)...]
    let trimmed = ASCII.trimmed(value)
    name = ASCII.trimmed(written)
    let isTight = name.endIndex == written.endIndex && trimmed.startIndex == value.startIndex
    guard hasQuote else {
      argument = trimmed
      isWellFormed = isTight
      isUnreadable = false
      return
    }
    let isQuoted = CacheDirective.isQuotedString(trimmed) && !written.contains(ASCII.quote)
    argument = isQuoted ? CacheDirective.unescaped(trimmed.dropFirst().dropLast()) : trimmed
    isWellFormed = isTight && isQuoted
    isUnreadable = !isQuoted
  }

  /// Names compare without regard to case.
  func isNamed(_ text: StaticString) -> Bool {
    guard name.count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { ASCII.equalIgnoringCase(name, $0) }
  }

  /// The argument as seconds; nil where it is none.
  var seconds: Int64? {
    isWellFormed ? argument.flatMap { DeltaSeconds.parse($0) } : nil
  }

  /// The argument as field names; unqualified where it is not a list of names, which restricts more.
  var fieldNames: FieldNameArgument {
    guard let argument, isWellFormed else { return .unqualified }
    var names: [FieldName] = []
    for member in argument.split(separator: ASCII.comma) {
      guard let name = FieldName(String(decoding: ASCII.trimmed(member), as: UTF8.self)) else { return .unqualified }
      names.append(name)
    }
    return names.isEmpty ? .unqualified : .fields(names)
  }

  /// Whether a text is one quoted string and nothing else (RFC 9110 §5.6.4).
  private static func isQuotedString(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.count >= 2, bytes.first == ASCII.quote else { return false }
    var index = bytes.startIndex + 1
    while index < bytes.endIndex {
      if bytes[index] == ASCII.quote { return index == bytes.endIndex - 1 }
      index += bytes[index] == ASCII.backslash ? 2 : 1
    }
    return false
  }

  private static func unescaped(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard bytes.contains(ASCII.backslash) else { return bytes }
    var result: [UInt8] = []
    var isEscaped = false
    for byte in bytes {
      if byte == ASCII.backslash, !isEscaped {
        isEscaped = true
      } else {
        result.append(byte)
        isEscaped = false
      }
    }
    return result[...]
  }
}

/// The argument of `no-cache` and `private` in a response.
public enum FieldNameArgument: Equatable, Sendable {
  /// The whole response is meant.
  case unqualified
  /// Only these fields of it are meant.
  case fields([FieldName])

  /// Both at once.
  func joined(with other: FieldNameArgument) -> FieldNameArgument {
    switch (self, other) {
    case (.fields(let left), .fields(let right)): .fields(left + right)
    case (.unqualified, _), (_, .unqualified): .unqualified
    }
  }
}
