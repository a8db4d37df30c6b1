// The index's row of one stored response.
import CachePolicy
import HTTPMessage

/// Encodes and decodes stored responses. Decoding trusts nothing: a row may have been written by anything.
enum ResponseRecord {
  static let version: UInt8 = 1

  /// What a row says.
  struct Decoded {
    var key: String
    var representation: UInt64
    var response: StoredResponse
  }

  static func encode(_ response: StoredResponse, key: String, representation: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(64 + key.utf8.count + response.fields.serialized.count * 2)
    bytes.put(version)
    bytes.put(representation)
    bytes.put(key)
    bytes.put(UInt16(clamping: response.status))
    bytes.put(response.reason)
    bytes.put(response.requestTime.seconds)
    bytes.put(response.responseTime.seconds)
    bytes.put(UInt32(response.fields.count))
    for (name, value) in response.fields {
      bytes.put(name.spelling)
      bytes.put(counted: value.bytes)
    }
    put(response.nominated, into: &bytes)
    return bytes
  }

  /// Whose response it is, without the response.
  static func decodeSubject(_ bytes: RawSpan) throws(RecordError) -> (key: String, representation: UInt64) {
    var reader = RecordReader()
    return try subject(&reader, bytes)
  }

  private static func subject(
    _ reader: inout RecordReader, _ bytes: RawSpan
  ) throws(RecordError) -> (key: String, representation: UInt64) {
    try reader.version(bytes, is: version)
    let representation: UInt64 = try reader.number(bytes)
    return (try reader.text(bytes), representation)
  }

  static func decode(_ bytes: RawSpan) throws(RecordError) -> Decoded {
    var reader = RecordReader()
    let (key, representation) = try subject(&reader, bytes)
    let status: UInt16 = try reader.number(bytes)
    let reason = try reader.text(bytes)
    let requestTime: Int64 = try reader.number(bytes)
    let responseTime: Int64 = try reader.number(bytes)
    let fieldCount: UInt32 = try reader.number(bytes)
    var fields = Fields()
    for _ in 0..<fieldCount {
      guard let name = FieldName(try reader.text(bytes)), let value = FieldValue(bytes: try reader.counted(bytes))
      else { throw .invalid("field") }
      fields.append(name, value)
    }
    let nominated = try nominated(&reader, bytes)
    try reader.end(bytes)
    let response = StoredResponse(
      status: Int(status), reason: reason, fields: fields, requestTime: Timestamp(seconds: requestTime),
      responseTime: Timestamp(seconds: responseTime), nominated: nominated)
    return Decoded(key: key, representation: representation, response: response)
  }

  /// A hash of the nominated fields and values. A collision would only make one variant replace another.
  static func variant(of response: StoredResponse) -> UInt64 {
    guard !response.nominated.isEmpty else { return 0 }
    var bytes: [UInt8] = []
    put(response.nominated, into: &bytes)
    return bytes.withUnsafeBytes { checksum($0) }
  }

  private static func put(_ nominated: [NominatedField], into bytes: inout [UInt8]) {
    bytes.put(UInt32(nominated.count))
    for field in nominated {
      bytes.put(field.name)
      bytes.put(UInt8(field.value == nil ? 0 : 1))
      if let value = field.value { bytes.put(counted: value) }
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
