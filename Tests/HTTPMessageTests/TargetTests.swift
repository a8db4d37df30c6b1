// Targets, authorities, methods and heads (RFC 9110 §4.2, §7.1, §9; RFC 3986).

import HTTPMessage
import Testing

@Suite struct TargetTests {
  @Test(
    "RFC 9110 §4.2: URIs and their normal form",
    arguments: [
      ("http://a", "http://a/"), ("http://A.Example:80/B?C", "http://a.example/B?C"), ("https://a:443/", "https://a/"),
      ("https://a:80", "https://a:80/"), ("http://a:443/", "http://a:443/"), ("http://a?b", "http://a/?b"),
      ("HTTPS://a/?", "https://a/?"), ("http://[::1]/", "http://[::1]/"),
      ("http://[0:0:0:0:0:0:0:1]:8080/x", "http://[::1]:8080/x"),
      ("http://a_b.c-d/", "http://a_b.c-d/"), ("http://a./", "http://a./"), ("http://1.2.3.4:5/", "http://1.2.3.4:5/"),
      ("http://a/@:b", "http://a/@:b"), ("http://a.1a/", "http://a.1a/"), ("http://0xyz/", "http://0xyz/"),
      ("http://cafe/", "http://cafe/"),
      ("http://a/%7Eb", "http://a/%7Eb"),
    ])
  func normal(_ text: String, _ normal: String) throws {
    let target = try TargetURI.parse(text)
    #expect(target.absolute == normal)
    #expect(try TargetURI.parse(normal) == target)
    #expect(try TargetURI.parse(normal).hashValue == target.hashValue)
  }

  @Test("RFC 9112 §3.2: targets of one connection are read as if each were the first") func ofOneConnection() {
    let texts = [
      "http://a/b", "http://a/b", "http://a/c?d", "http://a", "http://a", "http://a/", "http://a/", "http://a?e",
      "http://a.b/", "http://a:80/x", "http://a/x",
      "http://a:81/x", "http://a:81/y", "http://a:8/y", "HTTP://A/x", "http://a/y", "https://a/y", "http://a/#f",
      "http://a/ g", "http://a/h", "/i", "*", "http://u@a/", "http://a/j", "http://[::1]/k", "http://[::1]/l",
      "ftp://a/m",
    ]
    var parser = TargetParser()
    for text in texts {
      let bytes = Array(text.utf8)
      let together = Result { () throws(TargetError) in try parser.parse(bytes.span.bytes, method: .get) }
      let alone = Result { () throws(TargetError) in try RequestTarget.parse(bytes.span.bytes, method: .get) }
      #expect(together == alone, "\(text)")
      if case (.success(.absolute(let one)), .success(.absolute(let other))) = (together, alone) {
        #expect(one.isPathEmpty == other.isPathEmpty, "\(text)")
        #expect(one.absolute == other.absolute, "\(text)")
        #expect(one.authority == other.authority, "\(text)")
      }
    }
  }

  @Test(
    "RFC 9110 §4.2: what is no http(s) URI",
    arguments: [
      ("", .wrongForm("not an absolute URI")), ("/a", .wrongForm("not an absolute URI")),
      ("ftp://a/", .unsupportedScheme("ftp")),
      ("http:", .noAuthority), ("http:/", .noAuthority), ("http://", .noAuthority), ("http:///", .noAuthority),
      ("http://u@a/", .userinfo), ("http://a/#f", .fragment), ("http://a/ b", .badByte(0x20)),
      ("http://a/\r\n", .badByte(13)),
      ("http://a/\u{7F}", .badByte(0x7F)), ("http://a/é", .badByte(0xC3)),
      ("http://a:1:2/", .badPort("':' in the port")),
      ("http://a:99999/", .badPort("a port above 65535")), ("1http://a/", .wrongForm("not an absolute URI")),
    ] as [(String, TargetError)])
  func bad(_ text: String, _ error: TargetError) {
    #expect(throws: error) { try TargetURI.parse(text) }
    #expect(!error.explanation.isEmpty)
  }

