// The request fields that Vary nominates, in a form in which equal meanings are equal octets.
public import HTTPMessage

/// A request field that a stored response's Vary nominates (RFC 9111 §4.1).
public struct NominatedField: Hashable, Sendable {
  /// In lower case.
  public let name: String
  /// The normalised value of all its lines; nil if the request had none, which matches only absence.
  public let value: [UInt8]?
  /// Nil for a name that no request field can have.
  private let field: FieldName?

  public init(name: String, value: [UInt8]?) {
    self.name = name
    self.value = value
    field = FieldName(name)
  }

  /// The field of that name as a request has it.
  private init(name: String, in request: Fields) {
    self.name = name
    field = FieldName(name)
    value = field.flatMap { NominatedField.normalised($0, in: request) }
  }

  /// What a response's Vary nominates, as a request has it: sorted by name, each once, without "*".
  public static func nominated(by response: Fields, in request: Fields) -> [NominatedField] {
    let members = response.listMembers(.vary)
    guard !members.isEmpty else { return [] }
    return Set(members.map { $0.lowercased() }).subtracting(["*"]).sorted().map {
      NominatedField(name: $0, in: request)
    }
  }

  /// Whether a request has the field with the same meaning.
  func matches(_ request: Fields) -> Bool {
    field.flatMap { NominatedField.normalised($0, in: request) } == value
  }

  private static func normalised(_ name: FieldName, in request: Fields) -> [UInt8]? {
    guard let first = request.first(name) else { return nil }
    // Singletons whose commas and spaces are content.
    if verbatim.contains(name) { return Array((request.combined(name) ?? first).bytes) }
    let members = request.listMemberBytes(name)
    if let preferences = PreferenceList(name) { return preferences.normalised(members) }
    return Array(members.joined(separator: [ASCII.comma]))
  }

  private static let verbatim: [FieldName] = [.userAgent, .cookie, .authorization, .referer, .origin, .host]
}
