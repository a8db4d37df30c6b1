// Requests that must be taken, and what is read in them.

import HTTPMessage
import HTTPWire
import Testing

@Suite struct RequestHeadTests {
  struct Accepted: Sendable, CustomTestStringConvertible {
    let section: String
    let line: String
    let target: RequestTarget
    /// Host after reading.
    let host: String?
    var fields = "Host: other.example\r\n"

    var testDescription: String { "\(section): \(line)" }
  }

  static func uri(_ host: String, _ port: UInt16 = 80, _ path: String = "/", _ scheme: Scheme = .http) -> RequestTarget
  {
    .absolute(TargetURI(scheme: scheme, host: host, port: port, pathAndQuery: path))
  }

  static let accepted: [Accepted] = [
    Accepted(section: "RFC 9112 §3.2.1", line: "GET / HTTP/1.1", target: .origin("/"), host: "other.example"),
    Accepted(section: "RFC 9112 §3.2.1", line: "GET /a?b=c HTTP/1.1", target: .origin("/a?b=c"), host: "other.example"),
    Accepted(
      section: "RFC 9112 §3.2.1", line: "GET //a/../b HTTP/1.1", target: .origin("//a/../b"), host: "other.example"),
    Accepted(
      section: "RFC 9112 §3.2.1", line: "GET /%2e%2F HTTP/1.1", target: .origin("/%2e%2F"), host: "other.example"),
    Accepted(
      section: "RFC 9112 §3.2.1", line: "GET /|{}[]^\\\" HTTP/1.1", target: .origin("/|{}[]^\\\""),
      host: "other.example"),
    Accepted(
      section: "RFC 9112 §3.2.2", line: "GET http://a.example/b HTTP/1.1", target: uri("a.example", 80, "/b"),
      host: "a.example"),
    Accepted(
      section: "RFC 9112 §3.2.2", line: "GET HTTP://A.Example/B HTTP/1.1", target: uri("a.example", 80, "/B"),
      host: "a.example"),
    Accepted(section: "RFC 9112 §3.2.2", line: "GET http://a HTTP/1.1", target: uri("a"), host: "a"),
    Accepted(section: "RFC 9112 §3.2.2", line: "GET http://a?q HTTP/1.1", target: uri("a", 80, "/?q"), host: "a"),
    Accepted(section: "RFC 9110 §4.2.1", line: "GET http://a:80/ HTTP/1.1", target: uri("a"), host: "a"),
    Accepted(section: "RFC 3986 §3.2.3", line: "GET http://a:/ HTTP/1.1", target: uri("a"), host: "a"),
    Accepted(section: "RFC 3986 §3.2.3", line: "GET http://a:8080/ HTTP/1.1", target: uri("a", 8080), host: "a:8080"),
    Accepted(
      section: "RFC 3986 §3.2.3", line: "GET http://a:00065535/ HTTP/1.1", target: uri("a", 65535), host: "a:65535"),
    Accepted(
      section: "RFC 9110 §4.2.2", line: "GET https://a/ HTTP/1.1", target: uri("a", 443, "/", .https), host: "a"),
    Accepted(
      section: "RFC 9110 §4.2.2", line: "GET https://a:80/ HTTP/1.1", target: uri("a", 80, "/", .https), host: "a:80"),
    Accepted(
      section: "RFC 3986 §3.2.2", line: "GET http://[::1]:81/ HTTP/1.1", target: uri("::1", 81), host: "[::1]:81"),
    Accepted(
      section: "RFC 5952 §4", line: "GET http://[2001:DB8:0:0::0:1]/ HTTP/1.1", target: uri("2001:db8::1"),
      host: "[2001:db8::1]"),
    Accepted(
      section: "RFC 3986 §3.2.2", line: "GET http://127.0.0.1/ HTTP/1.1", target: uri("127.0.0.1"), host: "127.0.0.1"),
    Accepted(
      section: "RFC 5890 §2.3", line: "GET http://xn--mnchen-3ya.example/ HTTP/1.1",
      target: uri("xn--mnchen-3ya.example"), host: "xn--mnchen-3ya.example"),
    Accepted(
      section: "RFC 9112 §3.2.3", line: "CONNECT a.example:443 HTTP/1.1",
      target: .authority(host: "a.example", port: 443), host: "other.example"),
    Accepted(
      section: "RFC 9112 §3.2.3", line: "CONNECT [::1]:443 HTTP/1.1", target: .authority(host: "::1", port: 443),
      host: "other.example"),
    Accepted(section: "RFC 9112 §3.2.4", line: "OPTIONS * HTTP/1.1", target: .asterisk, host: "other.example"),
    Accepted(section: "RFC 9112 §3.2", line: "GET / HTTP/1.1", target: .origin("/"), host: "", fields: "Host:\r\n"),
    Accepted(section: "RFC 9112 §3.2", line: "GET / HTTP/1.0", target: .origin("/"), host: nil, fields: ""),
    Accepted(section: "RFC 9112 §3.2.2", line: "GET http://a/ HTTP/1.0", target: uri("a"), host: "a", fields: ""),
  ]

  @Test(arguments: accepted)
  func isRead(_ accepted: Accepted) throws {
    let heads = try verifiedHeads(RequestHeadParser.self, "\(accepted.line)\r\n\(accepted.fields)\r\n")
    let head = try #require(heads.first)
    #expect(heads.count == 1)
    #expect(head.target == accepted.target)
    #expect(head.fields.first(.host)?.string == accepted.host)
    #expect(head.fields.count(of: .host) == (accepted.host == nil ? 0 : 1))
  }

