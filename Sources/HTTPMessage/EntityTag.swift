// Entity tags and lists of them (RFC 9110 §8.8.3, §13.1).

/// An entity tag.
public struct EntityTag: Hashable, Sendable {
  public let isWeak: Bool
  /// What stands between the quotes, one scalar an octet (so that two tags are equal only when their octets are).
  public let opaque: String

  /// For tags that code makes; nil when the text has a scalar that no tag can hold.
  public init?(isWeak: Bool = false, opaque: String) {
    guard opaque.unicodeScalars.allSatisfy({ $0.value < 256 && EntityTag.isTagByte(UInt8($0.value)) }) else {
      return nil
    }
    self.isWeak = isWeak
    self.opaque = opaque
  }

  private init(isWeak: Bool, bytes: ArraySlice<UInt8>) {
    self.isWeak = isWeak
    if bytes.allSatisfy({ $0 < 0x80 }) {
      opaque = String(decoding: bytes, as: UTF8.self)
    } else {
      var scalars = String.UnicodeScalarView()
      for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
      opaque = String(scalars)
    }
  }

  /// Reads one tag; nil for anything that isn't exactly one (an unquoted word among it).
  public static func parse(_ value: FieldValue) -> EntityTag? { parse(value.bytes) }

  /// Reads one tag; nil for anything that isn't exactly one.
  public static func parse(_ bytes: ArraySlice<UInt8>) -> EntityTag? {
    var rest = bytes
    let isWeak = rest.starts(with: [UInt8(ascii: "W"), UInt8(ascii: "/")])
    if isWeak { rest = rest.dropFirst(2) }
    guard rest.count >= 2, rest.first == ASCII.quote, rest.last == ASCII.quote else { return nil }
    let inner = rest.dropFirst().dropLast()
    guard inner.allSatisfy(isTagByte) else { return nil }
    return EntityTag(isWeak: isWeak, bytes: inner)
  }

  /// `etagc`.
  private static func isTagByte(_ byte: UInt8) -> Bool { byte > ASCII.space && byte != ASCII.quote && byte != 0x7F }

  /// The tag as a field spells it.
  public var fieldValue: FieldValue {
    var bytes: [UInt8] = isWeak ? [UInt8(ascii: "W"), UInt8(ascii: "/"), ASCII.quote] : [ASCII.quote]
    for scalar in opaque.unicodeScalars { bytes.append(UInt8(truncatingIfNeeded: scalar.value)) }
    bytes.append(ASCII.quote)
    return FieldValue(checked: bytes[...])
  }

  /// RFC 9110 §8.8.3.2: both strong, and equal.
  public func strongMatches(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

  /// RFC 9110 §8.8.3.2: equal, whether weak or strong.
  public func weakMatches(_ other: EntityTag) -> Bool { opaque == other.opaque }
}

/// The value of If-Match and If-None-Match (RFC 9110 §13.1.1, §13.1.2).
public enum EntityTagList: Hashable, Sendable {
  /// "*"
  case any
  case tags([EntityTag])

  /// Reads all lines of a field. Nil when there is none, and when a member is not an entity tag: a list that can't
  /// be read whole must not be judged by its readable part.
  public static func parse(_ fields: Fields, _ name: FieldName) -> EntityTagList? {
    let members = fields.listMemberBytes(name)
    guard !members.isEmpty else { return nil }
    if members.count == 1, members[0].elementsEqual([UInt8(ascii: "*")]) { return .any }
    var tags: [EntityTag] = []
    for member in members {
      guard let tag = EntityTag.parse(member) else { return nil }
      tags.append(tag)
    }
    return .tags(tags)
  }

  /// True when "*" or a member matches by the strong comparison.
  public func strongMatches(_ tag: EntityTag) -> Bool {
    switch self {
    case .any: true
    case .tags(let tags): tags.contains { $0.strongMatches(tag) }
    }
  }

  /// True when "*" or a member matches by the weak comparison.
  public func weakMatches(_ tag: EntityTag) -> Bool {
    switch self {
    case .any: true
    case .tags(let tags): tags.contains { $0.weakMatches(tag) }
    }
  }
}
