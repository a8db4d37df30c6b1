// The request fields that Vary nominates, in a form in which equal meanings are equal octets.
public import HTTPMessage

/// A request field that a stored response's Vary nominates (RFC 9111 §4.1).
public struct NominatedField: Hashable, Sendable {
  /// In lower case.
  public let name: String
  /// The normalised value of all its lines; nil if the request had none, which matches only absence.
  public let value: [UInt8]?

  public init(name: String, value: [UInt8]?) {
    self.name = name
    self.value = value
  }

  /// What a response's Vary nominates, as a request has it: sorted by name, each once, without "*".
  public static func nominated(by response: Fields, in request: Fields) -> [NominatedField] {
    let members = response.listMembers(.vary)
    guard !members.isEmpty else { return [] }
    return Set(members.map { $0.lowercased() }).subtracting(["*"]).sorted().map {
      NominatedField(name: $0, in: request)
    }
  }

  /// The field of that name as a request has it.
  init(name: String, in request: Fields) {
    self.name = name
    value = FieldName(name).flatMap { NominatedField.normalised($0, in: request) }
  }

  /// Whether a request has the field with the same meaning.
  func matches(_ request: Fields) -> Bool {
    NominatedField(name: name, in: request) == self
  }

  private static func normalised(_ name: FieldName, in request: Fields) -> [UInt8]? {
    guard let combined = request.combined(name) else { return nil }
    // Singletons whose commas and spaces are content.
    if verbatim.contains(name) { return Array(combined.bytes) }
    let members = request.listMemberBytes(name)
    if let preferences = PreferenceList(name) {
      return preferences.normalised(members)
    }
    return Array(members.joined(separator: [ASCII.comma]))
  }

  private static let verbatim: Set<FieldName> = [.userAgent, .cookie, .authorization, .referer, .origin, .host]
}

/// A field of preferences with weights (RFC 9110 §12.5), and which of its spellings mean the same.
private enum PreferenceList {
  /// Order says nothing and names have no case (RFC 9110 §12.5.2, §12.5.3).
  case unordered
  /// The same, but what follows the media range may have case (RFC 9110 §12.5.1, §8.3.1).
  case mediaRanges
  /// Between equal weights some servers prefer the first (RFC 9110 §12.5.4), so that their order is kept.
  case languages

  init?(_ name: FieldName) {
    switch name {
    case .acceptEncoding, "Accept-Charset": self = .unordered
    case .accept: self = .mediaRanges
    case .acceptLanguage: self = .languages
    default: return nil  // Any other field.
    }
  }

  func normalised(_ members: [ArraySlice<UInt8>]) -> [UInt8] {
    let preferences = members.map { preference($0) }
    let sorted: [Preference]
    switch self {
    case .unordered, .mediaRanges: sorted = preferences.sorted { $0.text.lexicographicallyPrecedes($1.text) }
    case .languages:
      // The sort is stable: members of equal weight keep their order.
      sorted = preferences.sorted { $0.thousandths > $1.thousandths }
    }
    return Array(sorted.map(\.text).joined(separator: [ASCII.comma]))
  }

  private struct Preference {
    var text: [UInt8]
    var thousandths = 1000
  }

  /// Without whitespace around ";", without a weight of 1, and with any other weight in its shortest spelling.
  private func preference(_ member: ArraySlice<UInt8>) -> Preference {
    let parts = member.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { ASCII.trimmed($0) }
    var result = Preference(text: [])
    for (index, part) in parts.enumerated() {
      if index > 0, let weight = weight(part) {
        result.thousandths = weight
        if weight < 1000 { result.text += Array(";q=\(weight)".utf8) }
        continue
      }
      if index > 0 { result.text.append(UInt8(ascii: ";")) }
      switch self {
      case .unordered, .languages: result.text += part.map(ASCII.lowercased)
      case .mediaRanges: result.text += index == 0 ? part.map(ASCII.lowercased) : Array(part)
      }
    }
    return result
  }

  /// `q=0.5` in thousandths (RFC 9110 §12.4.2); nil for any other parameter and for what is no weight.
  private func weight(_ parameter: ArraySlice<UInt8>) -> Int? {
    guard parameter.count >= 3, ASCII.lowercased(parameter[parameter.startIndex]) == UInt8(ascii: "q"),
      parameter[parameter.startIndex + 1] == UInt8(ascii: "=")
    else { return nil }
    let number = parameter.dropFirst(2)
    guard let whole = number.first, whole == UInt8(ascii: "0") || whole == UInt8(ascii: "1") else { return nil }
    var digits = number.dropFirst()
    if !digits.isEmpty {
      guard digits.removeFirst() == UInt8(ascii: "."), digits.count <= 3, digits.allSatisfy(ASCII.isDigit) else {
        return nil
      }
    }
    let fraction = Int(ASCII.decimal(Array(digits) + Array(repeating: UInt8(ascii: "0"), count: 3 - digits.count)) ?? 0)
    guard whole == UInt8(ascii: "0") || fraction == 0 else { return nil }
    return whole == UInt8(ascii: "0") ? fraction : 1000
  }
}