  @Test("RFC 9112 §2.2: empty lines before a request line are skipped, and are no part of a head")
  func leadingEmptyLines() throws {
    let heads = try verifiedHeads(RequestHeadParser.self, "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n")
    #expect(heads.count == 1)
    var parser = RequestHeadParser()
    _ = try parser.feed(Array("\r\n".utf8).span.bytes)
    #expect(parser.isEmpty)
    _ = try parser.feed(Array("G".utf8).span.bytes)
    #expect(!parser.isEmpty)
  }

  @Test("RFC 9112 §5: names keep their spelling, values lose only the whitespace around them")
  func spellingAndWhitespace() throws {
    let heads = try verifiedHeads(
      RequestHeadParser.self, request("x-ODD_name!:\t a \t b \t\r\nEmpty:\r\nX:y\r\nObs: \u{80}é\r\n"))
    let fields = try #require(heads.first?.fields)
    #expect(fields.map(\.name.spelling) == ["Host", "x-ODD_name!", "Empty", "X", "Obs"])
    #expect(fields.map(\.value.string) == ["a.example", "a \t b", "", "y", "\u{80}é"])
  }

  @Test("RFC 9110 §9.1: a method is any token, compared with regard to case")
  func methods() throws {
    let heads = try verifiedHeads(RequestHeadParser.self, request("", method: "get") + request("", method: "M-S!"))
    #expect(heads.map(\.method.name) == ["get", "M-S!"])
    #expect(heads.first?.method != .get)
  }

  @Test("RFC 9112 §9.3.2: pipelined heads come one by one, each ending where it ends")
  func pipelined() throws {
    let one = request("A: 1\r\n")
    let two = request("B: 2\r\n", method: "HEAD")
    var parser = RequestHeadParser()
    let bytes = Array((one + two).utf8)
    let (taken, first) = try parser.feed(bytes.span.bytes)
    #expect(taken == one.utf8.count)
    #expect(first?.method == .get)
    #expect(parser.isEmpty)
    let rest = Array(bytes[taken...])
    let (all, second) = try parser.feed(rest.span.bytes)
    #expect(all == two.utf8.count)
    #expect(second?.method == .head)
    #expect(second?.fields.contains("A") == false)
  }

  @Test("RFC 9112 §2.1: heads that begin like the one before are read as if they were alone")
  func likeTheOneBefore() throws {
    let common = "Host: a.example\r\nAccept: */*\r\n"
    let sections = [
      common, common, common + "Range: bytes=0-1\r\n", common, "Host: a.example\r\n", common, common.lowercased(),
      common, "Host: a.example\r\nAccept:  */*\r\n", common, common + "Accept: */*\r\n", common,
    ]
    for (number, section) in sections.enumerated() {
      let alone = try verifiedHeads(RequestHeadParser.self, "GET http://a.example/\(number) HTTP/1.1\r\n\(section)\r\n")
      let before = sections[..<number].map { "GET http://a.example/ HTTP/1.1\r\n\($0)\r\n" }.joined()
      let after = try verifiedHeads(
        RequestHeadParser.self, before + "GET http://a.example/\(number) HTTP/1.1\r\n\(section)\r\n")
      #expect(after.last == alone.last)
    }
  }

  @Test("RFC 9112 §3.2.2: the Host of a repeated section is that of its own target")
  func hostOfARepeatedSection() throws {
    let targets = ["http://a/", "http://b/", "/", "http://a/", "http://a:81/"]
    let text = targets.map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
    let heads = try verifiedHeads(RequestHeadParser.self, text)
    #expect(heads.map { $0.fields.first(.host)?.string } == ["a", "b", "a", "a", "a:81"])
  }

  @Test("a head's limit counts a repeated section as well") func limitOfARepeatedSection() throws {
    let section = "Host: a\r\nX: \(String(repeating: "x", count: 100))\r\n\r\n"
    let limits = HeadLimits(headBytes: 160, fieldCount: 10, targetBytes: 160, lineBytes: 160)
    let short = "GET / HTTP/1.1\r\n\(section)"
    let long = "GET /\(String(repeating: "l", count: 60)) HTTP/1.1\r\n\(section)"
    #expect(try verifiedHeads(RequestHeadParser.self, short + short, limits: limits).count == 2)
    #expect(throws: WireError.headTooLarge(limit: 160)) {
      try verifiedHeads(RequestHeadParser.self, short + long, limits: limits)
    }
  }

  @Test("RFC 9112 §2.3: the version is read") func versions() throws {
    let heads = try verifiedHeads(
      RequestHeadParser.self, request("", version: "HTTP/1.0") + request("", version: "HTTP/1.1"))
    #expect(heads.map(\.version) == [.http10, .http11])
  }

  @Test("RFC 9110 §8.6: repeated equal lengths become one", arguments: ["5, 5", "5,5 , 5"])
  func mergedLength(_ value: String) throws {
    let heads = try verifiedHeads(RequestHeadParser.self, request("Content-Length: \(value)\r\nContent-Length: 5\r\n"))
    let head = try #require(heads.first)
    #expect(head.fields.all(.contentLength) == ["5"])
    #expect(try BodyFraming.of(request: head) == .length(5))
  }

  @Test("RFC 9112 §3.2.4: OPTIONS without a path is told from one with a path") func serverWideOptions() throws {
    let heads = try verifiedHeads(
      RequestHeadParser.self,
      "OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\nOPTIONS http://a/ HTTP/1.1\r\nHost: a\r\n\r\n")
    let empty = heads.map { head in
      if case .absolute(let target) = head.target { target.isPathEmpty } else { false }
    }
    #expect(empty == [true, false])
  }
}
