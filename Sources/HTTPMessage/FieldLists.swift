// Fields whose value is a comma-separated list (RFC 9110 §5.6.1), and the fields that end at the next hop.

extension Fields {
  /// The members of a list field over all its lines. Commas inside quoted strings don't separate; empty members are
  /// dropped and whitespace around members is trimmed.
  public func listMembers(_ name: FieldName) -> [String] {
    listMemberBytes(name).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The same as `listMembers`, as slices of the octets.
  public func listMemberBytes(_ name: FieldName) -> [ArraySlice<UInt8>] {
    var members: [ArraySlice<UInt8>] = []
    forEachListMember(name) { members.append($0) }
    return members
  }

  /// Calls a function with each of the list's members, as slices of the octets.
  public func forEachListMember(_ name: FieldName, _ member: (ArraySlice<UInt8>) -> Void) {
    guard mayContain(name) else { return }
    for line in lines where matches(line, name) { ListSplit.split(wire[line.value], member) }
  }

  /// True when the list has this member, compared without regard to case.
  public func hasListMember(_ name: FieldName, _ token: String) -> Bool {
    var found = false
    forEachListMember(name) { if ASCII.equalIgnoringCase($0, token.utf8) { found = true } }
    return found
  }

  /// Removes what concerns only this connection (RFC 9110 §7.6.1): Connection, every field it names, and the fields
  /// known to be meant for one hop. Host and Content-Length stay even when named: they say where a message goes and
  /// where it ends, and a sender must not be able to strip them on the way. The credentials and challenges of proxy
  /// authentication (§11.7) go too: they are this proxy's, and no origin may see them.
  public mutating func removeHopByHop() {
    guard mayContain(Fields.hopByHop) else { return }
    var named: [ArraySlice<UInt8>] = []
    forEachListMember(.connection) { member in
      // As a rule it is this one, which goes anyway.
      if !member.isEqual(to: "keep-alive") { named.append(member) }
    }
    keep { fields, line in
      if line.known == .host || line.known == .contentLength { return true }
      if Fields.hopByHop.contains(line.known) { return false }
      return !named.contains { ASCII.equalIgnoringCase($0, fields.wire[line.name]) }
    }
  }

  private static let hopByHop = FieldNameSet([
    .connection, .keepAlive, .proxyConnection, .te, .transferEncoding, .upgrade, .proxyAuthorization,
    .proxyAuthenticate, .proxyAuthenticationInfo,
  ])
}

/// Splits one list value.
enum ListSplit {
  /// Calls `member` with each member, trimmed; a quoted string that never ends takes the rest.
  static func split(_ value: ArraySlice<UInt8>, _ member: (ArraySlice<UInt8>) -> Void) {
    var start = value.startIndex
    var index = start
    var quoted = false
    while index < value.endIndex {
      switch value[index] {
      case ASCII.quote: quoted.toggle()
      case ASCII.backslash where quoted: index += 1
      case ASCII.comma where !quoted:
        let part = ASCII.trimmed(value[start..<index])
        if !part.isEmpty { member(part) }
        start = index + 1
      default: break
      }
      index += 1
    }
    let last = ASCII.trimmed(value[start...])
    if !last.isEmpty { member(last) }
  }
}
