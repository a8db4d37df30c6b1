// One directive of a Cache-Control field, before it has a meaning.
public import HTTPMessage

/// A directive as it was written (RFC 9111 §5.2).
struct CacheDirective: Equatable, Sendable {
  /// In lower case.
  let name: String
  /// What stands after "=", with quotes taken off and escapes undone; nil without "=".
  let argument: [UInt8]?
  /// Whether the grammar allows it: no whitespace around "=", a quoted string that ends, nothing after it.
  let isWellFormed: Bool

  /// The argument as seconds; nil where it is none.
  var seconds: Int64? {
    isWellFormed ? argument.flatMap { DeltaSeconds.parse($0) } : nil
  }

  /// The argument as field names; unqualified where it is not a list of names, which restricts more.
  var fieldNames: FieldNameArgument {
    guard let argument, !argument.isEmpty, isWellFormed else { return .unqualified }
    var names: [FieldName] = []
    for member in argument.split(separator: ASCII.comma) {
      guard let name = FieldName(String(decoding: ASCII.trimmed(member), as: UTF8.self)) else { return .unqualified }
      names.append(name)
    }
    return names.isEmpty ? .unqualified : .fields(names)
  }

  /// The directives of all lines of Cache-Control, in their order.
  static func parse(_ fields: Fields) -> [CacheDirective] {
    fields.listMemberBytes(.cacheControl).map(CacheDirective.init)
  }

  private init(_ member: ArraySlice<UInt8>) {
    let equals = member.firstIndex(of: UInt8(ascii: "="))
    let written = member[..<(equals ?? member.endIndex)]
    name = String(decoding: ASCII.trimmed(written).map(ASCII.lowercased), as: UTF8.self)
    guard let equals else {
      argument = nil
      isWellFormed = true
      return
    }
    let value = member[(equals + 1)...]
    let isTight = written.last.map(ASCII.isBlank) != true && value.first.map(ASCII.isBlank) != true
    let trimmed = ASCII.trimmed(value)
    if trimmed.first == ASCII.quote {
      let quoted = CacheDirective.unquote(trimmed)
      argument = quoted.text
      isWellFormed = isTight && quoted.isComplete
    } else {
      argument = Array(trimmed)
      // A quote inside a token: whoever wrote it meant something that cannot be told any more.
      isWellFormed = isTight && !trimmed.contains(ASCII.quote)
    }
  }

  /// The content of a quoted string (RFC 9110 §5.6.4), and whether it ends where the text does.
  private static func unquote(_ bytes: ArraySlice<UInt8>) -> (text: [UInt8], isComplete: Bool) {
    var text: [UInt8] = []
    var index = bytes.startIndex + 1
    while index < bytes.endIndex {
      switch bytes[index] {
      case ASCII.quote:
        return (text, index == bytes.endIndex - 1)
      case ASCII.backslash where index + 1 < bytes.endIndex:
        index += 1
        text.append(bytes[index])
      default:
        text.append(bytes[index])
      }
      index += 1
    }
    return (text, false)
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
