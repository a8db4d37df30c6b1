// Which form of an error page a client would rather have (RFC 9110 §12.5.1).

/// True when the Accept field names text/html with a weight above 0: browsers do, command line tools don't.
public func prefersHTML(_ fields: Fields) -> Bool {
  fields.listMembers(.accept).contains { member in
    let parts = member.lowercased().split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
    guard parts.first == "text/html" else { return false }
    return !parts.dropFirst().contains {
      $0 == "q=0" || $0 == "q=0." || ($0.hasPrefix("q=0.") && !$0.dropFirst(4).contains { $0 != "0" })
    }
  }
}
