// Heads as they are written, and that they are read back as they were.

import HTTPMessage
import HTTPWire
import Testing

@Suite struct HeadWritingTests {
  @Test("RFC 9112 §3: a request") func request() {
    let head = RequestHead(
      method: .get, target: .origin("/a?b"), fields: ["host": "a", "X-Two": "1", "x-two": "2"])
    #expect(
      String(decoding: head.serialized(), as: UTF8.self)
        == "GET /a?b HTTP/1.1\r\nhost: a\r\nX-Two: 1\r\nx-two: 2\r\n\r\n")
  }

  @Test("RFC 9112 §4: a response") func response() {
    let head = ResponseHead(
      version: .http10, status: 206, fields: ["Content-Range": ContentRange.unsatisfied(total: 7).fieldValue])
    #expect(
      String(decoding: head.serialized(), as: UTF8.self)
        == "HTTP/1.0 206 Partial Content\r\nContent-Range: bytes */7\r\n\r\n")
  }

  @Test("RFC 9112 §11.1: neither a made-up target nor a reason can split a head") func noSplitting() {
    let request = RequestHead(method: .get, target: .origin("/a\r\nX: y HTTP/1.1"), fields: ["Host": "a"])
    #expect(
      String(decoding: request.serialized(), as: UTF8.self)
        == "GET /a%0D%0AX:%20y%20HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n")
    let response = ResponseHead(status: 200, reason: "OK\r\nX: y\0")
    #expect(String(decoding: response.serialized(), as: UTF8.self) == "HTTP/1.1 200 OK  X: y \r\n\r\n")
  }

  static func randomFields(_ generator: inout SeededGenerator) -> Fields {
    let tokens = Array("!#$%&'*+-.^_`|~09azAZ".utf8)
    let contents = Array("\t !\"(),/:;<=>?@[]{}\\azAZ09~".utf8) + [0x80, 0xA0, 0xFF]
    let known: [FieldName] = [.etag, .contentType, .cacheControl, .vary, .setCookie, "eTaG", "x-long-name-of-our-own"]
    var fields = Fields()
    for _ in 0..<Int.random(in: 0...12, using: &generator) {
      let random = (0..<Int.random(in: 1...20, using: &generator)).compactMap { _ in
        tokens.randomElement(using: &generator)
      }
      let name =
        Bool.random(using: &generator)
        ? known.randomElement(using: &generator) : FieldName(String(decoding: random, as: UTF8.self))
      let value = FieldValue(
        bytes: (0..<Int.random(in: 0...40, using: &generator)).compactMap { _ in
          contents.randomElement(using: &generator)
        })
      if let name, let value { fields.append(name, value) }
    }
    return fields
  }

  @Test("parse(serialise(x)) = x for requests", arguments: 1...60 as ClosedRange<UInt64>)
  func requestRoundTrip(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let targets: [(Method, RequestTarget)] = [
      (.get, .origin("/a%20b?c=d&e")),
      (.post, .absolute(TargetURI(scheme: .http, host: "a.example", port: 8080, pathAndQuery: "/"))),
      (.get, .absolute(TargetURI(scheme: .https, host: "2001:db8::1", port: 443, pathAndQuery: "/?x"))),
      (.connect, .authority(host: "::1", port: 443)),
      (.options, .asterisk),
    ]
    let (method, target) = try #require(targets.randomElement(using: &generator))
    var fields = HeadWritingTests.randomFields(&generator)
    fields.append(.host, "a")
    if case .absolute(let uri) = target, let authority = FieldValue(uri.authority) { fields.set(.host, authority) }
    let head = RequestHead(
      method: method, target: target, version: Bool.random(using: &generator) ? .http10 : .http11, fields: fields)
    let read = try verifiedHeads(RequestHeadParser.self, head.serialized())
    #expect(read == [head])
    #expect(read.first?.serialized() == head.serialized())
  }

  @Test("parse(serialise(x)) = x for responses", arguments: 1...60 as ClosedRange<UInt64>)
  func responseRoundTrip(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let head = ResponseHead(
      version: Bool.random(using: &generator) ? .http10 : .http11,
      status: Int.random(in: 100...999, using: &generator),
      reason: ["", "OK", "a b", "tab\there"].randomElement(using: &generator),
      fields: HeadWritingTests.randomFields(&generator))
    #expect(try verifiedHeads(ResponseHeadParser.self, head.serialized()) == [head])
  }

  /// Random octets and random damage to good messages: any outcome is fine as long as it is the same however the
  /// input was cut (which the verifier checks), and what was taken can be written and taken again.
  @Test("Damaged heads are judged the same in every cut", arguments: 1...200 as ClosedRange<UInt64>)
  func damaged(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let bytes = HeadWritingTests.damaged(
      "POST http://a.example:81/p?q HTTP/1.1\r\nHost: b\r\nContent-Length: 5\r\nA: \"b\"\r\n\r\n", &generator)
    guard
      case .success(let heads) = outcome({ () throws(WireError) in try verifiedHeads(RequestHeadParser.self, bytes) })
    else { return }
    for head in heads { #expect(try verifiedHeads(RequestHeadParser.self, head.serialized()) == [head]) }
  }

  /// The same for responses, under limits that may lie anywhere in the head.
  @Test("Damaged responses are judged the same in every cut", arguments: 1...600 as ClosedRange<UInt64>)
  func damagedResponse(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let bytes = HeadWritingTests.damaged(
      "HTTP/1.1 200 OK\r\nServer: s\r\nContent-Length: 5\r\nX-A: \"b\"\r\nETag: \"a\"\r\n\r\nHTTP/1.1 404 No\r\nB:\r\n\r\n",
      &generator)
    let limits = HeadLimits(
      headBytes: Int.random(in: 50...150, using: &generator), fieldCount: Int.random(in: 2...6, using: &generator),
      targetBytes: 8, lineBytes: Int.random(in: 17...30, using: &generator))
    guard
      case .success(let heads) = outcome({ () throws(WireError) in
        try verifiedHeads(ResponseHeadParser.self, bytes, limits: limits)
      })
    else { return }
    for head in heads { #expect(try verifiedHeads(ResponseHeadParser.self, head.serialized()) == [head]) }
  }

  /// One to three octets changed, added or removed.
  private static func damaged(_ text: String, _ generator: inout SeededGenerator) -> [UInt8] {
    var bytes = Array(text.utf8)
    let interesting = Array("\r\n \t:,;\0\u{7F}[]@#%".utf8) + [0xFF]
    for _ in 0..<Int.random(in: 1...3, using: &generator) {
      let place = Int.random(in: 0..<bytes.count, using: &generator)
      let byte = interesting[Int.random(in: 0..<interesting.count, using: &generator)]
      switch Int.random(in: 0...2, using: &generator) {
      case 0: bytes[place] = byte
      case 1: bytes.insert(byte, at: place)
      default: bytes.remove(at: place)
      }
    }
    return bytes
  }
}
