// Bodies in every framing (RFC 9112 §6, §7.1).

import HTTPMessage
import HTTPWire
import Testing

@Suite struct BodyTests {
  struct Chunked: Sendable, CustomTestStringConvertible {
    let section: String
    let input: String
    let content: String
    var trailers = Fields()
    var testDescription: String { "\(section): \(input.debugDescription)" }
  }

  static let accepted: [Chunked] = [
    Chunked(section: "RFC 9112 §7.1", input: "0\r\n\r\n", content: ""),
    Chunked(section: "RFC 9112 §7.1", input: "3\r\nabc\r\n0\r\n\r\n", content: "abc"),
    Chunked(section: "RFC 9112 §7.1", input: "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", content: "abcde"),
    Chunked(section: "RFC 9112 §7.1", input: "A\r\n0123456789\r\n0\r\n\r\n", content: "0123456789"),
    Chunked(section: "RFC 9112 §7.1", input: "a\r\n0123456789\r\n0\r\n\r\n", content: "0123456789"),
    Chunked(section: "RFC 9112 §7.1", input: "0003\r\nabc\r\n000\r\n\r\n", content: "abc"),
    Chunked(section: "RFC 9112 §7.1", input: "0000000000000003\r\nabc\r\n0\r\n\r\n", content: "abc"),
    Chunked(section: "RFC 9112 §7.1", input: "4\r\n\r\n\r\n\r\n0\r\n\r\n", content: "\r\n\r\n"),
    Chunked(section: "RFC 9112 §7.1.1", input: "3;a\r\nabc\r\n0;b=c\r\n\r\n", content: "abc"),
    Chunked(section: "RFC 9110 §5.6.3", input: "3 \t;a \t;b\r\nabc\r\n0 ;c\r\n\r\n", content: "abc"),
    Chunked(section: "RFC 9112 §7.1.1", input: "3; a = \"x;\\\"y\" ;b\r\nabc\r\n0\r\n\r\n", content: "abc"),
    Chunked(
      section: "RFC 9112 §7.1.2", input: "0\r\nA: b\r\nC: d\r\n\r\n", content: "", trailers: ["A": "b", "C": "d"]),
    Chunked(
      section: "RFC 9110 §6.5.1",
      input: "0\r\nContent-Length: 5\r\nHost: x\r\nTransfer-Encoding: x\r\nTrailer: x\r\nA: b\r\n\r\n", content: "",
      trailers: ["A": "b"]),
    Chunked(
      section: "RFC 9110 §7.6.1", input: "0\r\nConnection: C\r\nC: d\r\nA: b\r\n\r\n", content: "", trailers: ["A": "b"]
    ),
  ]

  @Test(arguments: accepted)
  func chunkedIsRead(_ test: Chunked) {
    let body = verifiedBody(.chunked, test.input)
    #expect(body.error == nil)
    #expect(body.isComplete)
    #expect(body.left == 0)
    #expect(String(decoding: body.content, as: UTF8.self) == test.content)
    #expect(body.trailers == test.trailers)
  }

