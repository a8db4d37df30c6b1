// Where messages end (RFC 9112 §6), and whether their connection goes on.

import HTTPMessage
import HTTPWire
import Testing

@Suite struct FramingTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let section: String
    let fields: String
    let expected: BodyFraming
    var start = "POST http://a/ HTTP/1.1"
    var testDescription: String { "\(section): \(start) \(fields.debugDescription)" }
  }

  static let requests: [Case] = [
    Case(section: "RFC 9112 §6.3 (7)", fields: "", expected: .none),
    Case(section: "RFC 9112 §6.3 (6)", fields: "Content-Length: 5\r\n", expected: .length(5)),
    Case(section: "RFC 9112 §6.3 (6)", fields: "Content-Length: 0\r\n", expected: .length(0)),
    Case(section: "RFC 9110 §8.6", fields: "Content-Length: 007\r\n", expected: .length(7)),
    Case(section: "RFC 9110 §8.6", fields: "Content-Length: 9223372036854775807\r\n", expected: .length(.max / 2)),
    Case(section: "RFC 9110 §8.6", fields: "Content-Length: 5\r\ncontent-length: 5\r\n", expected: .length(5)),
    Case(section: "RFC 9110 §8.6", fields: "Content-Length: 5, 5\r\n", expected: .length(5)),
    Case(section: "RFC 9112 §6.3 (4)", fields: "Transfer-Encoding: chunked\r\n", expected: .chunked),
    Case(section: "RFC 9112 §7", fields: "transfer-encoding:\t ChunkeD \r\n", expected: .chunked),
    Case(section: "RFC 9110 §9.3.6", fields: "Content-Length: 0\r\n", expected: .none, start: "CONNECT a:443 HTTP/1.1"),
    Case(section: "RFC 9110 §9.3.6", fields: "", expected: .none, start: "CONNECT a:443 HTTP/1.1"),
    Case(section: "RFC 9112 §6.3 (6)", fields: "Content-Length: 3\r\n", expected: .length(3), start: "GET / HTTP/1.0"),
  ]

  @Test(arguments: requests)
  func requestFraming(_ test: Case) throws {
    let heads = try verifiedHeads(RequestHeadParser.self, "\(test.start)\r\nHost: a\r\n\(test.fields)\r\n")
    #expect(try BodyFraming.of(request: try #require(heads.first)) == test.expected)
  }

  static let chunked = "Transfer-Encoding: chunked\r\n"

  /// Framing that is refused in both directions. The status is what a server answers.
  static let refused = [
    Refusal("RFC 9110 §8.6", "a plus sign", "Content-Length: +5\r\n", 400, "'+'"),
    Refusal("RFC 9110 §8.6", "a minus sign", "Content-Length: -5\r\n", 400, "'-'"),
    Refusal("RFC 9110 §8.6", "hex", "Content-Length: 0x5\r\n", 400, "'x'"),
    Refusal("RFC 9110 §8.6", "a fraction", "Content-Length: 5.0\r\n", 400, "'.'"),
    Refusal("RFC 9110 §8.6", "an exponent", "Content-Length: 5e1\r\n", 400, "'e'"),
    Refusal("RFC 9110 §8.6", "a space within", "Content-Length: 5 6\r\n", 400, "0x20"),
    Refusal("RFC 9110 §8.6", "quotes", "Content-Length: \"5\"\r\n", 400, "'\"'"),
    Refusal("RFC 9110 §8.6", "nothing", "Content-Length:\r\n", 400, "empty"),
    Refusal("RFC 9110 §8.6", "an empty member", "Content-Length: 5,\r\n", 400, "empty"),
    Refusal("RFC 9110 §8.6", "64 bits", "Content-Length: 9223372036854775808\r\n", 400, "63 bits"),
    Refusal("RFC 9110 §8.6", "65 bits", "Content-Length: 18446744073709551621\r\n", 400, "63 bits"),
    Refusal("RFC 9110 §8.6", "a digit beyond ASCII", "Content-Length: ５\r\n", 400, "0xEF"),
    Refusal("RFC 9112 §6.3 (5)", "a list that differs", "Content-Length: 5, 6\r\n", 400, "different"),
    Refusal("RFC 9112 §6.3 (5)", "lines that differ", "Content-Length: 5\r\nContent-Length: 6\r\n", 400, "different"),
    Refusal("RFC 9112 §6.3 (5)", "spelt differently", "Content-Length: 5\r\nContent-Length: 05\r\n", 400, "different"),
    Refusal("RFC 9112 §6.3 (3)", "both fields", "Content-Length: 5\r\n" + chunked, 400, "both"),
    Refusal("RFC 9112 §6.3 (3)", "both fields, length 0", chunked + "Content-Length: 0\r\n", 400, "both"),
    Refusal(
      "RFC 9112 §6.3 (3)", "both, and an unknown coding", "Transfer-Encoding: x\r\nContent-Length: 5\r\n", 400, "both"),
    Refusal("RFC 9112 §6.3 (4)", "chunked not last", "Transfer-Encoding: chunked, gzip\r\n", 400, "before its end"),
    Refusal(
      "RFC 9112 §6.3 (4)", "chunked, identity", "Transfer-Encoding: chunked, identity\r\n", 400, "before its end"),
    Refusal("RFC 9112 §7.1", "chunked twice", "Transfer-Encoding: chunked, chunked\r\n", 400, "before its end"),
    Refusal("RFC 9112 §7.1", "chunked in two lines", chunked + chunked, 400, "before its end"),
    Refusal("RFC 9112 §6.1", "an unknown coding", "Transfer-Encoding: xchunked\r\n", 501, "'xchunked'"),
    Refusal("RFC 9112 §6.1", "gzip, chunked", "Transfer-Encoding: gzip, chunked\r\n", 501, "'gzip'"),
    Refusal("RFC 9112 §6.1", "gzip alone", "Transfer-Encoding: gzip\r\n", 501, "'gzip'"),
    Refusal("RFC 9112 §6.1", "identity", "Transfer-Encoding: identity\r\n", 501, "'identity'"),
    Refusal("RFC 9112 §6.1", "a parameter", "Transfer-Encoding: chunked;a=b\r\n", 501, "'chunked;a=b'"),
    Refusal("RFC 9112 §6.1", "quotes", "Transfer-Encoding: \"chunked\"\r\n", 501, "chunked"),
    Refusal("RFC 9112 §6.1", "a word behind it", "Transfer-Encoding: chunked x\r\n", 501, "chunked?x"),
    Refusal("RFC 9112 §6.1", "an empty member before", "Transfer-Encoding: , chunked\r\n", 400, "empty members"),
    Refusal("RFC 9112 §6.1", "an empty member behind", "Transfer-Encoding: chunked,\r\n", 400, "empty members"),
    Refusal("RFC 9112 §6.1", "nothing", "Transfer-Encoding:\r\n", 400, "empty members"),
    Refusal("RFC 9112 §6.1", "an empty line beside", "Transfer-Encoding:\r\n" + chunked, 400, "empty members"),
    Refusal("RFC 9112 §6.1", "a non-breaking space", "Transfer-Encoding: \u{A0}chunked\r\n", 501, "chunked"),
  ]

  @Test(arguments: refused)
  func requestIsRefused(_ refusal: Refusal) throws {
    let text = "POST http://a/ HTTP/1.1\r\nHost: a\r\n\(String(decoding: refusal.input, as: UTF8.self))\r\n"
    let head = try #require(try verifiedHeads(RequestHeadParser.self, text).first)
    refusal.check(#expect(throws: WireError.self) { try BodyFraming.of(request: head) })
  }

  @Test(arguments: refused)
  func responseIsRefused(_ refusal: Refusal) throws {
    let text = "HTTP/1.1 200 OK\r\n\(String(decoding: refusal.input, as: UTF8.self))\r\n"
    let head = try #require(try verifiedHeads(ResponseHeadParser.self, text).first)
    refusal.check(#expect(throws: WireError.self) { try BodyFraming.of(response: head, to: .get) })
    #expect(try BodyFraming.of(response: head, to: .head) == .none)
  }

  static let refusedByStart = [
    Refusal("RFC 9112 §6.1", "chunked in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\n\(chunked)\r\n", 400, "HTTP/1.0"),
    Refusal(
      "RFC 9110 §9.3.6", "CONNECT with content", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", 400,
      "CONNECT"),
    Refusal("RFC 9110 §9.3.6", "CONNECT, chunked", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\(chunked)\r\n", 400, "CONNECT"),
  ]

  @Test(arguments: refusedByStart)
  func startAndFramingConflict(_ refusal: Refusal) throws {
    let head = try #require(try verifiedHeads(RequestHeadParser.self, refusal.input).first)
    refusal.check(#expect(throws: WireError.self) { try BodyFraming.of(request: head) })
  }

  struct Response: Sendable, CustomTestStringConvertible {
    let section: String
    let method: Method
    let start: String
    let fields: String
    let expected: BodyFraming
    var testDescription: String { "\(section): \(method) → \(start) \(fields.debugDescription)" }
  }

  static let responses: [Response] = [
    Response(section: "RFC 9112 §6.3 (8)", method: .get, start: "HTTP/1.1 200 OK", fields: "", expected: .untilClose),
    Response(section: "RFC 9112 §6.3 (8)", method: .get, start: "HTTP/1.0 200 OK", fields: "", expected: .untilClose),
    Response(
      section: "RFC 9112 §6.3 (6)", method: .get, start: "HTTP/1.0 200 OK", fields: "Content-Length: 7\r\n",
      expected: .length(7)),
    Response(section: "RFC 9112 §6.3 (4)", method: .get, start: "HTTP/1.1 200 OK", fields: chunked, expected: .chunked),
    Response(section: "RFC 9112 §6.3 (1)", method: .head, start: "HTTP/1.1 200 OK", fields: chunked, expected: .none),
    Response(
      section: "RFC 9112 §6.3 (1)", method: .head, start: "HTTP/1.1 200 OK", fields: "Content-Length: 7\r\n",
      expected: .none),
    Response(
      section: "RFC 9112 §6.3 (1)", method: .get, start: "HTTP/1.1 204 No Content", fields: "Content-Length: 7\r\n",
      expected: .none),
    Response(
      section: "RFC 9112 §6.3 (1)", method: .get, start: "HTTP/1.1 304 Not Modified", fields: "Content-Length: 7\r\n",
      expected: .none),
    Response(
      section: "RFC 9112 §6.3 (1)", method: .get, start: "HTTP/1.1 304 Not Modified", fields: chunked, expected: .none),
    Response(section: "RFC 9112 §6.3 (1)", method: .get, start: "HTTP/1.1 100 Continue", fields: "", expected: .none),
    Response(
      section: "RFC 9112 §6.3 (1)", method: .get, start: "HTTP/1.1 103 Early Hints", fields: chunked, expected: .none),
    Response(
      section: "RFC 9112 §6.3 (2)", method: .connect, start: "HTTP/1.1 200 OK", fields: "Content-Length: 7\r\n",
      expected: .none),
    Response(
      section: "RFC 9112 §6.3 (2)", method: .connect, start: "HTTP/1.1 299 Yes", fields: chunked, expected: .none),
    Response(
      section: "RFC 9112 §6.3 (2)", method: .connect, start: "HTTP/1.1 403 Forbidden", fields: "Content-Length: 7\r\n",
      expected: .length(7)),
    Response(
      section: "RFC 9110 §15.3.6", method: .get, start: "HTTP/1.1 205 Reset Content", fields: "Content-Length: 0\r\n",
      expected: .length(0)),
  ]

  @Test(arguments: responses)
  func responseFraming(_ test: Response) throws {
    let heads = try verifiedHeads(ResponseHeadParser.self, "\(test.start)\r\n\(test.fields)\r\n")
    #expect(try BodyFraming.of(response: try #require(heads.first), to: test.method) == test.expected)
  }

  @Test(
    "RFC 9112 §6.3 (1): what follows a response without content is in doubt where it announces some",
    arguments: [
      ("HTTP/1.1 204 No Content", "", true), ("HTTP/1.1 204 No Content", "Content-Length: 0\r\n", true),
      ("HTTP/1.1 204 No Content", "Content-Length: 1\r\n", false), ("HTTP/1.1 204 No Content", chunked, false),
      ("HTTP/1.1 103 Early Hints", chunked, false), ("HTTP/1.1 103 Early Hints", "Content-Length: 9\r\n", false),
      ("HTTP/1.1 100 Continue", "", true), ("HTTP/1.1 304 Not Modified", "Content-Length: 9\r\n", true),
      ("HTTP/1.1 304 Not Modified", "Content-Length: 9\r\n" + chunked, false),
      ("HTTP/1.1 304 Not Modified", chunked, true),
    ])
  func certainty(_ start: String, _ fields: String, _ expected: Bool) throws {
    let head = try #require(try verifiedHeads(ResponseHeadParser.self, "\(start)\r\n\(fields)\r\n").first)
    #expect(BodyFraming.isCertain(head) == expected)
  }

  @Test("RFC 9110 §8.6: leading zeros of a length go no further", arguments: ["007", "7, 007", "0"])
  func leadingZeros(_ value: String) throws {
    let text = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(value)\r\n\r\n"
    let head = try #require(try verifiedHeads(RequestHeadParser.self, text).first)
    switch value {
    case "007": #expect(head.fields.first(.contentLength) == "7")
    case "0": #expect(head.fields.first(.contentLength) == "0")
    default: #expect(throws: WireError.self) { try BodyFraming.of(request: head) }
    }
  }

  @Test("RFC 9112 §6.1: Transfer-Encoding in an HTTP/1.0 response is faulty framing") func chunkedInHTTP10() throws {
    let head = try #require(
      try verifiedHeads(ResponseHeadParser.self, "HTTP/1.0 200 OK\r\n\(FramingTests.chunked)\r\n").first)
    #expect(throws: WireError.conflictingFraming("Transfer-Encoding in an HTTP/1.0 message")) {
      try BodyFraming.of(response: head, to: .get)
    }
  }

  struct Persistence: Sendable {
    let version: HTTPVersion
    let connection: String?
    let ofResponse: Bool
    let ofRequest: Bool
  }

  @Test(
    "RFC 9112 §9.3: persistence",
    arguments: [
      Persistence(version: .http11, connection: nil, ofResponse: true, ofRequest: true),
      Persistence(version: .http11, connection: "close", ofResponse: false, ofRequest: false),
      Persistence(version: .http11, connection: "x, CLOSE", ofResponse: false, ofRequest: false),
      Persistence(version: .http11, connection: "keep-alive", ofResponse: true, ofRequest: true),
      Persistence(version: .http11, connection: "keep-alive, close", ofResponse: false, ofRequest: false),
      Persistence(version: .http11, connection: "closed", ofResponse: true, ofRequest: true),
      Persistence(version: .http10, connection: nil, ofResponse: false, ofRequest: false),
      Persistence(version: .http10, connection: "Keep-Alive", ofResponse: true, ofRequest: false),
      Persistence(version: .http10, connection: "keep-alive, close", ofResponse: false, ofRequest: false),
      Persistence(version: .http10, connection: "upgrade", ofResponse: false, ofRequest: false),
    ])
  func persistence(_ test: Persistence) {
    var fields = Fields()
    if let connection = test.connection.flatMap({ FieldValue($0) }) { fields.append(.connection, connection) }
    #expect(keepsConnectionOpen(test.version, fields) == test.ofResponse)
    #expect(ResponseHead(version: test.version, status: 200, fields: fields).keepsConnectionOpen == test.ofResponse)
    let request = RequestHead(method: .get, target: .origin("/"), version: test.version, fields: fields)
    #expect(request.keepsConnectionOpen == test.ofRequest)
  }
}
