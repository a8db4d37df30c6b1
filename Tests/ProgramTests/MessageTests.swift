// HTTP/1.1 both ways (RFC 9112, 9110 §7.6, §10.1.1, §15.2): what is passed on, what is taken away, in what order.
import TestSupport
import Testing

@Suite struct MessageTests {
  @Test func requestBodiesStreamWithBothFramings() throws {
    try withRig { rig in
      let body = PatternBody(seed: 41, size: 3_000_000)
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond("201 Created", [("Cache-Control", "no-store")], body: "done")
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("POST", origin.url("/length"), [("Content-Length", "\(body.size)")]))
      try client.send(body.bytes)
      #expect(try client.response().status == 201)
      try client.send(RawClient.request("PUT", origin.url("/chunked"), [("Transfer-Encoding", "chunked")]))
      for start in stride(from: 0, to: body.size, by: 100_000) {
        let piece = body.bytes(start..<min(body.size, start + 100_000))
        try client.send(String(piece.count, radix: 16) + ";name=value\r\n")
        try client.send(piece)
        try client.send("\r\n")
      }
      try client.send("0\r\n\r\n")
      let answer = try client.response()
      #expect(answer.status == 201 && answer.text == "done")
      #expect(origin.requests.map(\.method) == ["POST", "PUT"])
      for request in origin.requests { expectBytes(request.body, body.bytes) }
    }
  }

  @Test func aBodyReachesTheOriginBeforeItIsWhole() throws {
    try withRig { rig in
      let half = rig.gate("first half")
      let origin = try rig.origin { exchange in
        expectBytes(try exchange.receive(exactly: 5), Array("first".utf8))
        half.open()
        expectBytes(try exchange.receive(exactly: 6), Array("second".utf8))
        try exchange.respond()
        exchange.finish()
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("POST", origin.url("/"), [("Content-Length", "11")]) + "first")
      try half.pass()
      try client.send("second")
      #expect(try client.response().status == 200)
    }
  }

  @Test func expectationIsMetByTheOriginOrRefusedByIt() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        if exchange.request.target == "/no" { return try exchange.respond("417 Expectation Failed") }
        try exchange.raw("HTTP/1.1 100 Continue\r\n\r\n")
        try exchange.readBody()
        try exchange.respond(body: "thanks")
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      let expect = [("Expect", "100-continue"), ("Content-Length", "5")]
      try client.send(RawClient.request("POST", origin.url("/yes"), expect))
      let interim = try client.read(25)
      #expect(String(decoding: interim, as: UTF8.self).hasPrefix("HTTP/1.1 100 "))
      _ = try client.send("hello")
      #expect(try client.response().text == "thanks")
      let refused = try RawClient(port: larder.port)
      try refused.send(RawClient.request("POST", origin.url("/no"), expect))
      #expect(try refused.response().status == 417)
    }
  }

  @Test func interimResponsesAreForwardedInOrder() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.raw("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
        try exchange.respond(body: "final")
      }
      let larder = try rig.larder()
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.interim.map(\.startLine) == ["HTTP/1.1 102 Processing", "HTTP/1.1 103 Early Hints"])
      #expect(response.interim.last?.first("Link") == "</a.css>")
      #expect(response.text == "final")
    }
  }

  @Test func http10ClientsGetNoInterimResponse() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.raw("HTTP/1.1 103 Early Hints\r\n\r\n")
        try exchange.respond(body: "final")
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send("GET \(origin.url("/")) HTTP/1.0\r\n\r\n")
      let response = try client.response()
      #expect(response.interim.isEmpty && response.text == "final")
      #expect(try client.isEnded())
    }
  }

  @Test func pipelinedRequestsAreAnsweredInOrder() throws {
    try withRig { rig in
      let gate = rig.gate("slow")
      let origin = try rig.origin { exchange in
        if exchange.request.target == "/0" { try gate.pass() }
        try exchange.respond("200 OK", [("Cache-Control", "max-age=60")], body: "answer to \(exchange.request.target)")
      }
      let larder = try rig.larder()
      // The last ones are stored already and could overtake.
      for number in 3..<6 { _ = try RawClient.fetch(origin.url("/\(number)"), through: larder.port) }
      let client = try RawClient(port: larder.port)
      try client.send((0..<6).map { RawClient.request("GET", origin.url("/\($0)")) }.joined())
      try gate.waitForArrival()
      gate.open()
      for number in 0..<6 { #expect(try client.response().text == "answer to /\(number)") }
    }
  }

  @Test func everythingWorksOneByteAtATime() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        let answer =
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=9\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n"
        for byte in answer.utf8 { try exchange.raw([byte]) }
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.drip(
        "\r\n" + RawClient.request("POST", origin.url("/"), [("Transfer-Encoding", "chunked")])
          + "3\r\nabc\r\n0\r\n\r\n")
      #expect(try client.response().text == "hello")
      #expect(origin.requests.first?.body == Array("abc".utf8))
      try client.drip(RawClient.request("GET", origin.url("/")))
      #expect(try client.response().text == "hello")
    }
  }

  /// RFC 9110 §7.6.1, both directions.
  @Test func hopByHopFieldsAndThoseThatConnectionNamesAreTakenAway() throws {
    try withRig { rig in
      let hop = [
        ("Connection", "keep-alive, X-Mine"), ("X-Mine", "1"), ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "keep-alive"),
        ("TE", "trailers"), ("X-End", "2"),
      ]
      let origin = try rig.origin { exchange in
        try exchange.respond(
          "200 OK",
          [("Connection", "X-Theirs"), ("X-Theirs", "1"), ("Keep-Alive", "timeout=5"), ("X-End", "3")], body: "x")
      }
      let larder = try rig.larder()
      let response = try RawClient.fetch(origin.url("/"), hop, through: larder.port)
      let request = try #require(origin.requests.first)
      for name in ["X-Mine", "Keep-Alive", "Proxy-Connection"] { #expect(request.field(name) == nil, "\(name)") }
      #expect(request.field("X-End") == "2")
      for name in ["X-Theirs", "Keep-Alive"] { #expect(response.field(name) == nil, "\(name)") }
      #expect(response.field("X-End") == "3")
      #expect(request.field("Host") == "127.0.0.1:\(origin.port)")
      #expect(request.target == "/")
    }
  }

  @Test func viaAndDateAreRightBothWays() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond("200 OK", [("Via", "1.0 far")], body: "x") }
      let larder = try rig.larder(["name": "pantry"])
      let response = try RawClient.fetch(origin.url("/"), [("Via", "1.1 near")], through: larder.port)
      let up = try #require(origin.requests.first).head.all("Via").joined(separator: ", ")
      #expect(up.hasPrefix("1.1 near, 1.1 ") && up.contains("pantry"))
      let down = response.head.all("Via").joined(separator: ", ")
      #expect(down.hasPrefix("1.0 far, 1.1 ") && down.contains("pantry"))
      #expect(response.head.all("Date").count == 1, "an intermediary adds a Date that is missing (RFC 9110 §6.6.1)")
    }
  }

  @Test func absoluteFormWinsOverHost() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "x") }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send("GET \(origin.url("/a?b=c")) HTTP/1.1\r\nHost: somewhere.invalid\r\n\r\n")
      #expect(try client.response().status == 200)
      #expect(origin.requests.first?.field("Host") == "127.0.0.1:\(origin.port)")
      #expect(origin.requests.first?.target == "/a?b=c")
    }
  }

  @Test func maxForwardsCountsDownAndEndsHere() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: $0.request.field("Max-Forwards") ?? "none") }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      #expect(try client.fetch(origin.url("/"), [("Max-Forwards", "3")], method: "OPTIONS").text == "2")
      #expect(try client.fetch(origin.url("/"), [("Max-Forwards", "0")], method: "OPTIONS").status == 200)
      let trace = try client.fetch(origin.url("/"), [("Max-Forwards", "0"), ("X-Seen", "yes")], method: "TRACE")
      #expect(trace.status == 200 && trace.text.contains("X-Seen: yes"))
      #expect(trace.field("Content-Type") == "message/http")
      #expect(origin.requests.count == 1)
      #expect(
        try client.fetch(origin.url("/"), [("Max-Forwards", "0")]).text == "0", "other methods ignore it (§7.6.2)")
    }
  }

  @Test(arguments: ["DELETE", "PATCH", "PROPFIND", "POST"]) func otherMethodsPass(_ method: String) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond("200 OK", [("Cache-Control", "max-age=60")], body: "\(exchange.index)")
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for number in 0..<2 {
        #expect(try client.fetch(origin.url("/"), [("Content-Length", "0")], method: method).text == "\(number)")
      }
      #expect(origin.requests.allSatisfy { $0.method == method })
    }
  }

  @Test func connectionsToTheOriginAreKept() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond("200 OK", [("Cache-Control", "no-store")], body: "x") }
      let larder = try rig.larder(["workers": "1"])
      for _ in 0..<10 { #expect(try RawClient.fetch(origin.url("/"), through: larder.port).status == 200) }
      #expect(origin.connections == 1)
    }
  }

  @Test func aKeptConnectionThatTheOriginClosedIsReplacedUnseen() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        // Each connection is closed where its second request is expected, without an answer.
        guard exchange.index % 2 == 0 else { return exchange.reset() }
        try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "x")
      }
      let larder = try rig.larder(["workers": "1"])
      for _ in 0..<5 { #expect(try RawClient.fetch(origin.url("/"), through: larder.port).status == 200) }
    }
  }

  @Test func trailersOfAPassReachAClientThatTakesThem() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.head(
          "200 OK", [("Transfer-Encoding", "chunked"), ("Cache-Control", "no-store"), ("Trailer", "X-Sum")])
        try exchange.chunk(Array("body".utf8))
        try exchange.lastChunk([("X-Sum", "42")])
      }
      let larder = try rig.larder()
      let response = try RawClient.fetch(
        origin.url("/"), [("TE", "trailers"), ("Connection", "TE")], through: larder.port)
      #expect(response.text == "body" && response.end == .clean)
      #expect(response.trailers.first { $0.name == "X-Sum" }?.value == "42")
    }
  }
}
