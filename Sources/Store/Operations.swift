// Changes of the index as bytes: what a journal holds and what a commit applies are the same.
import HTTPMessage

/// A batch of changes, in the order they are to be made.
///
/// The batch is encoded as it is built: what the journal writes needs no further work.
struct Operations: Sendable {
  enum Kind: UInt8 {
    case put = 1
    case delete = 2
    case deletePrefix = 3
  }

  private(set) var bytes: [UInt8] = []

  init() {}

  /// An empty batch with room for so many bytes.
  init(capacity: Int) { bytes.reserveCapacity(capacity) }

  init(bytes: [UInt8]) { self.bytes = bytes }

  var isEmpty: Bool { bytes.isEmpty }

  mutating func put(_ table: Table, _ key: [UInt8], _ value: [UInt8]) {
    append(.put, table, atMost: key.count + value.count) {
      $0.append(key.span.bytes)
    } value: {
      $0.append(value.span.bytes)
    }
  }

  /// Puts a row whose key is written by the closure.
  ///
  /// - Parameter most: the most octets that the key takes.
  mutating func put(
    _ table: Table, atMost most: Int, key: (inout OutputSpan<UInt8>) -> Void, value: some RowRecord
  ) {
    append(.put, table, atMost: most + value.mostOctets, key: key) { value.encode(into: &$0) }
  }

  mutating func delete(_ table: Table, _ key: [UInt8]) { append(.delete, table, alone: key) }

  /// Deletes every row whose key begins with `prefix`.
  mutating func delete(_ table: Table, prefix: [UInt8]) { append(.deletePrefix, table, alone: prefix) }

  private mutating func append(_ kind: Kind, _ table: Table, alone key: [UInt8]) {
    append(kind, table, atMost: key.count, key: { $0.append(key.span.bytes) }, value: { _ in })
  }

  mutating func append(_ other: Operations) { bytes.append(contentsOf: other.bytes) }

  /// Kind, table, the key's count in 16 bits and the value's in 32, then both.
  ///
  /// - Parameter most: the most octets that they take.
  private mutating func append(
    _ kind: Kind, _ table: Table, atMost most: Int, key: (inout OutputSpan<UInt8>) -> Void,
    value: (inout OutputSpan<UInt8>) -> Void
  ) {
    let start = bytes.count
    var valueStart = 0
    bytes.append(addingCapacity: Self.headerSize + most) { output in
      output.put(UInt64(0))
      key(&output)
      valueStart = start + output.count
      value(&output)
    }
    let keyCount = UInt64(valueStart - start - Self.headerSize)
    let header =
      UInt64(kind.rawValue) | UInt64(table.rawValue) << 8 | keyCount << 16 | UInt64(bytes.count - valueStart) << 32
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: header.littleEndian, toByteOffset: start, as: UInt64.self) }
  }

  private static let headerSize = 8

  /// One change.
  enum Operation: Equatable {
    case put(Table, key: [UInt8], value: [UInt8])
    case delete(Table, key: [UInt8])
    case deletePrefix(Table, prefix: [UInt8])
  }

  /// Reads the changes back, in order; a batch that cannot be read whole throws before the first bad one.
  func forEach(_ body: (Operation) throws -> Void) throws {
    try scan { kind, table, key, value in
      switch kind {
      case .put: try body(.put(table, key: Array(key), value: Array(value)))
      case .delete: try body(.delete(table, key: Array(key)))
      case .deletePrefix: try body(.deletePrefix(table, prefix: Array(key)))
      }
    }
  }

  /// The same without copies: key and value are valid during the call only.
  func scan(
    _ body: (_ kind: Kind, _ table: Table, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws ->
      Void
  ) throws {
    try bytes.withUnsafeBytes { all in
      var offset = 0
      while offset < all.count {
        guard all.count - offset >= Self.headerSize else { throw RecordError.truncated }
        let header = UInt64(littleEndian: all.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        guard let kind = Kind(rawValue: UInt8(truncatingIfNeeded: header)),
          let table = Table(rawValue: UInt8(truncatingIfNeeded: header >> 8))
        else { throw RecordError.invalid("unknown operation") }
        let keyCount = Int(header >> 16 & 0xFFFF)
        let valueCount = Int(header >> 32)
        let start = offset + Self.headerSize
        guard all.count - start >= keyCount + valueCount else { throw RecordError.truncated }
        offset = start + keyCount + valueCount
        try body(
          kind, table, UnsafeRawBufferPointer(rebasing: all[start..<start + keyCount]),
          UnsafeRawBufferPointer(rebasing: all[start + keyCount..<offset]))
      }
    }
  }
}
