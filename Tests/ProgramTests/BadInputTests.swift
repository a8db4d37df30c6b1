// What is malformed, too much, or leads nowhere: the status it gets, and that the server goes on.
import TestSupport
import Testing

@Suite struct BadInputTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let name: String
    let status: Int
    let text: String
    init(_ name: String, _ status: Int, _ text: String) {
      self.name = name
      self.status = status
      self.text = text
    }
    var testDescription: String { name }
  }

  /// `ORIGIN` stands for an origin that answers, `REFUSED` for a port that refuses.
  @Test(arguments: [
    Case("no version", 400, "GET http://ORIGIN/\r\n\r\n"),
    Case("garbage", 400, "\u{1}\u{2}\u{3}\r\n\r\n"),
    Case("two spaces", 400, "GET  http://ORIGIN/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case("no Host in HTTP/1.1", 400, "GET http://ORIGIN/ HTTP/1.1\r\n\r\n"),
    Case("two Hosts", 400, "GET http://ORIGIN/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    Case("space before the colon", 400, "GET http://ORIGIN/ HTTP/1.1\r\nHost : x\r\n\r\n"),
    Case("line folding", 400, "GET http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"),
    Case("NUL in a field", 400, "GET http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n"),
    Case("bare CR in a field", 400, "GET http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n"),
    Case("nameless field", 400, "GET http://ORIGIN/ HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n"),
    Case(
      "length and chunked", 400,
      "POST http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    Case(
      "two lengths", 400,
      "POST http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    Case("signed length", 400, "POST http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc"),
    Case("huge length", 400, "POST http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"),
    Case(
      "chunked not last", 400, "POST http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"),
    Case(
      "unknown coding", 501,
      "POST http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    Case("HTTP/2.0", 505, "GET http://ORIGIN/ HTTP/2.0\r\nHost: x\r\n\r\n"),
    Case("HTTP/3.7", 505, "GET http://ORIGIN/ HTTP/3.7\r\nHost: x\r\n\r\n"),
    Case("long target", 414, "GET http://ORIGIN/\(String(repeating: "a", count: 40_000)) HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case(
      "large head", 431,
      "GET http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nA: \(String(repeating: "a", count: 100_000))\r\n\r\n"),
    Case(
      "many fields", 431, "GET http://ORIGIN/ HTTP/1.1\r\nHost: x\r\n\((0..<500).map { "A\($0): b\r\n" }.joined())\r\n"),
    Case("unknown scheme", 400, "GET gopher://ORIGIN/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case("port out of range", 400, "GET http://127.0.0.1:70000/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case("no host in the target", 400, "GET http:///path HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case("CONNECT without a port", 400, "CONNECT example.invalid HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case("unresolvable host", 502, "GET http://no-such-host.invalid/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case("refused connection", 502, "GET http://REFUSED/ HTTP/1.1\r\nHost: x\r\n\r\n"),
  ])
  func badRequestsGetTheirStatusAndAReason(_ item: Case) throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "x") }
      let refused = try rig.deadPort(accepting: false)
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(
        item.text.replacing("ORIGIN", with: "127.0.0.1:\(origin.port)")
          .replacing("REFUSED", with: "127.0.0.1:\(refused)"))
      let response = try client.response()
      #expect(response.status == item.status)
      #expect(!response.body.isEmpty, "an error has a body that says why")
      #expect(response.field("Cache-Status") != nil)
      #expect(origin.requests.isEmpty)
      // Where the end of the message is in doubt, the connection ends.
      if item.status != 502 { #expect(try client.isEnded()) }
      #expect(try RawClient.fetch(origin.url("/"), through: larder.port).text == "x")
    }
  }

  struct Answer: CustomTestStringConvertible, Sendable {
    let name: String
    let text: String
    init(_ name: String, _ text: String) {
      self.name = name
      self.text = text
    }
    var testDescription: String { name }
  }

  @Test(arguments: [
    Answer("nothing at all", ""),
    Answer("garbage", "\u{1}\u{2}garbage\r\n\r\n"),
    Answer("half a head", "HTTP/1.1 200 OK\r\nContent-Le"),
    Answer("no status", "HTTP/1.1 OK\r\n\r\n"),
    Answer("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    Answer("length and chunked", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    Answer("unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    Answer("NUL in a field", "HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 1\r\n\r\na"),
    Answer("line folding then space", "HTTP/1.1 200 OK\r\nBad Name: x\r\nContent-Length: 1\r\n\r\na"),
    Answer("endless head", "HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 200_000)),
    Answer("only interim", "HTTP/1.1 103 Early Hints\r\n\r\n"),
  ])
  func badAnswersAre502(_ item: Answer) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.raw(item.text)
        exchange.finish()
      }
      let larder = try rig.larder()
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(response.status == 502)
        #expect(response.end == .clean && !response.body.isEmpty)
      }
    }
  }

  @Test func aSilentOriginIs504() throws {
    try withRig { rig in
      let port = try rig.deadPort(accepting: true)
      let larder = try rig.larder(["upstream.head_timeout": "300ms"])
      let response = try RawClient.fetch("http://127.0.0.1:\(port)/", through: larder.port)
      #expect(response.status == 504)
    }
  }

  @Test func aClientThatNeverEndsItsHeadIsShownTheDoor() throws {
    try withRig { rig in
      let larder = try rig.larder(["clients.head_timeout": "300ms"])
      let client = try RawClient(port: larder.port)
      try client.send("GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\n")
      // 408 is allowed before the close (RFC 9110 §15.5.9).
      if case .bytes(let bytes) = try client.receive() {
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 408"))
        #expect(try client.isEnded())
      }
    }
  }

  @Test func errorBodiesFollowAcceptAndNameTheRequest() throws {
    try withRig { rig in
      let port = try rig.deadPort(accepting: false)
      let larder = try rig.larder()
      let url = "http://127.0.0.1:\(port)/"
      let html = try RawClient.fetch(url, [("Accept", "text/html,*/*;q=0.1")], through: larder.port)
      #expect(html.field("Content-Type")?.hasPrefix("text/html") == true && html.text.contains("<"))
      let plain = try RawClient.fetch(url, [("Accept", "text/plain")], through: larder.port)
      #expect(plain.field("Content-Type")?.hasPrefix("text/plain") == true && !plain.text.contains("<"))
      #expect(plain.text != html.text)
    }
  }

  @Test func reflectedInputIsEscapedInHTML() throws {
    try withRig { rig in
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send("GET http://no-such<script>.invalid/<script> HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n")
      #expect(try !client.response().text.contains("<script>"))
    }
  }

  @Test func originFormToTheProxyItselfIsAHelpPage() throws {
    try withRig { rig in
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for path in ["/", "/anything"] {
        try client.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(larder.port)\r\n\r\n")
        let response = try client.response()
        #expect(response.text.contains("http_proxy"))
        #expect(response.status < 500)
      }
    }
  }

  @Test func aLoopIsAnswered508() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "x") }
      let larder = try rig.larder()
      _ = try RawClient.fetch(origin.url("/"), through: larder.port)
      let via = try #require(origin.requests.first?.field("Via"))
      #expect(try RawClient.fetch(origin.url("/b"), [("Via", "1.1 other, \(via)")], through: larder.port).status == 508)
      #expect(try RawClient.fetch(origin.url("/b"), [("Via", "1.1 other")], through: larder.port).status == 200)
      // The proxy asked for itself: the help page, which is made here and never fetched in circles.
      let own = try RawClient.fetch("http://127.0.0.1:\(larder.port)/", through: larder.port)
      #expect(own.status == 508 || own.status == 403 || own.text.contains("http_proxy"))
    }
  }

  @Test func chainedLardersWork() throws {
    try withRig { rig in
      let body = PatternBody(seed: 71, size: 500_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let inner = try rig.larder()
      // A gateway between: what reaches it in origin-form goes on to the inner proxy in absolute-form.
      let gateway = try rig.origin { exchange in
        let fields = exchange.request.head.fields.filter { $0.name.lowercased() != "host" }
        let answer = try RawClient.fetch(
          origin.url(exchange.request.target), fields.map { ($0.name, $0.value) }, through: inner.port)
        try exchange.head(
          String(answer.head.startLine.dropFirst("HTTP/1.1 ".count)), answer.head.fields.map { ($0.name, $0.value) })
        try exchange.body(answer.body)
      }
      let outer = try rig.larder()
      for range in [0..<1000, 0..<500_000] {
        let response = try RawClient.fetch(
          gateway.url("/x"), [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")], through: outer.port)
        #expect(response.status == 206)
        expectBytes(response.body, body.bytes(range))
        #expect(response.head.all("Via").joined(separator: ",").split(separator: ",").count == 2)
        #expect(response.cacheStatus.split(separator: ",").count == 2)
      }
      #expect(origin.bodyBytesSent == body.size)
      #expect(origin.requests.first?.head.all("Via").joined(separator: ",").split(separator: ",").count == 2)
    }
  }
}
