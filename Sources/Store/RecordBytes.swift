// Reading and writing the octets of records: little-endian numbers, counted bytes, nothing read beyond the end.
import HTTPMessage

/// Why a record could not be read.
enum RecordError: Error, Equatable {
  case truncated
  case unknownVersion(UInt8)
  case invalid(String)
}

/// Writing into room that was made for all of a record: one piece at a time would look for room at each.
extension OutputSpan<UInt8> {
  mutating func put<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    append(octetsOf: number.littleEndian)
  }

  /// Big-endian, for keys: their order is the numbers' order.
  mutating func putKey<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    append(octetsOf: number.bigEndian)
  }

  mutating func put(counted bytes: RawSpan) {
    put(UInt32(bytes.byteCount))
    append(bytes)
  }

  mutating func put(_ text: String) { put(counted: text.utf8Span.span.bytes) }

  private mutating func append<Number: BitwiseCopyable>(octetsOf number: Number) {
    let size = MemoryLayout<Number>.size
    precondition(size <= freeCapacity)
    withUnsafeMutableBufferPointer { room, count in
      UnsafeMutableRawBufferPointer(room).storeBytes(of: number, toByteOffset: count, as: Number.self)
      count += size
    }
  }
}

extension [UInt8] {
  mutating func put<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    append(addingCapacity: MemoryLayout<Number>.size) { $0.put(number) }
  }

  mutating func put(_ text: String) { append(addingCapacity: 4 + text.utf8.count) { $0.put(text) } }
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
