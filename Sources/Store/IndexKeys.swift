// The keys of the index's tables.
import CachePolicy

/// The index's tables. Raw values stand in journals and must not change.
enum Table: UInt8, CaseIterable, Sendable {
  /// Format version, incarnation, the last journal taken in.
  case meta = 0
  /// Key hash and variant → stored response.
  case responses = 1
  /// Representation → its facts.
  case representations = 2
  /// Representation and lower bound → extent.
  case extents = 3
  /// Representation → last use, size, key hash: small rows, all read at start in the background.
  case usage = 4
  /// Pack → size and live bytes.
  case packs = 5
  /// Representation, or a segment of one, whose data is to be removed.
  case doomed = 6

  var name: String {
    switch self {
    case .meta: "meta"
    case .responses: "responses"
    case .representations: "representations"
    case .extents: "extents"
    case .usage: "usage"
    case .packs: "packs"
    case .doomed: "doomed"
    }
  }
}

/// Makes keys; numbers stand big-endian, so that rows lie in their order.
enum IndexKey {
  static let format = Array("format".utf8)
  static let incarnation = Array("incarnation".utf8)
  static let journal = Array("journal".utf8)

  /// The most octets that a key made of numbers takes.
  static let most = 24

  static func key(_ hash: KeyHash) -> [UInt8] {
    [UInt8](capacity: most) { output in
      output.putKey(hash.high)
      output.putKey(hash.low)
    }
  }

  static func response(_ hash: KeyHash, variant: UInt64) -> [UInt8] {
    [UInt8](capacity: most) { put(response: variant, of: hash, into: &$0) }
  }

  static func put(response variant: UInt64, of hash: KeyHash, into output: inout OutputSpan<UInt8>) {
    output.putKey(hash.high)
    output.putKey(hash.low)
    output.putKey(variant)
  }

  static func representation(_ id: UInt64) -> [UInt8] {
    [UInt8](capacity: most) { put(representation: id, into: &$0) }
  }

  static func put(representation id: UInt64, into output: inout OutputSpan<UInt8>) { output.putKey(id) }

  static func extent(_ id: UInt64, _ lower: UInt64) -> [UInt8] {
    [UInt8](capacity: most) { put(extent: lower, of: id, into: &$0) }
  }

  static func put(extent lower: UInt64, of id: UInt64, into output: inout OutputSpan<UInt8>) {
    output.putKey(id)
    output.putKey(lower)
  }

  static func pack(_ number: UInt32) -> [UInt8] { [UInt8](capacity: most) { $0.putKey(number) } }

  /// `segment` nil: the representation as a whole.
  static func doomed(_ id: UInt64, segment: UInt64?) -> [UInt8] { extent(id, segment ?? .max) }

  /// The first number of a key, or nil when it is too short to have one.
  static func number(_ key: RawSpan) -> UInt64? {
    var reader = RecordReader()
    return try? reader.keyNumber(key)
  }

  /// The second number of a key.
  static func secondNumber(_ key: RawSpan) -> UInt64? {
    var reader = RecordReader()
    guard let _: UInt64 = try? reader.keyNumber(key) else { return nil }
    return try? reader.keyNumber(key)
  }

  /// The variant of a response's key.
  static func variant(_ key: RawSpan) -> UInt64? {
    guard key.byteCount == 24 else { return nil }
    return number(key.extracting(16..<24))
  }
}
