// Structured field values (RFC 8941): lists, dictionaries and items, as Cache-Status and Repr-Digest have them.

/// A bare item (RFC 8941 §3.3).
public enum StructuredValue: Hashable, Sendable {
  /// At most 15 digits.
  case integer(Int64)
  /// In thousandths; at most 12 digits before the point.
  case decimal(thousandths: Int64)
  /// Visible ASCII and spaces.
  case string(String)
  case token(String)
  case bytes([UInt8])
  case boolean(Bool)
}

/// A key and its value, of an item or a dictionary's member.
public struct StructuredParameter: Hashable, Sendable {
  public let key: String
  public let value: StructuredValue

  public init(_ key: String, _ value: StructuredValue) {
    self.key = key
    self.value = value
  }
}

/// A bare item with its parameters.
public struct StructuredItem: Hashable, Sendable {
  public let value: StructuredValue
  public let parameters: [StructuredParameter]

  public init(_ value: StructuredValue, _ parameters: [StructuredParameter] = []) {
    self.value = value
    self.parameters = parameters
  }

  /// The value of a parameter.
  public subscript(key: String) -> StructuredValue? { parameters.first { $0.key == key }?.value }
}

/// A member of a list or a dictionary.
public enum StructuredMember: Hashable, Sendable {
  case item(StructuredItem)
  case innerList([StructuredItem], [StructuredParameter])
}

/// A member of a dictionary with its key.
public struct StructuredEntry: Hashable, Sendable {
  public let key: String
  public let member: StructuredMember

  public init(_ key: String, _ member: StructuredMember) {
    self.key = key
    self.member = member
  }
}

/// Reads and writes whole field values. A value that fails anywhere fails as a whole (RFC 8941 §4.2).
public enum StructuredField {
  /// Nil when the value is no list. An empty value is an empty list.
  public static func parseList(_ value: FieldValue) -> [StructuredMember]? {
    var reader = StructuredReader(value.bytes)
    return reader.whole { $0.list() }
  }

  /// Nil when the value is no dictionary. Where a key comes twice the later member has the earlier one's place.
  public static func parseDictionary(_ value: FieldValue) -> [StructuredEntry]? {
    var reader = StructuredReader(value.bytes)
    return reader.whole { $0.dictionary() }
  }

  /// Nil when the value is not one item.
  public static func parseItem(_ value: FieldValue) -> StructuredItem? {
    var reader = StructuredReader(value.bytes)
    return reader.whole { $0.item() }
  }

  /// Nil when a value is beyond what its type can spell (RFC 8941 §4.1), and for an empty list, which is no field.
  public static func serialize(list: [StructuredMember]) -> FieldValue? {
    var writer = StructuredWriter()
    for (index, member) in list.enumerated() {
      if index > 0 { writer.text += ", " }
      writer.write(member)
    }
    return writer.result
  }

  /// Nil when a value is beyond what its type can spell, and for an empty dictionary.
  public static func serialize(dictionary: [StructuredEntry]) -> FieldValue? {
    var writer = StructuredWriter()
    for (index, entry) in dictionary.enumerated() {
      if index > 0 { writer.text += ", " }
      writer.write(key: entry.key)
      if case .item(let item) = entry.member, item.value == .boolean(true) {
        writer.write(item.parameters)
      } else {
        writer.text += "="
        writer.write(entry.member)
      }
    }
    return writer.result
  }

  /// Nil when a value is beyond what its type can spell.
  public static func serialize(item: StructuredItem) -> FieldValue? {
    var writer = StructuredWriter()
    writer.write(item)
    return writer.result
  }
}
