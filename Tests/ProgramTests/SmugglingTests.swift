// Requests that two parsers could read differently, and what a proxy must make of those that have one meaning
// (RFC 9112 §3, §5, §6, §7, §11; RFC 9110 §7.6). Each row names its section.
import TestSupport
import Testing

/// What an attacker would like to be read as a request of its own.
private let evil = "GET http://ORIGIN/evil HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"
private let chunked = "Transfer-Encoding: chunked\r\n"

@Suite struct SmugglingTests {
  /// Framing that is in doubt: refused, and what follows is never read as a request.
  @Test func requestsWhoseEndIsInDoubtAreRefused() throws {
    func row(_ section: String, _ name: String, _ lines: String, _ status: Int = 400, body: String = "") -> RequestRow {
      .lines(section, name, lines, method: "POST", body: body + evil, .refused(status))
    }
    try check([
      row("RFC 9112 §6.3", "length, then chunked", "Content-Length: 5\r\n" + chunked, body: "0\r\n\r\n"),
      row("RFC 9112 §6.3", "chunked, then length", chunked + "Content-Length: 5\r\n", body: "0\r\n\r\n"),
      row("RFC 9112 §6.3", "chunked, and length 0", chunked + "Content-Length: 0\r\n", body: "0\r\n\r\n"),
      row("RFC 9112 §6.3", "two lengths", "Content-Length: 0\r\nContent-Length: 5\r\n"),
      row("RFC 9112 §6.3", "a list of two lengths", "Content-Length: 0, 5\r\n"),
      row("RFC 9112 §6.3", "lengths 5 and 05", "Content-Length: 5\r\nContent-Length: 05\r\n"),
      row("RFC 9110 §8.6", "an empty length", "Content-Length: \r\n"),
      row("RFC 9110 §8.6", "a plus sign", "Content-Length: +5\r\n"),
      row("RFC 9110 §8.6", "a minus sign", "Content-Length: -5\r\n"),
      row("RFC 9110 §8.6", "hexadecimal", "Content-Length: 0x5\r\n"),
      row("RFC 9110 §8.6", "a space within", "Content-Length: 5 0\r\n"),
      row("RFC 9110 §8.6", "a comma behind", "Content-Length: 5,\r\n"),
      row("RFC 9110 §8.6", "an exponent", "Content-Length: 1e1\r\n"),
      row("RFC 9110 §8.6", "64 bits", "Content-Length: 9223372036854775808\r\n"),
      row("RFC 9110 §8.6", "2^64 and five", "Content-Length: 18446744073709551621\r\n"),
      row("RFC 9112 §6.1", "chunked twice", "Transfer-Encoding: chunked, chunked\r\n", body: "0\r\n\r\n"),
      row("RFC 9112 §6.1", "two lines", chunked + chunked, body: "0\r\n\r\n"),
      row("RFC 9112 §6.1", "chunked, identity", "Transfer-Encoding: chunked, identity\r\n", body: "0\r\n\r\n"),
      row("RFC 9112 §6.1", "chunked not last", "Transfer-Encoding: chunked, gzip\r\n", body: "0\r\n\r\n"),
      row("RFC 9112 §6.1", "identity", "Transfer-Encoding: identity\r\n", 501),
      row("RFC 9112 §6.1", "gzip first", "Transfer-Encoding: gzip, chunked\r\n", 501, body: "0\r\n\r\n"),
      row("RFC 9112 §6.1", "a word like it", "Transfer-Encoding: xchunked\r\n", 501, body: "0\r\n\r\n"),
      row("RFC 9112 §6.1", "quoted", "Transfer-Encoding: \"chunked\"\r\n", 501, body: "0\r\n\r\n"),
      row("RFC 9112 §6.1", "a parameter", "Transfer-Encoding: chunked;q=1\r\n", 501, body: "0\r\n\r\n"),
      row("RFC 9112 §6.1", "an empty coding", "Transfer-Encoding:\r\n", body: "0\r\n\r\n"),
      row("RFC 9112 §6.1", "an empty member", "Transfer-Encoding: ,chunked\r\n", body: "0\r\n\r\n"),
      row("RFC 9110 §5.5", "a vertical tab before it", "Transfer-Encoding: \u{0B}chunked\r\n", body: "0\r\n\r\n"),
      row("RFC 9112 §5.1", "a space before the colon", "Transfer-Encoding : chunked\r\n", body: "0\r\n\r\n"),
      row("RFC 9112 §5.1", "a tab before the colon", "Content-Length\t: 5\r\n"),
      row("RFC 9112 §5.2", "a folded value", "Transfer-Encoding:\r\n chunked\r\n", body: "0\r\n\r\n"),
      row("RFC 9112 §5.2", "a field line that begins with a space", " Content-Length: 5\r\n"),
      row("RFC 9112 §5.2", "a field line that begins with a tab", "\tTransfer-Encoding: chunked\r\n"),
      row("RFC 9112 §2.2", "a bare LF before it", "X: y\nContent-Length: 5\r\n"),
      row("RFC 9112 §2.2", "a bare CR before it", "X: y\rContent-Length: 5\r\n"),
      row("RFC 9112 §2.2", "a bare LF as its end", "Content-Length: 5\n"),
      row("RFC 9110 §5.5", "NUL in a value", "X: a\0b\r\n"),
      row("RFC 9110 §5.5", "a control in a value", "X: a\u{1}b\r\n"),
      row("RFC 9110 §5.1", "NUL in a name", "Content\0-Length: 5\r\n"),
      row("RFC 9110 §5.1", "a byte beyond ASCII in a name", "Content-Length\u{A0}: 5\r\n"),
      row("RFC 9110 §5.1", "quotes around a name", "\"Content-Length\": 5\r\n"),
      row("RFC 9110 §5.1", "a slash in a name", "Content/Length: 5\r\n"),
      row("RFC 9112 §5", "a line without a colon", "Content-Length 5\r\n"),
      row("RFC 9112 §5", "a nameless line", ": 5\r\n"),
      RequestRow(
        "RFC 9112 §6.1", "chunked in HTTP/1.0",
        "POST http://ORIGIN/ HTTP/1.0\r\nHost: ORIGIN\r\n\(chunked)\r\n0\r\n\r\n\(evil)", .refused(400)),
      RequestRow(
        "RFC 9110 §9.3.6", "CONNECT with content",
        "CONNECT ORIGIN HTTP/1.1\r\nHost: ORIGIN\r\nContent-Length: 5\r\n\r\nhello\(evil)", .refused(400)),
    ])
  }

