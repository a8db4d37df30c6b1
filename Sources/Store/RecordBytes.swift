// Reading and writing the octets of records: little-endian numbers, counted bytes, nothing read beyond the end.

/// Why a record could not be read.
enum RecordError: Error, Equatable {
  case truncated
  case unknownVersion(UInt8)
  case invalid(String)
}

extension [UInt8] {
  mutating func put(_ byte: UInt8) { append(byte) }

  /// Numbers behind each other, in one piece.
  mutating func put(_ numbers: (UInt64, UInt64)) {
    let numbers = (numbers.0.littleEndian, numbers.1.littleEndian)
    Swift.withUnsafeBytes(of: numbers) { append(contentsOf: $0) }
  }

  mutating func put<Number: FixedWidthInteger>(_ number: Number) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }

  /// Big-endian, for keys: their order is the numbers' order.
  mutating func putKey<Number: FixedWidthInteger>(_ number: Number) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }

  mutating func put(counted bytes: some Collection<UInt8>) {
    put(UInt32(bytes.count))
    append(contentsOf: bytes)
  }

  mutating func put(_ text: String) { put(counted: text.utf8) }
}

/// A place in a record; every method checks that what it takes is there.
struct RecordReader {
  private(set) var offset = 0

  mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ bytes: RawSpan) throws(RecordError) -> Number {
    let size = MemoryLayout<Number>.size
    guard bytes.byteCount - offset >= size else { throw .truncated }
    let number = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self)
    offset += size
    return Number(littleEndian: number)
  }

  mutating func keyNumber<Number: FixedWidthInteger & BitwiseCopyable>(_ bytes: RawSpan) throws(RecordError)
    -> Number
  {
    let number: Number = try number(bytes)
    return number.byteSwapped
  }

  mutating func counted(_ bytes: RawSpan) throws(RecordError) -> [UInt8] {
    let count: UInt32 = try number(bytes)
    return try take(Int(count), bytes)
  }

  mutating func take(_ count: Int, _ bytes: RawSpan) throws(RecordError) -> [UInt8] {
    guard bytes.byteCount - offset >= count else { throw .truncated }
    let part = bytes.extracting(offset..<offset + count).withUnsafeBytes { Array($0) }
    offset += count
    return part
  }

  mutating func text(_ bytes: RawSpan) throws(RecordError) -> String {
    String(decoding: try counted(bytes), as: UTF8.self)
  }

  /// Reads the version every record begins with.
  mutating func version(_ bytes: RawSpan, is known: UInt8) throws(RecordError) {
    let version: UInt8 = try number(bytes)
    guard version == known else { throw .unknownVersion(version) }
  }

  /// Nothing may follow: a record that is longer than its version says is not that version's.
  func end(_ bytes: RawSpan) throws(RecordError) {
    guard offset == bytes.byteCount else { throw .invalid("bytes after the end") }
  }
}
