// Requests that must be refused, each with the section that says so.

import HTTPMessage
import HTTPWire
import Testing

struct Refusal: Sendable, CustomTestStringConvertible {
  let section: String
  let what: String
  let input: [UInt8]
  let status: Int
  /// A part of the explanation: it must say what was found.
  let says: String

  init(_ section: String, _ what: String, _ input: String, _ status: Int, _ says: String) {
    self.init(section, what, Array(input.utf8), status, says)
  }

  init(_ section: String, _ what: String, _ input: [UInt8], _ status: Int, _ says: String) {
    self.section = section
    self.what = what
    self.input = input
    self.status = status
    self.says = says
  }

  var testDescription: String { "\(section): \(what)" }

  /// The error is of the right kind and says what was found.
  func check(_ error: WireError?) {
    #expect(error?.status == status, "\(error?.explanation ?? "accepted")")
    #expect(error?.explanation.contains(says) == true, "\(error?.explanation ?? "accepted")")
  }
}

/// A request to the proxy with these lines between its request line and the empty line.
func request(_ lines: String, method: String = "GET", version: String = "HTTP/1.1") -> String {
  "\(method) http://a.example/ \(version)\r\nHost: a.example\r\n\(lines)\r\n"
}

@Suite struct RequestRefusalTests {
  static let requestLines = [
    Refusal("RFC 9112 §2.2", "bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400, "line feed"),
    Refusal("RFC 9112 §2.2", "bare LF alone", "\n", 400, "line feed"),
    Refusal("RFC 9112 §2.2", "bare CR in the request line", "GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", 400, "0x0D"),
    Refusal("RFC 9112 §2.2", "whitespace before the request line", " GET / HTTP/1.1\r\n\r\n", 400, "0x20"),
    Refusal("RFC 9112 §2.2", "many empty lines", String(repeating: "\r\n", count: 9), 400, "empty lines"),
    Refusal("RFC 9112 §3", "a TLS client hello", [0x16, 3, 1, 2, 0, 1], 400, "0x16"),
    Refusal("RFC 9112 §3", "a SOCKS greeting", [5, 1, 0], 400, "0x05"),
    Refusal("RFC 9112 §3", "a method alone", "GET\r\n\r\n", 400, "nothing else"),
    Refusal("RFC 9112 §3", "no version (HTTP/0.9)", "GET /\r\n\r\n", 400, "no protocol version"),
    Refusal("RFC 9112 §3", "two spaces after the method", "GET  / HTTP/1.1\r\n\r\n", 400, "more than one space"),
    Refusal("RFC 9112 §3", "two spaces before the version", "GET /  HTTP/1.1\r\n\r\n", 400, "protocol version"),
    Refusal("RFC 9112 §3", "a space behind the version", "GET / HTTP/1.1 \r\n\r\n", 400, "protocol version"),
    Refusal("RFC 9112 §3", "a space in the target", "GET /a b HTTP/1.1\r\n\r\n", 400, "protocol version"),
    Refusal("RFC 9112 §3", "a tab as separator", "GET\t/ HTTP/1.1\r\n\r\n", 400, "0x09"),
    Refusal("RFC 9112 §3", "a vertical tab as separator", "GET\u{0B}/ HTTP/1.1\r\n\r\n", 400, "0x0B"),
    Refusal("RFC 9112 §3.1", "a parenthesis in the method", "GE(T / HTTP/1.1\r\n\r\n", 400, "'('"),
    Refusal("RFC 9112 §3.1", "a byte beyond ASCII in the method", Array("GÉT / HTTP/1.1\r\n\r\n".utf8), 400, "0xC3"),
    Refusal("RFC 9112 §3", "NUL in the target", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "0x00"),
    Refusal("RFC 9112 §3", "DEL in the target", "GET /\u{7F} HTTP/1.1\r\nHost: a\r\n\r\n", 400, "0x7F"),
    Refusal("RFC 9112 §3.2", "raw UTF-8 in the target", "GET /ü HTTP/1.1\r\nHost: a\r\n\r\n", 400, "0xC3"),
    Refusal("RFC 9112 §2.3", "lower-case http", "GET / http/1.1\r\n\r\n", 400, "'http/1.1'"),
    Refusal("RFC 9112 §2.3", "two digits", "GET / HTTP/1.10\r\n\r\n", 400, "'HTTP/1.10'"),
    Refusal("RFC 9112 §2.3", "a comma", "GET / HTTP/1,1\r\n\r\n", 400, "'HTTP/1,1'"),
    Refusal("RFC 9112 §2.3", "no minor version", "GET / HTTP/1\r\n\r\n", 400, "'HTTP/1'"),
    Refusal("RFC 9112 §2.3", "another protocol", "GET / HTTQ/1.1\r\n\r\n", 400, "'HTTQ/1.1'"),
    Refusal("RFC 9110 §15.6.6", "HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, "HTTP/2.0"),
    Refusal("RFC 9110 §15.6.6", "HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/2.0"),
    Refusal("RFC 9110 §15.6.6", "HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505, "HTTP/1.2"),
    Refusal("RFC 9110 §15.6.6", "HTTP/0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505, "HTTP/0.9"),
  ]

  static let targets = [
    Refusal("RFC 9112 §3.2.4", "* with GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400, "only OPTIONS"),
    Refusal(
      "RFC 9112 §3.2.3", "authority-form with GET", "GET a.example:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "scheme"),
    Refusal("RFC 9112 §3.2", "a relative path", "GET a/b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "not an absolute URI"),
    Refusal("RFC 9112 §3.2.2", "ftp", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "'ftp'"),
    Refusal("RFC 9112 §3.2.2", "file", "GET file:///etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", 400, "'file'"),
    Refusal("RFC 9110 §4.2.1", "no host", "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n", 400, "no authority"),
    Refusal("RFC 9110 §4.2.1", "one slash", "GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n", 400, "no authority"),
    Refusal("RFC 9110 §4.2.1", "a port without a host", "GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "no host"),
    Refusal("RFC 9110 §4.2.4", "userinfo", "GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "user information"),
    Refusal(
      "RFC 9110 §4.2.4", "an empty userinfo", "GET http://@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "user information"),
    Refusal("RFC 9112 §3.2", "a fragment (absolute)", "GET http://a/#b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "fragment"),
    Refusal("RFC 9112 §3.2", "a fragment without path", "GET http://a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "fragment"),
    Refusal("RFC 9112 §3.2", "a fragment (origin)", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "fragment"),
    Refusal("RFC 3986 §3.2.3", "port 65536", "GET http://a:65536/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "65535"),
    Refusal("RFC 3986 §3.2.3", "port 0", "GET http://a:0/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "port 0"),
    Refusal(
      "RFC 3986 §3.2.3", "a signed port", "GET http://a:+80/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "'+' in the port"),
    Refusal(
      "RFC 3986 §3.2.3", "a port in hex", "GET http://a:0x50/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "'x' in the port"),
    Refusal(
      "RFC 3986 §3.2.3", "a port that overflows 64 bits",
      "GET http://a:18446744073709551696/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "65535"),
    Refusal("RFC 3986 §3.2.2", "a percent-encoded host", "GET http://%61/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "percent"),
    Refusal(
      "RFC 3986 §3.2.2", "a host beyond ASCII", "GET http://ü.example/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "A-label"),
    Refusal("RFC 3986 §3.2.2", "an open bracket", "GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "without ']'"),
    Refusal("RFC 3986 §3.2.2", "a bad IPv6 address", "GET http://[::g]/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "IPv6"),
    Refusal("RFC 6874", "an IPv6 zone", "GET http://[fe80::1%25eth0]/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "IPv6"),
    Refusal(
      "RFC 3986 §3.2.2", "text after the bracket", "GET http://[::1]a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "after"),
    Refusal("RFC 3986 §7.4", "an address in hex", "GET http://0x7f.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "address"),
    Refusal(
      "RFC 3986 §7.4", "an address in one number", "GET http://2130706433/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "address"),
    Refusal(
      "RFC 3986 §7.4", "an address in octal", "GET http://127.0.0.01/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "address"),
    Refusal(
      "RFC 9112 §3.2.3", "CONNECT without a port", "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", 400, "without a port"),
    Refusal("RFC 9112 §3.2.3", "CONNECT with an empty port", "CONNECT a: HTTP/1.1\r\nHost: a\r\n\r\n", 400, "port"),
    Refusal(
      "RFC 9112 §3.2.3", "CONNECT with a path", "CONNECT a:443/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "'/' in the port"),
    Refusal("RFC 9112 §3.2.3", "CONNECT to port 65536", "CONNECT a:65536 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "65535"),
    Refusal(
      "RFC 9112 §3.2.3", "CONNECT with an absolute URI", "CONNECT http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "port"),
    Refusal("RFC 9112 §3.2.3", "CONNECT with userinfo", "CONNECT u@a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "user"),
  ]

  static let hosts = [
    Refusal("RFC 9112 §3.2", "no Host in HTTP/1.1", "GET / HTTP/1.1\r\n\r\n", 400, "no Host"),
    Refusal("RFC 9112 §3.2", "no Host beside an absolute URI", "GET http://a/ HTTP/1.1\r\n\r\n", 400, "no Host"),
    Refusal("RFC 9112 §3.2", "two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "2 Host fields"),
    Refusal("RFC 9112 §3.2", "two equal Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n", 400, "2 Host fields"),
    Refusal(
      "RFC 9112 §3.2", "two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400, "2 Host fields"),
    Refusal("RFC 9112 §3.2", "a list in Host", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400, "','"),
    Refusal("RFC 9112 §3.2", "a path in Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "'/'"),
    Refusal("RFC 9112 §3.2", "userinfo in Host", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400, "user information"),
    Refusal("RFC 9112 §3.2", "a bad port in Host", "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400, "'b' in the port"),
    Refusal("RFC 9112 §3.2", "a space in Host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "0x20"),
    Refusal(
      "RFC 9112 §3.2", "a bad Host beside an absolute URI", "GET http://a/ HTTP/1.1\r\nHost: %61\r\n\r\n", 400,
      "percent"),
    Refusal("RFC 9112 §3.2", "an empty label in Host", "GET / HTTP/1.1\r\nHost: a..b\r\n\r\n", 400, "empty label"),
  ]

  static let fields = [
    Refusal("RFC 9112 §5.1", "a space before the colon", request("X : y\r\n"), 400, "whitespace between"),
    Refusal("RFC 9112 §5.1", "a tab before the colon", request("X\t: y\r\n"), 400, "whitespace between"),
    Refusal("RFC 9112 §5.2", "a folded line", request("X: y\r\n z\r\n"), 400, "folded"),
    Refusal("RFC 9112 §5.2", "a line folded with a tab", request("X: y\r\n\tz\r\n"), 400, "folded"),
    Refusal("RFC 9112 §2.2", "whitespace before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, "folded"),
    Refusal("RFC 9112 §5.2", "a line of blanks", request("  \r\n"), 400, "folded"),
    Refusal("RFC 9112 §5", "no colon", request("Xy\r\n"), 400, "no colon"),
    Refusal("RFC 9112 §5", "no name", request(": y\r\n"), 400, "no name"),
    Refusal("RFC 9110 §5.1", "a parenthesis in a name", request("X(: y\r\n"), 400, "'(' in a field name"),
    Refusal("RFC 9110 §5.1", "NUL in a name", request("X\0Y: y\r\n"), 400, "0x00 in a field name"),
    Refusal("RFC 9110 §5.1", "a byte beyond ASCII in a name", request("Xü: y\r\n"), 400, "0xC3 in a field name"),
    Refusal("RFC 9110 §5.1", "quotes around a name", request("\"X\": y\r\n"), 400, "'\"' in a field name"),
    Refusal("RFC 9110 §5.5", "NUL in a value", request("X: a\0b\r\n"), 400, "0x00 in a field value"),
    Refusal("RFC 9110 §5.5", "bare CR in a value", request("X: a\rY: b\r\n"), 400, "0x0D in a field value"),
    Refusal("RFC 9110 §5.5", "CR CR LF", request("X: a\r\r\n"), 400, "0x0D in a field value"),
    Refusal("RFC 9112 §2.2", "bare LF in a value", request("X: a\nY: b\r\n"), 400, "line feed"),
    Refusal("RFC 9112 §2.2", "bare LF as the empty line", request("X: a\r\n\nrest"), 400, "line feed"),
    Refusal("RFC 9110 §5.5", "DEL in a value", request("X: a\u{7F}\r\n"), 400, "0x7F in a field value"),
    Refusal("RFC 9110 §5.5", "backspace in a value", request("X: abcdefghijkl\u{8}mnopqrstuvwxyz\r\n"), 400, "0x08"),
    Refusal("RFC 9110 §5.5", "escape in a value", request("X: \u{1B}[2J\r\n"), 400, "0x1B"),
    Refusal("RFC 9110 §5.5", "a form feed before the value", request("X:\u{0C}a\r\n"), 400, "0x0C"),
  ]

  @Test(arguments: requestLines + targets + hosts + fields)
  func isRefused(_ refusal: Refusal) {
    let result = outcome { () throws(WireError) in try verifiedHeads(RequestHeadParser.self, refusal.input) }
    switch result {
    case .success(let heads): Issue.record("accepted: \(heads)")
    case .failure(let error): refusal.check(error)
    }
  }

  static let small = HeadLimits(headBytes: 256, fieldCount: 4, targetBytes: 64, lineBytes: 256)

  static let tooLarge = [
    Refusal("RFC 9110 §15.5.15", "a long target", "GET /\(String(repeating: "a", count: 64)) HTTP/1.1\r\n", 414, "64"),
    Refusal("RFC 9110 §15.5.15", "a request line without end", "GET /" + String(repeating: "a", count: 300), 414, "64"),
    Refusal(
      "RFC 6585 §5", "too many fields", "GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n", 431, "4 fields"),
    Refusal(
      "RFC 6585 §5", "a large field", "GET / HTTP/1.1\r\nHost: a\r\nA: \(String(repeating: "a", count: 256))\r\n\r\n",
      431,
      "256 bytes"),
    Refusal(
      "RFC 6585 §5", "a field without end", "GET / HTTP/1.1\r\nHost: a\r\nA: \(String(repeating: "a", count: 256))",
      431,
      "256 bytes"),
  ]

  @Test("RFC 6585 §5: a line beyond its limit is refused where the head is within its own") func lineTooLong() throws {
    let limits = HeadLimits(headBytes: 256, fieldCount: 9, targetBytes: 32, lineBytes: 64)
    let head = "GET / HTTP/1.1\r\nHost: a\r\nA: "
    let value = String(repeating: "b", count: 59)
    #expect(try verifiedHeads(RequestHeadParser.self, head + value + "\r\n\r\n", limits: limits).count == 1)
    #expect(throws: WireError.lineTooLong(limit: 64)) {
      try verifiedHeads(RequestHeadParser.self, head + value + "b\r\n\r\n", limits: limits)
    }
    #expect(throws: WireError.lineTooLong(limit: 64)) {
      try verifiedHeads(RequestHeadParser.self, head + value + "bbb", limits: limits)
    }
    #expect(throws: WireError.targetTooLong(limit: 32)) {
      try verifiedHeads(RequestHeadParser.self, "GET /" + value + " HTTP/1.1\r\n", limits: limits)
    }
    #expect(WireError.lineTooLong(limit: 64).limit == .lineBytes)
  }

  @Test(arguments: tooLarge)
  func isTooLarge(_ refusal: Refusal) {
    let result = outcome { () throws(WireError) in
      try verifiedHeads(RequestHeadParser.self, refusal.input, limits: RequestRefusalTests.small)
    }
    switch result {
    case .success(let heads): Issue.record("accepted: \(heads)")
    case .failure(let error): refusal.check(error)
    }
  }

  @Test("A head of exactly the limits passes, one octet more does not") func exactlyAtTheLimits() throws {
    let target = "/" + String(repeating: "a", count: 63)
    let before = "GET \(target) HTTP/1.1\r\nHost: a\r\nA: b\r\nC: d\r\nE: "
    let value = String(repeating: "e", count: 256 - before.utf8.count - 4)
    let limits = RequestRefusalTests.small
    #expect(try verifiedHeads(RequestHeadParser.self, before + value + "\r\n\r\n", limits: limits).count == 1)
    #expect(throws: WireError.headTooLarge(limit: 256)) {
      try verifiedHeads(RequestHeadParser.self, before + value + "e\r\n\r\n", limits: limits)
    }
  }
}
