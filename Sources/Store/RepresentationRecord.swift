// The index's rows about one representation, other than its extents.
import CachePolicy
import HTTPMessage
import Spans

/// A record that is the value of a row.
protocol RowRecord {
  /// The most octets that it takes.
  var mostOctets: Int { get }
  /// Appends the record.
  ///
  /// - Precondition: there is room for it.
  func encode(into output: inout OutputSpan<UInt8>)
}

extension RowRecord {
  func encoded() -> [UInt8] { [UInt8](capacity: mostOctets) { encode(into: &$0) } }
}

/// The facts of a representation.
struct RepresentationRecord: RowRecord, Equatable, Sendable {
  static let version: UInt8 = 1

  var validator: Validator
  var total: UInt64?
  /// Whether the bytes stand in pack files rather than in a file of their own.
  var isPacked: Bool
  var presentBytes: UInt64
  /// The numbers of segments that have at least one byte, and of those that have all.
  var touched: SpanSet
  var complete: SpanSet

  var mostOctets: Int {
    let opaque =
      switch validator {
      case .strongTag(let tag), .weakTag(let tag): tag.opaque.utf8.count
      case .none, .strongDate, .weakDate: 0
      }
    return 35 + opaque + 16 * (touched.count + complete.count)
  }

  func encode(into output: inout OutputSpan<UInt8>) {
    output.put(RepresentationRecord.version)
    output.put(UInt8((isPacked ? 1 : 0) | (total == nil ? 0 : 2)))
    output.put(total ?? 0)
    output.put(presentBytes)
    switch validator {
    case .none: output.put(UInt8(0))
    case .strongTag(let tag), .weakTag(let tag):
      output.put(UInt8(tag.isWeak ? 2 : 1))
      output.put(tag.opaque)
    case .strongDate(let date):
      output.put(UInt8(3))
      output.put(date.seconds)
    case .weakDate(let date):
      output.put(UInt8(4))
      output.put(date.seconds)
    }
    Self.put(touched, into: &output)
    Self.put(complete, into: &output)
  }

  private static func put(_ set: SpanSet, into output: inout OutputSpan<UInt8>) {
    output.put(UInt32(set.count))
    set.forEach { span in
      output.put(span.lower)
      output.put(span.upper)
    }
  }

  static func decode(_ bytes: RawSpan) throws(RecordError) -> RepresentationRecord {
    var reader = RecordReader()
    try reader.version(bytes, is: version)
    let flags: UInt8 = try reader.number(bytes)
    guard flags < 4 else { throw .invalid("flags") }
    let total: UInt64 = try reader.number(bytes)
    let presentBytes: UInt64 = try reader.number(bytes)
    let validator = try validator(&reader, bytes)
    let touched = try spans(&reader, bytes)
    let complete = try spans(&reader, bytes)
    try reader.end(bytes)
    return RepresentationRecord(
      validator: validator, total: flags & 2 == 0 ? nil : total, isPacked: flags & 1 != 0, presentBytes: presentBytes,
      touched: touched, complete: complete)
  }

  private static func validator(_ reader: inout RecordReader, _ bytes: RawSpan) throws(RecordError) -> Validator {
    let kind: UInt8 = try reader.number(bytes)
    switch kind {
    case 0: return .none
    case 1, 2:
      guard let tag = EntityTag(isWeak: kind == 2, opaque: try reader.text(bytes)) else { throw .invalid("entity tag") }
      return kind == 1 ? .strongTag(tag) : .weakTag(tag)
    case 3: return .strongDate(Timestamp(seconds: try reader.number(bytes)))
    case 4: return .weakDate(Timestamp(seconds: try reader.number(bytes)))
    default: throw .invalid("validator")
    }
  }

  private static func spans(_ reader: inout RecordReader, _ bytes: RawSpan) throws(RecordError) -> SpanSet {
    let count: UInt32 = try reader.number(bytes)
    var set = SpanSet()
    for _ in 0..<count {
      let lower: UInt64 = try reader.number(bytes)
      let upper: UInt64 = try reader.number(bytes)
      guard lower < upper else { throw .invalid("span") }
      set.insert(ByteSpan(lower, upper))
    }
    return set
  }
}

/// What eviction needs to know of a representation.
struct UsageRecord: RowRecord, Equatable, Sendable {
  static let version: UInt8 = 1

  /// Seconds since 1970.
  var lastUse: UInt64
  /// Bytes charged against the capacity for a file of its own.
  var allocated: UInt64
  var key: KeyHash

  var mostOctets: Int { 33 }

  func encode(into output: inout OutputSpan<UInt8>) {
    output.put(UsageRecord.version)
    output.put(lastUse)
    output.put(allocated)
    output.put(key.high)
    output.put(key.low)
  }

  static func decode(_ bytes: RawSpan) throws(RecordError) -> UsageRecord {
    var reader = RecordReader()
    try reader.version(bytes, is: version)
    let lastUse: UInt64 = try reader.number(bytes)
    let allocated: UInt64 = try reader.number(bytes)
    let high: UInt64 = try reader.number(bytes)
    let low: UInt64 = try reader.number(bytes)
    try reader.end(bytes)
    return UsageRecord(lastUse: lastUse, allocated: allocated, key: KeyHash(high: high, low: low))
  }
}

/// The row of an extent; its key has the lower bound.
struct ExtentRecord: RowRecord {
  static let version: UInt8 = 1

  let extent: Extent

  init(_ extent: Extent) { self.extent = extent }

  var mostOctets: Int { 21 }

  func encode(into output: inout OutputSpan<UInt8>) {
    output.put(ExtentRecord.version)
    output.put(extent.length)
    output.put(extent.checksum)
    output.put(extent.pack)
    output.put(extent.packOffset)
  }

  static func decode(_ bytes: RawSpan, lower: UInt64) throws(RecordError) -> Extent {
    var reader = RecordReader()
    try reader.version(bytes, is: version)
    let length: UInt32 = try reader.number(bytes)
    let checksum: UInt64 = try reader.number(bytes)
    let pack: UInt32 = try reader.number(bytes)
    let packOffset: UInt32 = try reader.number(bytes)
    try reader.end(bytes)
    // An extent lies within one stretch of the largest size.
    guard length > 0, lower < 1 << 63, lower % Extent.largest + UInt64(length) <= Extent.largest else {
      throw .invalid("length")
    }
    return Extent(
      lower: lower, checksum: checksum, length: length, pack: pack, packOffset: packOffset, isChecked: false)
  }
}

/// The row of a pack file.
struct PackRecord: RowRecord, Equatable, Sendable {
  static let version: UInt8 = 1

  /// Bytes written to the file.
  var size: UInt64
  /// Bytes of it that extents refer to.
  var live: UInt64

  var mostOctets: Int { 17 }

  func encode(into output: inout OutputSpan<UInt8>) {
    output.put(PackRecord.version)
    output.put(size)
    output.put(live)
  }

  static func decode(_ bytes: RawSpan) throws(RecordError) -> PackRecord {
    var reader = RecordReader()
    try reader.version(bytes, is: version)
    let size: UInt64 = try reader.number(bytes)
    let live: UInt64 = try reader.number(bytes)
    try reader.end(bytes)
    return PackRecord(size: size, live: live)
  }
}