  static let refused = [
    Refusal("RFC 9112 §7.1", "no size", "\r\nabc", 400, "without a size"),
    Refusal("RFC 9112 §7.1", "a plus sign", "+3\r\nabc\r\n", 400, "'+'"),
    Refusal("RFC 9112 §7.1", "a minus sign", "-3\r\nabc\r\n", 400, "'-'"),
    Refusal("RFC 9112 §7.1", "0x", "0x3\r\nabc\r\n", 400, "'x'"),
    Refusal("RFC 9112 §7.1", "an underscore", "1_0\r\nabc\r\n", 400, "'_'"),
    Refusal("RFC 9112 §7.1", "no hex digit", "g\r\nabc\r\n", 400, "'g'"),
    Refusal("RFC 9112 §7.1", "whitespace before the size", " 3\r\nabc\r\n", 400, "0x20"),
    Refusal("RFC 9112 §7.1", "whitespace after the size", "3 \r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1", "a tab after the size", "3\t\r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1.1", "whitespace and no semicolon", "3 a\r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1", "NUL after the size", "3\0\r\nabc\r\n", 400, "0x00"),
    Refusal("RFC 9112 §7.1", "64 bits", "8000000000000000\r\n", 400, "63 bits"),
    Refusal("RFC 9112 §7.1", "64 bits and one", "10000000000000003\r\nabc\r\n", 400, "bits"),
    Refusal("RFC 9112 §7.1", "17 digits", "00000000000000003\r\nabc\r\n", 400, "16 digits"),
    Refusal("RFC 9112 §7.1", "bare LF after the size", "3\nabc\r\n0\r\n\r\n", 400, "line feed"),
    Refusal("RFC 9112 §7.1", "bare CR after the size", "3\rabc\r\n0\r\n\r\n", 400, "0x0D"),
    Refusal("RFC 9112 §7.1", "no CRLF after the data", "3\r\nabcd\r\n", 400, "'d'"),
    Refusal("RFC 9112 §7.1", "bare LF after the data", "3\r\nabc\n0\r\n\r\n", 400, "0x0A"),
    Refusal("RFC 9112 §7.1", "CR and no LF after the data", "3\r\nabc\r0\r\n\r\n", 400, "'0'"),
    Refusal("RFC 9112 §7.1", "data beyond the size", "2\r\nabc\r\n0\r\n\r\n", 400, "'c'"),
    Refusal("RFC 9112 §7.1.1", "an empty extension", "3;\r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1.1", "a bare CR in an extension", "3;a\rb\r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1.1", "a bare LF in an extension", "3;a\nb\r\nabc\r\n", 400, "line feed"),
    Refusal("RFC 9112 §7.1.1", "an extension without a value", "3;a=\r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1.1", "an open quoted string", "3;a=\"b\r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1.1", "text behind a quoted string", "3;a=\"b\"c\r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1.1", "NUL in a quoted string", "3;a=\"\0\"\r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1.1", "an escape at the end", "3;a=\"\\\r\nabc\r\n", 400, "extension"),
    Refusal("RFC 9112 §7.1.2", "a folded trailer", "0\r\nA: b\r\n c\r\n\r\n", 400, "folded"),
    Refusal("RFC 9112 §7.1.2", "a trailer without a colon", "0\r\nab\r\n\r\n", 400, "no colon"),
    Refusal("RFC 9112 §7.1.2", "a bare LF in the trailers", "0\r\nA: b\n\r\n", 400, "line feed"),
    Refusal("RFC 9112 §7.1.2", "a bare LF as the end", "0\r\n\n", 400, "line feed"),
    Refusal(
      "RFC 9112 §7.1.1", "a long extension", "3;\(String(repeating: "a", count: 40))\r\nabc\r\n", 400, "32 bytes"),
    Refusal(
      "RFC 9112 §7.1.1", "extensions that add up", String(repeating: "1;aaaaaaaaaaaaaaa\r\nx\r\n", count: 3), 400,
      "32 bytes"),
    Refusal("RFC 9112 §7.1.1", "a size line without end", String(repeating: "0", count: 80), 400, "no line end"),
    Refusal("RFC 6585 §5", "too many trailers", "0\r\nA:\r\nB:\r\nC:\r\n\r\n", 431, "2 fields"),
    Refusal("RFC 6585 §5", "large trailers", "0\r\nA: \(String(repeating: "a", count: 64))\r\n\r\n", 431, "64 bytes"),
  ]

  @Test(arguments: refused)
  func chunkedIsRefused(_ refusal: Refusal) {
    let limits = ChunkLimits(extensionBytes: 32, trailerBytes: 64, trailerCount: 2)
    refusal.check(verifiedBody(.chunked, refusal.input, limits: limits).error)
  }

