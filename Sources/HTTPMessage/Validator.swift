// What identifies a version of a representation (RFC 9110 §8.8).

/// The best validator that a response carries. Bytes are combined only under an equal strong one.
public enum Validator: Hashable, Sendable {
  case strongTag(EntityTag)
  /// A Last-Modified that is strong by the rule of RFC 9110 §8.8.2.2.
  case strongDate(Timestamp)
  case weakTag(EntityTag)
  case weakDate(Timestamp)
  case none

  public var isStrong: Bool {
    switch self {
    case .strongTag, .strongDate: true
    case .weakTag, .weakDate, .none: false
    }
  }
}
