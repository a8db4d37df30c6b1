// Changes of the index as bytes: what a journal holds and what a commit applies are the same.

/// A batch of changes, in the order they are to be made.
///
/// The batch is encoded as it is built: what the journal writes needs no further work.
struct Operations: Sendable {
  private enum Kind: UInt8 {
    case put = 1
    case delete = 2
    case deletePrefix = 3
  }

  private(set) var bytes: [UInt8] = []

  init() {}

  init(bytes: [UInt8]) { self.bytes = bytes }

  var isEmpty: Bool { bytes.isEmpty }

  mutating func put(_ table: Table, _ key: [UInt8], _ value: [UInt8]) { append(.put, table, key, value) }

  mutating func delete(_ table: Table, _ key: [UInt8]) { append(.delete, table, key, []) }

  /// Deletes every row whose key begins with `prefix`.
  mutating func delete(_ table: Table, prefix: [UInt8]) { append(.deletePrefix, table, prefix, []) }

  mutating func append(_ other: Operations) { bytes.append(contentsOf: other.bytes) }

  private mutating func append(_ kind: Kind, _ table: Table, _ key: [UInt8], _ value: [UInt8]) {
    bytes.append(kind.rawValue)
    bytes.append(table.rawValue)
    bytes.put(UInt16(key.count))
    bytes.put(UInt32(value.count))
    bytes.append(contentsOf: key)
    bytes.append(contentsOf: value)
  }

  /// One change.
  enum Operation: Equatable {
    case put(Table, key: [UInt8], value: [UInt8])
    case delete(Table, key: [UInt8])
    case deletePrefix(Table, prefix: [UInt8])
  }

  /// Reads the changes back, in order; a batch that cannot be read whole throws before the first bad one.
  func forEach(_ body: (Operation) throws -> Void) throws {
    var reader = RecordReader()
    let span = bytes.span.bytes
    while reader.offset < span.byteCount {
      let rawKind: UInt8 = try reader.number(span)
      let rawTable: UInt8 = try reader.number(span)
      let keyCount: UInt16 = try reader.number(span)
      let valueCount: UInt32 = try reader.number(span)
      guard let kind = Kind(rawValue: rawKind), let table = Table(rawValue: rawTable) else {
        throw RecordError.invalid("unknown operation")
      }
      let key = try reader.take(Int(keyCount), span)
      let value = try reader.take(Int(valueCount), span)
      switch kind {
      case .put: try body(.put(table, key: key, value: value))
      case .delete: try body(.delete(table, key: key))
      case .deletePrefix: try body(.deletePrefix(table, prefix: key))
      }
    }
  }
}
