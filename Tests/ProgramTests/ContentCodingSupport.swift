// What the tests of content codings share: a text, what another program's gzip makes of it, and an origin for both.
import TestSupport

/// A text of so many lines; gzip makes it several times smaller.
func lines(_ count: Int) -> [UInt8] {
  (0..<count).flatMap { Array("line \($0) has the number \($0 &* 7_919_317 % 100_003) in it\n".utf8) }
}

/// The bytes as the gzip program encodes them.
func gzipped(_ bytes: [UInt8], _ rig: Rig) throws -> [UInt8] {
  let path = rig.folder.file("plain-\(UInt64.random(in: 0 ... .max))")
  try writeFile(path, bytes)
  return try mustRun("gzip", ["-nc", path]).output
}

/// The bytes as the gzip program decodes them.
func gunzipped(_ bytes: [UInt8], _ rig: Rig) throws -> [UInt8] {
  // Rows that run side by side may well have the same bytes.
  let path = rig.folder.file("coded-\(UInt64.random(in: 0 ... .max))")
  try writeFile(path, bytes)
  return try mustRun("gzip", ["-dc", path]).output
}

/// A resource with arbitrary bytes, whose origin takes no notice of Accept-Encoding.
struct FixedResource: Sendable {
  var body: [UInt8]
  var fields: [(String, String)]

  init(_ body: [UInt8], _ fields: [(String, String)], caching: String = "max-age=3600") {
    self.body = body
    self.fields = fields + [("Cache-Control", caching)]
  }

  /// Answers a GET or HEAD with a single range or a tag as its condition.
  func serve(_ exchange: Exchange) throws {
    let tag = fields.first { $0.0 == "ETag" }?.1
    let request = exchange.request
    if let tag, request.field("If-None-Match")?.contains(tag) == true {
      return try exchange.head("304 Not Modified", fields)
    }
    if let wanted = request.field("If-Match"), wanted != tag { return try exchange.respond("412 Precondition Failed") }
    let ends = (request.field("Range") ?? "").dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
    guard let first = ends.first, first < body.count else {
      try exchange.head("200 OK", fields + [("Content-Length", "\(body.count)")])
      return try exchange.body(body)
    }
    let last = min(body.count - 1, ends.dropFirst().first ?? .max)
    try exchange.head(
      "206 Partial Content",
      fields + [
        ("Content-Length", "\(last - first + 1)"), ("Content-Range", "bytes \(first)-\(last)/\(body.count)"),
      ])
    try exchange.body(Array(body[first...last]))
  }
}

/// What a client asks, and what it gets.
struct CodingRow: Sendable {
  enum Body: Sendable {
    case plain
    case coded
    case part(Range<Int>)
    case none
  }

  let name: String
  var path: String
  var request: [(String, String)]
  var method = "GET"
  var status = 200
  var tag: String?
  var coding: String?
  var body: Body

  init(
    _ name: String, _ path: String, _ request: [(String, String)], method: String = "GET", status: Int = 200,
    tag: String?, coding: String? = nil, _ body: Body
  ) {
    self.name = name
    self.path = path
    self.request = request
    self.method = method
    self.status = status
    self.tag = tag
    self.coding = coding
    self.body = body
  }

  /// Demands the row's status, tag, coding and content.
  func check(_ response: RawResponse, plain: [UInt8], coded: [UInt8]) throws {
    try demandEqual(response.status, status, "the status")
    try demandEqual(response.field("ETag"), tag, "the tag")
    try demandEqual(response.field("Content-Encoding"), coding, "the coding")
    try demandEqual(response.end, .clean, "the end")
    let expected: [UInt8] =
      switch body {
      case .plain: plain
      case .coded: coded
      case .part(let range): Array(coded[range])
      case .none: []
      }
    try demand(response.body == expected, "\(response.body.count) bytes that are not the \(expected.count) expected")
  }
}

/// Fields that describe other bytes than those of a transformed response, or promise ranges of it.
func demandNothingOfOtherBytes(_ response: RawResponse) throws {
  for name in ["Content-Length", "Content-MD5", "Repr-Digest", "Content-Range"] {
    try demandEqual(response.field(name), nil, name)
  }
  try demandEqual(response.field("Accept-Ranges") ?? "none", "none", "Accept-Ranges")
  try demandEqual(response.field("Vary"), "Accept-Encoding", "Vary")
}
