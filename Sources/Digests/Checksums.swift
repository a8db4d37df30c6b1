// Cyclic redundancy checks of 32 and 64 bits, eight bytes at a time, and Adler-32.

import HTTPMessage

/// The tables of one reflected polynomial. The registers of all begin and end inverted.
///
/// Table k holds, for each byte, what it has become when k zero bytes have followed it: so eight bytes are taken in with
/// eight look-ups (slicing by eight). A register of 32 bits uses the low half of the same arithmetic.
final class CyclicTable: Sendable {
  let width: Int
  let entries: [UInt64]

  private init(width: Int, polynomial: UInt64) {
    self.width = width
    var entries = [UInt64](repeating: 0, count: 8 * 256)
    for byte in 0..<256 {
      var register = UInt64(byte)
      for _ in 0..<8 { register = register & 1 == 1 ? register >> 1 ^ polynomial : register >> 1 }
      entries[byte] = register
    }
    for index in 256..<8 * 256 {
      let before = entries[index - 256]
      entries[index] = before >> 8 ^ entries[Int(before & 0xFF)]
    }
    self.entries = entries
  }

  static let crc32 = CyclicTable(width: 32, polynomial: 0xEDB8_8320)
  static let crc32C = CyclicTable(width: 32, polynomial: 0x82F6_3B78)
  static let crc64NVME = CyclicTable(width: 64, polynomial: 0x9A6C_9329_AC4B_C9B5)
  static let crc64ECMA = CyclicTable(width: 64, polynomial: 0xC96C_5795_D787_0F42)
}

/// A cyclic redundancy check under way.
struct CyclicChecksum {
  private let table: CyclicTable
  private var register: UInt64

  init(_ table: CyclicTable) {
    self.table = table
    register = CyclicChecksum.ones(table.width)
  }

  private static func ones(_ width: Int) -> UInt64 { .max >> UInt64(64 - width) }

  mutating func update(_ bytes: RawSpan) {
    let table = table.entries
    let entries = table.span
    var register = register
    var offset = 0
    while offset + 8 <= bytes.byteCount {
      let word = register ^ UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
      var next: UInt64 = 0
      for place in 0..<8 {
        next ^= entries[(7 - place) << 8 | Int(word >> UInt64(place * 8) & 0xFF)]
      }
      register = next
      offset += 8
    }
    while offset < bytes.byteCount {
      let byte = bytes.byte(at: offset)
      register = register >> 8 ^ entries[Int((register ^ UInt64(byte)) & 0xFF)]
      offset += 1
    }
    self.register = register
  }

  /// The highest byte first.
  var value: [UInt8] {
    let result = register ^ CyclicChecksum.ones(table.width)
    return Array(result.digestBytes.suffix(table.width / 8))
  }
}

/// Adler-32 (RFC 1950 §8.2) under way.
struct AdlerChecksum {
  private var low: UInt32 = 1
  private var high: UInt32 = 0
  private static let modulus: UInt32 = 65_521
  /// As many bytes as the sums take before they could overflow 32 bits.
  private static let run = 5552

  mutating func update(_ bytes: RawSpan) {
    var offset = 0
    while offset < bytes.byteCount {
      let end = min(offset + Self.run, bytes.byteCount)
      while offset < end {
        low &+= UInt32(bytes.byte(at: offset))
        high &+= low
        offset += 1
      }
      low %= Self.modulus
      high %= Self.modulus
    }
  }

  var value: [UInt8] { (high << 16 | low).digestBytes }
}
