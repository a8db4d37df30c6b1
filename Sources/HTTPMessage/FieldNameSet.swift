// Some field names, asked for together.

/// A set of field names that this program has words for. Whether fields have none of them, as most often, is seen at
/// once.
package struct FieldNameSet: Sendable {
  private let members: [KnownField]
  /// Each by its bit, as in `Fields`.
  let bits: UInt64

  /// For names in code; one that is not among the known ones is a programming error.
  package init(_ names: [FieldName]) {
    members = names.map(\.known)
    precondition(!members.contains(.none), "a set of names has one that has no word")
    bits = members.reduce(0) { $0 | Fields.bit(of: $1) }
  }

  func contains(_ known: KnownField) -> Bool { bits & Fields.bit(of: known) != 0 && members.contains(known) }
}

extension Fields {
  /// Whether there is a line of one of these names.
  package func contains(anyOf names: FieldNameSet) -> Bool {
    mayContain(names) && lines.contains { names.contains($0.known) }
  }

  /// Removes every line of these names.
  package mutating func remove(_ names: FieldNameSet) {
    guard mayContain(names) else { return }
    keep { _, line in !names.contains(line.known) }
  }

  /// Adds all lines of another section but those of some names.
  package mutating func append(contentsOf other: Fields, without names: FieldNameSet) {
    guard other.mayContain(names) else { return append(contentsOf: other) }
    for line in other.lines where !names.contains(line.known) { copy(line, from: other) }
  }

  /// All lines as `serialized` has them, but those of some names.
  package func serialized(without names: FieldNameSet) -> [UInt8] {
    guard mayContain(names) else { return serialized }
    return [UInt8](capacity: wire.count) { output in
      for line in lines where !names.contains(line.known) { output.append(wire.span.bytes.extracting(line.whole)) }
    }
  }

  /// False where no line can have one of these names.
  func mayContain(_ names: FieldNameSet) -> Bool { seen & names.bits != 0 }
}