  /// Chunked bodies that are none: the origin must not take them for complete.
  @Test func badChunksAreRefused() throws {
    func row(_ section: String, _ name: String, _ body: String, _ status: Int = 400) -> RequestRow {
      .lines(section, name, chunked, method: "POST", body: body, .refused(status))
    }
    let rows = [
      row("RFC 9112 §7.1", "a size of 64 bits", "8000000000000000\r\nabc"),
      row("RFC 9112 §7.1", "a size of 17 digits", "10000000000000003\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "0x", "0x3\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "a plus sign", "+3\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "a minus sign", "-3\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "a space before the size", " 3\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "a space behind the size", "3 \r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "no size", "\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "NUL behind the size", "3\0\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "a bare LF behind the size", "3\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "a bare CR behind the size", "3\rabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "more than the size", "3\r\nabcd\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1", "a bare LF behind the data", "3\r\nabc\n0\r\n\r\n"),
      row("RFC 9112 §7.1.1", "a bare LF in an extension", "3;a\nb\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1.1", "a bare CR in an extension", "3;a\rb\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1.1", "an extension without a name", "3;\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1.1", "an open quoted string", "3;a=\"b\r\nabc\r\n0\r\n\r\n"),
      row("RFC 9112 §7.1.2", "a folded trailer", "0\r\nA: b\r\n c\r\n\r\n"),
      row("RFC 9112 §7.1.2", "a trailer without a colon", "0\r\nGET / HTTP/1.1\r\n\r\n"),
      row("RFC 9112 §7.1.2", "a bare LF as the end", "0\r\n\n"),
    ]
    try withRig { rig in
      // The origin answers only what is complete, so a 400 tells that it was not.
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond(body: "taken for complete")
      }
      let larder = try rig.larder(["workers": "1"])
      for row in rows {
        let client = try RawClient(port: larder.port)
        try client.send(row.text.replacing("ORIGIN", with: "127.0.0.1:\(origin.port)"))
        let response = try client.response()
        #expect(response.status == 400, "\(row.section): \(row.name)")
        #expect(try client.isEnded(), "\(row.section): \(row.name)")
      }
      #expect(origin.requests.allSatisfy { $0.body.isEmpty })
    }
  }

  @Test func badTargetsAndHostsAreRefused() throws {
    func row(_ section: String, _ name: String, _ target: String, host: String = "x", _ status: Int = 400)
      -> RequestRow
    {
      RequestRow(section, name, "GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n", .refused(status))
    }
    try check([
      row("RFC 9110 §4.2.4", "user information", "http://user@ORIGIN/"),
      row("RFC 9110 §4.2.4", "user and password", "http://a:b@ORIGIN/"),
      row("RFC 9110 §4.2.4", "a second authority behind '@'", "http://example.invalid@ORIGIN/"),
      row("RFC 9112 §3.2", "a fragment", "http://ORIGIN/#a"),
      row("RFC 9112 §3.2", "a fragment without a path", "http://ORIGIN#a"),
      row("RFC 3986 §3.2.3", "port 0", "http://127.0.0.1:0/"),
      row("RFC 3986 §3.2.3", "port 65536", "http://127.0.0.1:65536/"),
      row("RFC 3986 §3.2.3", "a port beyond 64 bits", "http://127.0.0.1:18446744073709551696/"),
      row("RFC 3986 §3.2.3", "a signed port", "http://127.0.0.1:+80/"),
      row("RFC 3986 §3.2.3", "a port with a space", "http://127.0.0.1: 80/"),
      row("RFC 9112 §3.2.2", "ftp", "ftp://ORIGIN/"),
      row("RFC 9112 §3.2.2", "file", "file:///etc/passwd"),
      row("RFC 9112 §3.2.2", "gopher", "gopher://ORIGIN/"),
      row("RFC 9112 §3.2.2", "javascript", "javascript:alert(1)"),
      row("RFC 9110 §4.2.1", "no host", "http:///a"),
      row("RFC 9110 §4.2.1", "a port alone", "http://:80/"),
      row("RFC 9110 §4.2.1", "no slashes", "http:ORIGIN/"),
      row("RFC 3986 §3.2.2", "percent-encoding in a host", "http://%6cocalhost/"),
      row("RFC 5890 §2.3.2", "a host beyond ASCII", "http://bücher.example/"),
      row("RFC 3986 §3.2.2", "an empty label", "http://a..example/"),
      row("RFC 3986 §3.2.2", "an IPv6 address without brackets", "http://::1/"),
      row("RFC 3986 §3.2.2", "an open bracket", "http://[::1/"),
      row("RFC 6874 §2", "an IPv6 zone", "http://[fe80::1%25lo]/"),
      row("RFC 3986 §7.4", "an address as one number", "http://2130706433/"),
      row("RFC 3986 §7.4", "an address in hexadecimal", "http://0x7f.0.0.1/"),
      row("RFC 3986 §7.4", "an address in octal", "http://0177.0.0.1/"),
      row("RFC 3986 §7.4", "an address of two parts", "http://127.1/"),
      row("RFC 3986 §2", "a byte beyond ASCII in the path", "http://ORIGIN/ü"),
      row("RFC 9112 §3.2", "a tab in the path", "http://ORIGIN/a\tb"),
      row("RFC 9112 §3", "a space in the path", "http://ORIGIN/a b"),
      row("RFC 9112 §3.2.4", "an asterisk with GET", "*"),
      row("RFC 9112 §3.2.3", "an authority with GET", "ORIGIN"),
      row("RFC 9112 §3.2", "an empty Host list", "http://ORIGIN/", host: ","),
      row("RFC 9112 §3.2", "two names in Host", "http://ORIGIN/", host: "a, b"),
      row("RFC 9112 §3.2", "user information in Host", "http://ORIGIN/", host: "a@b"),
      row("RFC 9112 §3.2", "a path in Host", "http://ORIGIN/", host: "a/b"),
      row("RFC 9112 §3.2", "a bad port in Host", "http://ORIGIN/", host: "a:b"),
      RequestRow(
        "RFC 9112 §3.2", "two Hosts", "GET http://ORIGIN/ HTTP/1.1\r\nHost: ORIGIN\r\nHost: b\r\n\r\n", .refused(400)),
      RequestRow(
        "RFC 9112 §3.2", "two equal Hosts", "GET http://ORIGIN/ HTTP/1.1\r\nHost: ORIGIN\r\nHost: ORIGIN\r\n\r\n",
        .refused(400)),
      RequestRow("RFC 9112 §3.2", "no Host in HTTP/1.1", "GET http://ORIGIN/ HTTP/1.1\r\n\r\n", .refused(400)),
      RequestRow(
        "RFC 9110 §4.2.2", "https without CONNECT", "GET https://ORIGIN/ HTTP/1.1\r\nHost: x\r\n\r\n", .answered(501)),
    ])
  }

  /// Messages with one meaning: the origin gets that meaning in a form that nobody can read otherwise.
  @Test func whatHasOneMeaningIsForwardedPlainly() throws {
    let trailing = "5\r\nhello\r\n0\r\n"
    try check([
      .lines("RFC 9112 §3.2.2", "Host as the target says", "", .reaches(["Host: ORIGIN"], target: "/row")),
      RequestRow(
        "RFC 9112 §3.2.2", "the target wins over Host", "GET http://ORIGIN/a HTTP/1.1\r\nHost: evil.invalid\r\n\r\n",
        .reaches(["Host: ORIGIN"], target: "/a")),
      RequestRow(
        "RFC 9112 §3.2.2", "an empty Host", "GET http://ORIGIN/a HTTP/1.1\r\nHost:\r\n\r\n",
        .reaches(["Host: ORIGIN"], target: "/a")),
      RequestRow(
        "RFC 9112 §3.2", "HTTP/1.0 without Host", "GET http://ORIGIN/a HTTP/1.0\r\n\r\n",
        .reaches(["Host: ORIGIN"], target: "/a")),
      RequestRow(
        "RFC 9112 §3.2.1", "a target without a path", "GET http://ORIGIN HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
        .reaches(target: "/")),
      RequestRow(
        "RFC 9112 §3.2.1", "a query without a path", "GET http://ORIGIN?a=b HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
        .reaches(target: "/?a=b")),
      RequestRow(
        "RFC 9112 §3.2.4", "OPTIONS of a server", "OPTIONS http://ORIGIN HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
        .reaches(target: "*")),
      RequestRow(
        "RFC 9110 §4.2.3", "a scheme in capitals", "GET HTTP://ORIGIN/a HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
        .reaches(target: "/a")),
      RequestRow(
        "RFC 3986 §6.2.2", "percent-encoding is left alone",
        "GET http://ORIGIN/%7e%2F%2e%2e%00/a%zz HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
        .reaches(target: "/%7e%2F%2e%2e%00/a%zz")),
      RequestRow(
        "RFC 3986 §6.2.2", "dot segments are left alone", "GET http://ORIGIN/a/../b HTTP/1.1\r\nHost: ORIGIN\r\n\r\n",
        .reaches(target: "/a/../b")),
      RequestRow(
        "RFC 3986 §3.2.2", "an IPv6 literal", "GET http://[::ffff:127.0.0.1]:PORT/six HTTP/1.1\r\nHost: x\r\n\r\n",
        .reaches(["Host: [::ffff:7f00:1]:PORT"], target: "/six")),
      .lines("RFC 9112 §2.2", "an empty line before", "", .reaches()),
      RequestRow(
        "RFC 9112 §2.2", "empty lines before the request", "\r\n\r\nGET http://ORIGIN/a HTTP/1.1\r\nHost: x\r\n\r\n",
        .reaches(target: "/a")),
      .lines(
        "RFC 9110 §8.6", "equal lengths in a list", "Content-Length: 5, 5\r\n", method: "POST", body: "hello",
        .reaches(["Content-Length: 5"], body: "hello")),
      .lines(
        "RFC 9110 §8.6", "equal lengths in two lines", "Content-Length: 5\r\nContent-Length: 5\r\n", method: "POST",
        body: "hello", .reaches(["Content-Length: 5"], body: "hello")),
      .lines(
        "RFC 9110 §8.6", "leading zeros", "Content-Length: 0005\r\n", method: "POST", body: "hello",
        .reaches(["Content-Length: 5"], body: "hello")),
      .lines(
        "RFC 9112 §7", "chunked in capitals", "TRANSFER-ENCODING:CHUNKED\r\n", method: "POST", body: trailing + "\r\n",
        .reaches(["Transfer-Encoding: chunked"], without: ["Content-Length"], body: "hello")),
      .lines(
        "RFC 9112 §7.1.1", "extensions go no further", chunked, method: "POST",
        body: "5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n", .reaches(["Transfer-Encoding: chunked"], body: "hello")),
      .lines(
        "RFC 9110 §5.6.3", "nor does whitespace before them", chunked, method: "POST",
        body: "5 ;a \t; b = c\r\nhello\r\n0\t;e\r\n\r\n", .reaches(["Transfer-Encoding: chunked"], body: "hello")),
      .lines(
        "RFC 9112 §7.1", "leading zeros of a size", chunked, method: "POST",
        body: "000005\r\nhello\r\n00\r\n\r\n", .reaches(body: "hello")),
      .lines(
        "RFC 9110 §7.6.1", "Connection cannot take the length away",
        "Content-Length: 5\r\nConnection: Content-Length\r\n", method: "POST", body: "hello",
        .reaches(["Content-Length: 5"], body: "hello")),
      .lines(
        "RFC 9110 §7.6.1", "nor the coding", chunked + "Connection: Transfer-Encoding\r\n", method: "POST",
        body: trailing + "\r\n", .reaches(["Transfer-Encoding: chunked"], body: "hello")),
      .lines("RFC 9110 §7.6.1", "nor Host", "Connection: Host\r\n", .reaches(["Host: ORIGIN"])),
      .lines(
        "RFC 9110 §7.6.1", "what Connection names ends here", "Connection: X-A, x-b\r\nX-A: 1\r\nX-B: 2\r\nX-C: 3\r\n",
        .reaches(["X-C: 3"], without: ["X-A", "X-B", "Connection"])),
      .lines(
        "RFC 9110 §7.6.1", "fields of one hop end here",
        "Keep-Alive: 5\r\nProxy-Connection: close\r\nTE: gzip\r\nUpgrade: x\r\n",
        .reaches(without: ["Keep-Alive", "Proxy-Connection", "TE", "Upgrade"])),
      .lines(
        "RFC 9110 §11.7.2", "the proxy's credentials end here", "Proxy-Authorization: Basic YTpi\r\n",
        .reaches(without: ["Proxy-Authorization"])),
      .lines(
        "RFC 9110 §7.6.3", "Via is added behind", "Via: 1.0 near\r\n", .reaches(["Via: 1.0 near"])),
      .lines("RFC 9110 §5.5", "bytes beyond ASCII in a value", "X: ü\r\n", .reaches(["X: ü"])),
      .lines("RFC 9110 §5.5", "a tab within a value", "X: a\tb\r\n", .reaches(["X: a\tb"])),
      .lines("RFC 9112 §5.1", "blanks around a value", "X:  \t a \t\r\n", .reaches(["X: a"])),
      .lines("RFC 9110 §5.5", "an empty value", "X:\r\n", .reaches(["X: "])),
      .lines("RFC 9110 §5.1", "odd but allowed names", "!#$%&'*+-.^_`|~1: a\r\n", .reaches(["!#$%&'*+-.^_`|~1: a"])),
      .lines("RFC 9110 §5.3", "two lines of a name keep their order", "X: a\r\nX: b\r\n", .reaches(["X: a", "X: b"])),
      .lines("RFC 9110 §9.1", "an unknown method", "", method: "BREW", .reaches()),
      .lines("RFC 9110 §9.1", "a method in small letters is another", "", method: "get", .reaches()),
      .lines(
        "RFC 9110 §9.3.1", "a GET with a body", "Content-Length: 5\r\n", body: "hello",
        .reaches(["Content-Length: 5"], body: "hello")),
      .lines(
        "RFC 9110 §10.1.1", "an unknown expectation goes on", "Expect: the-unexpected\r\n",
        .reaches(["Expect: the-unexpected"])),
    ])
  }
}
