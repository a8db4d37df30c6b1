// The index's row of one stored response.
import CachePolicy
import HTTPMessage

/// Encodes and decodes stored responses. Decoding trusts nothing: a row may have been written by anything.
struct ResponseRecord: RowRecord {
  /// Version 1 had each name and each value counted.
  static let version: UInt8 = 2

  let response: StoredResponse
  let key: String
  let representation: UInt64

  /// What a row says.
  struct Decoded {
    var key: String
    var representation: UInt64
    var response: StoredResponse
  }

  var mostOctets: Int {
    39 + key.utf8.count + response.reason.utf8.count + response.fields.serialized.count
      + Self.octets(of: response.nominated)
  }

  func encode(into output: inout OutputSpan<UInt8>) {
    output.put(ResponseRecord.version)
    output.put(representation)
    output.put(key)
    output.put(UInt16(clamping: response.status))
    output.put(response.reason)
    output.put(response.requestTime.seconds)
    output.put(response.responseTime.seconds)
    output.put(counted: response.fields.serialized.span.bytes)
    Self.put(response.nominated, into: &output)
  }

  /// Whose response it is, without the response.
  static func decodeSubject(_ bytes: RawSpan) throws(RecordError) -> (key: String, representation: UInt64) {
    var reader = RecordReader()
    let (_, key, representation) = try subject(&reader, bytes)
    return (key, representation)
  }

  private static func subject(
    _ reader: inout RecordReader, _ bytes: RawSpan
  ) throws(RecordError) -> (version: UInt8, key: String, representation: UInt64) {
    let written: UInt8 = try reader.number(bytes)
    guard (1...version).contains(written) else { throw .unknownVersion(written) }
    let representation: UInt64 = try reader.number(bytes)
    return (written, try reader.text(bytes), representation)
  }

  static func decode(_ bytes: RawSpan) throws(RecordError) -> Decoded {
    var reader = RecordReader()
    let (written, key, representation) = try subject(&reader, bytes)
    let status: UInt16 = try reader.number(bytes)
    let reason = try reader.text(bytes)
    let requestTime: Int64 = try reader.number(bytes)
    let responseTime: Int64 = try reader.number(bytes)
    let fields = written == 1 ? try countedFields(&reader, bytes) : try wholeFields(&reader, bytes)
    let nominated = try nominated(&reader, bytes)
    try reader.end(bytes)
    let response = StoredResponse(
      status: Int(status), reason: reason, fields: fields, requestTime: Timestamp(seconds: requestTime),
      responseTime: Timestamp(seconds: responseTime), nominated: nominated)
    return Decoded(key: key, representation: representation, response: response)
  }

  private static func wholeFields(_ reader: inout RecordReader, _ bytes: RawSpan) throws(RecordError) -> Fields {
    let section = try reader.counted(bytes)
    let fields = Fields(serialized: section.span.bytes)
    guard let fields else { throw .invalid("fields") }
    return fields
  }

  private static func countedFields(_ reader: inout RecordReader, _ bytes: RawSpan) throws(RecordError) -> Fields {
    let count: UInt32 = try reader.number(bytes)
    var fields = Fields()
    for _ in 0..<count {
      guard let name = FieldName(try reader.text(bytes)), let value = FieldValue(bytes: try reader.counted(bytes))
      else { throw .invalid("field") }
      fields.append(name, value)
    }
    return fields
  }

  /// A hash of the nominated fields and values. A collision would only make one variant replace another.
  static func variant(of response: StoredResponse) -> UInt64 {
    guard !response.nominated.isEmpty else { return 0 }
    let bytes = [UInt8](capacity: octets(of: response.nominated)) { put(response.nominated, into: &$0) }
    return bytes.withUnsafeBytes { checksum($0) }
  }

  private static func octets(of nominated: [NominatedField]) -> Int {
    nominated.reduce(4) { $0 + 9 + $1.name.utf8.count + ($1.value?.count ?? 0) }
  }

  private static func put(_ nominated: [NominatedField], into output: inout OutputSpan<UInt8>) {
    output.put(UInt32(nominated.count))
    for field in nominated {
      output.put(field.name)
      output.put(UInt8(field.value == nil ? 0 : 1))
      if let value = field.value { output.put(counted: value.span.bytes) }
    }
  }

  private static func nominated(_ reader: inout RecordReader, _ bytes: RawSpan) throws(RecordError) -> [NominatedField]
  {
    let count: UInt32 = try reader.number(bytes)
    var nominated: [NominatedField] = []
    for _ in 0..<count {
      let name = try reader.text(bytes)
      let isPresent: UInt8 = try reader.number(bytes)
      switch isPresent {
      case 0: nominated.append(NominatedField(name: name, value: nil))
      case 1: nominated.append(NominatedField(name: name, value: try reader.counted(bytes)))
      default: throw .invalid("nominated field")
      }
    }
    return nominated
  }
}
