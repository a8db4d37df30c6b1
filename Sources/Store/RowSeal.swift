// The checksum that ends every row of the index.
import CXXHash

/// A row's value stands in the index with eight more octets: the XXH3-64 of its table, its key and its value,
/// little-endian. So a row that is not what was written, or is not where it was written, is known when it is met.
enum RowSeal {
  /// Octets that the seal adds to a value.
  static let size = 8

  /// The checksum of a row.
  static func sum(_ table: Table, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> UInt64 {
    let ofKey = XXH3_64bits_withSeed(key.baseAddress, key.count, UInt64(table.rawValue) + 1)
    return XXH3_64bits_withSeed(value.baseAddress, value.count, ofKey)
  }

  /// The value as it stands in the index.
  static func seal(_ table: Table, key: [UInt8], value: [UInt8]) -> [UInt8] {
    var sealed: [UInt8] = []
    sealed.reserveCapacity(value.count + size)
    sealed.append(contentsOf: value)
    sealed.put(key.withUnsafeBytes { key in value.withUnsafeBytes { sum(table, key: key, value: $0) } })
    return sealed
  }

  /// How many octets of a row's value are its own, or nil when its checksum is not right.
  static func payloadCount(_ table: Table, key: UnsafeRawBufferPointer, sealed: UnsafeRawBufferPointer) -> Int? {
    let (found, expected) = sums(table, key: key, sealed: sealed)
    return found == expected ? sealed.count - size : nil
  }

  /// The checksum that a row has, and the one that it should have; the first is nil when it is too short for one.
  static func sums(_ table: Table, key: UnsafeRawBufferPointer, sealed: UnsafeRawBufferPointer) -> (
    found: UInt64?, expected: UInt64
  ) {
    let count = sealed.count - size
    guard count >= 0 else { return (nil, sum(table, key: key, value: sealed)) }
    let found = UInt64(littleEndian: sealed.loadUnaligned(fromByteOffset: count, as: UInt64.self))
    return (found, sum(table, key: key, value: UnsafeRawBufferPointer(rebasing: sealed[..<count])))
  }
}