  @Test(
    "RFC 3986 §3.2.2: hosts that are refused",
    arguments: [
      "", ".", "a..b", ".a", "a b", "a%20b", "a/b", "a\\b", "ä", "a,b", "a'b", "a!b", "*", "[]", "[:]", "[:::]",
      "[1::2::3]",
      "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7:8::]", "[12345::]", "[::1.2.3]", "[::1.2.3.256]",
      "[::1.2.3.04]",
      "[::1.2.3.4:5]", "[v1.x]", "[fe80::1%eth0]", "[1.2.3.4]", "[::1", "::1", "1", "256.1.1.1", "1.2.3", "1.2.3.4.",
      "1.2.3.4.5",
      "01.2.3.4", "0x1.2.3.4", "a.0x1f", "0x", "1.2.3.0x4", "a.1", "a\0b", "a\u{7F}",
    ])
  func badHosts(_ text: String) { #expect(throws: TargetError.self) { try Authority.parse(text) } }

  @Test(
    "RFC 5952 §4: one form for each IPv6 address",
    arguments: [
      ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("0:0:0:0:0:0:0:0", "::"), ("2001:DB8::0001", "2001:db8::1"),
      ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
      ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("::ffff:1.2.3.4", "::ffff:102:304"),
      ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
      ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
    ])
  func addresses(_ text: String, _ canonical: String) throws {
    #expect(try Authority.parse("[\(text)]").host == canonical)
    #expect(try Authority.parse("[\(canonical)]").host == canonical)
  }

  @Test("A host name may have 255 octets and no more") func longHost() throws {
    let label = String(repeating: "a", count: 255)
    #expect(try Authority.parse(label).host == label)
    #expect(throws: TargetError.self) { try Authority.parse(label + "a") }
  }

  @Test("RFC 9110 §7.2: the authority of a target") func authority() throws {
    let target = try TargetURI.parse("https://[::1]/")
    #expect(target.authority == "[::1]")
    #expect(try TargetURI.parse("http://a:81").authority == "a:81")
  }

  /// The normal examples of RFC 3986 §5.4.1 that stay http, and the abnormal ones of §5.4.2.
  @Test(
    "RFC 3986 §5.4: references are resolved",
    arguments: [
      ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
      ("//g", "http://g/"),
      ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
      ("g#s", "http://a/b/c/g"),
      (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
      ("..", "http://a/b/"),
      ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
      ("/./g", "http://a/g"),
      ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
      ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g?y/../x", "http://a/b/c/g?y/../x"),
      ("https://x/y", "https://x/y"),
      ("g:h", nil), ("ftp://a/", nil), ("/a b", nil), ("//u@g", nil),
    ] as [(String, String?)])
  func resolving(_ reference: String, _ expected: String?) throws {
    #expect(try TargetURI.parse("http://a/b/c/d;p?q").resolving(reference)?.absolute == expected)
  }

  @Test(
    "RFC 9112 §3.2: targets are written as they are read",
    arguments: [("GET", "/a?b"), ("GET", "http://a/"), ("CONNECT", "[::1]:443"), ("CONNECT", "a:80"), ("OPTIONS", "*")])
  func requestTargets(_ method: String, _ text: String) throws {
    let target = try RequestTarget.parse(Array(text.utf8).span.bytes, method: try #require(Method(method)))
    #expect(target.text == text)
  }

  @Test(
    "RFC 9110 §9.2: safe and idempotent methods",
    arguments: [
      (.get, true, true), (.head, true, true), (.options, true, true), (.trace, true, true), (.put, false, true),
      (.delete, false, true), (.post, false, false), (.patch, false, false), (.connect, false, false),
    ] as [(Method, Bool, Bool)])
  func methods(_ method: Method, _ isSafe: Bool, _ isIdempotent: Bool) {
    #expect(method.isSafe == isSafe)
    #expect(method.isIdempotent == isIdempotent)
    #expect(Method(method.name) == method)
  }

  @Test("RFC 9110 §9.1: a method is a token", arguments: ["", "GE T", "GET\r\n", "GÉT", "G(T"])
  func badMethods(_ text: String) { #expect(Method(text) == nil) }

  @Test("A response gets the usual reason of its status") func reasons() {
    #expect(ResponseHead(status: 206).reason == "Partial Content")
    #expect(ResponseHead(status: 599).reason == "")
    #expect(ResponseHead(status: 200, reason: "Fine").reason == "Fine")
    #expect(ResponseHead(status: 103).isInterim)
  }
}
