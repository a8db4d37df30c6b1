// Large objects of which a few bytes are stored, far apart.
import CachePolicy
import Diagnostics
import Glibc
import HTTPMessage
import Spans
import Store
import TestSupport

/// An object with many short spans, and what its bytes are.
struct SparseObject {
  let name: String
  let size: UInt64
  let spanCount: Int
  /// From the beginning of one span to that of the next, in bytes.
  let stride: UInt64
  /// Bytes of one span.
  static let length: UInt64 = 64

  /// The URL it is stored under: of an origin that does not exist, so that whatever is asked of it fails.
  var url: String { "http://127.0.0.1:9/\(name)" }
  var key: CacheKey { CacheKey(stored: "http://127.0.0.1:9/\(name)") }

  /// The span of a number, from 0.
  func span(_ number: Int) -> ByteSpan {
    let lower = UInt64(number) * stride + stride / 2
    return ByteSpan(lower, lower + Self.length)
  }

  /// What a span holds: its number and the object's size, again and again.
  func content(_ number: Int) -> [UInt8] {
    let words: [UInt64] = [UInt64(number), size]
    return (0..<Int(Self.length)).map { UInt8(truncatingIfNeeded: words[$0 / 8 % 2] >> UInt64($0 % 8 * 8)) }
  }

  /// Stores its spans, on disk when this returns.
  func write(to store: Store) async throws {
    guard let tag = EntityTag(opaque: name), let tagValue = FieldValue("\"\(name)\"") else {
      throw HarnessError("\(name) is no entity tag")
    }
    let now = Timestamp(seconds: Int64(time(nil)))
    let fields: Fields = [
      "Content-Type": "application/octet-stream", "Cache-Control": "max-age=86400", "ETag": tagValue,
      "Date": HTTPDate.format(now), "Content-Length": FieldValue(size),
    ]
    let representation = store.makeRepresentation(validator: .strongTag(tag), total: size)
    store.add(
      StoredResponse(
        status: 200, reason: "OK", fields: fields, requestTime: now, responseTime: now, nominated: []),
      for: key, representation: representation)
    for number in 0..<spanCount {
      let writer = representation.writer(at: span(number).lower)
      try writer.write(content(number).span.bytes)
      if writer.needsDrain { try await writer.drain() }
      writer.finish()
    }
    await store.sync()
  }
}