  @Test("RFC 9112 §8: a chunked body cut anywhere is truncated, never complete")
  func cutAnywhere() throws {
    let whole = Array("3;a=b\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\n".utf8)
    for count in 0..<whole.count {
      var decoder = BodyDecoder(framing: .chunked)
      let part = Array(whole[..<count])
      let taken = try decoder.decode(part.span.bytes) { _ in }
      #expect(taken == count)
      #expect(!decoder.isComplete)
      #expect(throws: WireError.self) { try decoder.endOfInput() }
      #expect(!decoder.isComplete)
    }
  }

  @Test("RFC 9112 §6.3 (6): a length ends where it says") func length() throws {
    let body = verifiedBody(.length(5), "hello")
    #expect(String(decoding: body.content, as: UTF8.self) == "hello")
    #expect(body.isComplete)
    let more = verifiedBody(.length(5), "hello, next message")
    #expect(String(decoding: more.content, as: UTF8.self) == "hello")
    #expect(more.left == 14)
  }

  @Test("RFC 9112 §8: a body shorter than its length is truncated") func shortLength() throws {
    var decoder = BodyDecoder(framing: .length(5))
    _ = try decoder.decode(Array("hell".utf8).span.bytes) { _ in }
    #expect(decoder.remaining == 1)
    #expect(throws: WireError.truncated("1 bytes before the end of the body")) { try decoder.endOfInput() }
  }

  @Test("RFC 9112 §6.3 (8): a close ends only a body that ends so") func untilClose() throws {
    var decoder = BodyDecoder(framing: .untilClose)
    var content: [UInt8] = []
    let input = Array("abc".utf8)
    let taken = try decoder.decode(input.span.bytes) { piece in
      piece.withUnsafeBytes { content.append(contentsOf: $0) }
    }
    #expect(taken == 3)
    #expect(content == input)
    #expect(!decoder.isComplete)
    try decoder.endOfInput()
    #expect(decoder.isComplete)
  }

  @Test("RFC 9112 §6.3: no body takes nothing", arguments: [BodyFraming.none, .length(0)])
  func none(_ framing: BodyFraming) throws {
    var decoder = BodyDecoder(framing: framing)
    #expect(decoder.isComplete)
    #expect(try decoder.decode(Array("GET".utf8).span.bytes) { _ in Issue.record("content") } == 0)
    try decoder.endOfInput()
  }

  @Test("An error of the consumer passes through and leaves a chunked body that never looks complete")
  func consumerFails() {
    struct Full: Error {}
    var decoder = BodyDecoder(framing: .chunked)
    #expect(throws: Full.self) {
      try decoder.decode(Array("3\r\nabc\r\n0\r\n\r\n".utf8).span.bytes) { _ in throw Full() }
    }
    #expect(!decoder.isComplete)
    #expect(throws: WireError.self) { try decoder.endOfInput() }
  }

  @Test("RFC 9112 §7.1: what is written is read back", arguments: 1...30 as ClosedRange<UInt64>)
  func roundTrip(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var wire: [UInt8] = []
    var content: [UInt8] = []
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
      let size = 1 << Int.random(in: 0...9, using: &generator) + Int.random(in: 0...1, using: &generator)
      let piece = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
      wire += ChunkedCoding.chunkHeader(size) + piece + ChunkedCoding.chunkEnd
      content += piece
    }
    let trailers: Fields = seed % 2 == 0 ? [:] : ["X-Sum": "1", "X-End": ""]
    wire += ChunkedCoding.lastChunk(trailers: trailers)
    let body = verifiedBody(.chunked, wire)
    #expect(body.error == nil)
    #expect(body.isComplete)
    #expect(body.content == content)
    #expect(body.trailers == trailers)
  }

  @Test(
    "RFC 9112 §7.1: sizes are written in hex",
    arguments: [
      (1, "1"), (15, "f"), (16, "10"), (255, "ff"), (256, "100"), (65536, "10000"), (Int.max, "7fffffffffffffff"),
    ])
  func chunkHeader(_ size: Int, _ text: String) {
    #expect(String(decoding: ChunkedCoding.chunkHeader(size), as: UTF8.self) == text + "\r\n")
  }
}
