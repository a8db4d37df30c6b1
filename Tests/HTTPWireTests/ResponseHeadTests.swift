// Status lines and response heads (RFC 9112 §4).

import HTTPMessage
import HTTPWire
import Testing

@Suite struct ResponseHeadTests {
  struct Accepted: Sendable, CustomTestStringConvertible {
    let line: String
    let version: HTTPVersion
    let status: Int
    let reason: String
    var testDescription: String { line }
  }

  @Test(
    "RFC 9112 §4: status lines",
    arguments: [
      Accepted(line: "HTTP/1.1 200 OK", version: .http11, status: 200, reason: "OK"),
      Accepted(line: "HTTP/1.0 404 Not here", version: .http10, status: 404, reason: "Not here"),
      Accepted(line: "HTTP/1.1 200 ", version: .http11, status: 200, reason: ""),
      Accepted(line: "HTTP/1.1 200", version: .http11, status: 200, reason: ""),
      Accepted(line: "HTTP/1.1 999 Go away", version: .http11, status: 999, reason: "Go away"),
      Accepted(line: "HTTP/1.1 200 a\tb", version: .http11, status: 200, reason: "a\tb"),
      Accepted(line: "HTTP/1.1 200 Ça va", version: .http11, status: 200, reason: "Ça va"),
    ])
  func isRead(_ accepted: Accepted) throws {
    let head = try #require(try verifiedHeads(ResponseHeadParser.self, accepted.line + "\r\nA: b\r\n\r\n").first)
    #expect(head.version == accepted.version)
    #expect(head.status == accepted.status)
    #expect(head.reason == accepted.reason)
    #expect(head.fields == ["a": "b"])
  }

  static let refused = [
    Refusal("RFC 9112 §4", "HTML without a head", "<html>", 400, "'<'"),
    Refusal("RFC 9112 §4", "an empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", 400, "0x0D"),
    Refusal("RFC 9112 §4", "a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", 400, "0x20 in the status"),
    Refusal("RFC 9112 §4", "a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", 400, "'0' after the status"),
    Refusal("RFC 9112 §4", "a status below 100", "HTTP/1.1 099 OK\r\n\r\n", 400, "below 100"),
    Refusal("RFC 9112 §4", "a signed status", "HTTP/1.1 +20 OK\r\n\r\n", 400, "'+'"),
    Refusal("RFC 9112 §4", "two spaces", "HTTP/1.1  200 OK\r\n\r\n", 400, "0x20 in the status"),
    Refusal("RFC 9112 §4", "a tab", "HTTP/1.1\t200 OK\r\n\r\n", 400, "HTTP/1.1"),
    Refusal("RFC 9112 §4", "no status", "HTTP/1.1\r\n\r\n", 400, "HTTP/1.1"),
    Refusal("RFC 9112 §4", "an ICY answer of other case", "Http/1.1 200 OK\r\n\r\n", 400, "Http/1.1"),
    Refusal("RFC 9112 §4", "NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n", 400, "0x00"),
    Refusal("RFC 9112 §4", "bare CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n", 400, "0x0D"),
    Refusal("RFC 9112 §2.2", "bare LF", "HTTP/1.1 200 OK\nA: b\r\n\r\n", 400, "line feed"),
    Refusal("RFC 9112 §2.3", "HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", 505, "HTTP/2.0"),
    Refusal("RFC 9112 §2.3", "HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n", 505, "HTTP/1.2"),
    Refusal(
      "RFC 9112 §5.1", "a space before a length's colon", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n", 400,
      "whitespace"),
    Refusal(
      "RFC 9112 §5.1", "a tab before a coding's colon", "HTTP/1.1 200 OK\r\ntransfer-encoding\t: x\r\n\r\n", 400,
      "whitespace"),
    Refusal("RFC 9112 §5.2", "a folded line", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", 400, "folded"),
    Refusal("RFC 9110 §5.5", "NUL in a value", "HTTP/1.1 200 OK\r\nA: b\0\r\n\r\n", 400, "0x00"),
    Refusal("RFC 9110 §5.1", "a space in a name", "HTTP/1.1 200 OK\r\nA B: c\r\n\r\n", 400, "whitespace"),
    Refusal("RFC 9112 §5", "no colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", 400, "no colon"),
  ]

  @Test(arguments: refused)
  func isRefused(_ refusal: Refusal) {
    let result = outcome { () throws(WireError) in try verifiedHeads(ResponseHeadParser.self, refusal.input) }
    switch result {
    case .success(let heads): Issue.record("accepted: \(heads)")
    case .failure(let error): refusal.check(error)
    }
  }

  @Test("RFC 9112 §5.1: a proxy removes whitespace before a colon of a response") func blankBeforeColon() throws {
    let heads = try verifiedHeads(ResponseHeadParser.self, "HTTP/1.1 200 OK\r\nA : b\r\nC \t:d\r\nE: f\r\n\r\n")
    #expect(heads.first?.fields == ["A": "b", "C": "d", "E": "f"])
  }

  @Test("RFC 9110 §15.2: interim responses are heads of their own, in order") func interim() throws {
    let heads = try verifiedHeads(
      ResponseHeadParser.self,
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
    #expect(heads.map(\.status) == [100, 103, 200])
    #expect(heads.map(\.isInterim) == [true, true, false])
  }

  @Test("Limits hold for responses too") func limits() {
    let limits = HeadLimits(headBytes: 64, fieldCount: 2, targetBytes: 8, lineBytes: 64)
    #expect(throws: WireError.tooManyFields(limit: 2)) {
      try verifiedHeads(ResponseHeadParser.self, "HTTP/1.1 200 OK\r\nA:\r\nB:\r\nC:\r\n\r\n", limits: limits)
    }
    #expect(throws: WireError.headTooLarge(limit: 64)) {
      try verifiedHeads(
        ResponseHeadParser.self, "HTTP/1.1 200 \(String(repeating: "O", count: 64))\r\n\r\n", limits: limits)
    }
  }
}
