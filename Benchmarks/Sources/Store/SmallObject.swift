// Small objects by their number, as many as are wanted.
import CachePolicy
import Diagnostics
import Glibc
import HTTPMessage
import Store
import TestSupport

/// One of many objects of 1 KiB, of an origin that does not exist.
struct SmallObject {
  let number: Int
  static let size = 1024
  /// What all their URLs begin with.
  static let prefix = "http://127.0.0.1:9/object/"

  var url: String { "\(Self.prefix)\(number)" }
  var key: CacheKey { CacheKey(stored: url) }

  /// Its number and what follows from it.
  var content: [UInt8] {
    var words = SeededGenerator(UInt64(number))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.size)
    while bytes.count < Self.size { withUnsafeBytes(of: words.next()) { bytes.append(contentsOf: $0) } }
    return bytes
  }

  /// Stores it; on disk some time later.
  func write(to store: Store) async throws {
    guard let tag = EntityTag(opaque: "\(number)"), let tagValue = FieldValue("\"\(number)\"") else {
      throw HarnessError("\(number) is no entity tag")
    }
    let now = Timestamp(seconds: Int64(time(nil)))
    let fields: Fields = [
      "Server": "nginx/1.22.1", "Date": HTTPDate.format(now), "Content-Type": "application/octet-stream",
      "Content-Length": FieldValue(Self.size), "ETag": tagValue, "Cache-Control": "max-age=864000",
    ]
    let representation = store.makeRepresentation(validator: .strongTag(tag), total: UInt64(Self.size))
    store.add(
      StoredResponse(status: 200, reason: "OK", fields: fields, requestTime: now, responseTime: now, nominated: []),
      for: key, representation: representation)
    let writer = representation.writer(at: 0)
    try writer.write(content.span.bytes)
    if writer.needsDrain { try await writer.drain() }
    writer.finish()
  }
}
