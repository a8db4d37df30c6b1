// Answers that answer nothing, come too early or never end, and request bodies that are none.
import TestSupport
import Testing

@Suite struct UnaskedAnswerTests {
  struct Malformed: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let body: String
    init(_ name: String, _ body: String) {
      testDescription = name
      self.body = body
    }
  }

  /// RFC 9112 §7.1: what is no chunked body is answered when that is seen, not when the origin's time is up. The wait
  /// for the answer is bounded below the head timeout.
  @Test(arguments: [
    Malformed("no size", "zz\r\nabc"), Malformed("negative size", "-3\r\nabc\r\n0\r\n\r\n"),
    Malformed("longer than its size", "3\r\nabcd\r\n0\r\n\r\n"),
    Malformed("huge size", "fffffffffffffffff\r\nabc"),
    Malformed("broken trailer", "3\r\nabc\r\n0\r\nno trailer field\r\n\r\n"),
  ])
  func aMalformedRequestBodyIsRefusedWhileTheOriginIsSilent(_ item: Malformed) throws {
    try withRig { rig in
      let never = rig.gate("never")
      let origin = try rig.origin { _ in try never.pass() }
      let larder = try rig.larder(["upstream.head_timeout": "600s", "clients.body_timeout": "600s"])
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("POST", origin.url("/"), [("Transfer-Encoding", "chunked")]) + "3\r\nabc\r\n")
      // The proxy waits for the origin's answer by then.
      try never.waitForArrival()
      try client.send(item.body)
      let response = try client.response(to: "POST")
      #expect(response.status == 400)
      #expect(response.field("Connection") == "close")
      client.finish()
      #expect(try client.isEnded())
    }
  }

  /// RFC 9110 §15.2.2: 101 answers an Upgrade, and nothing else; the client would think the protocol had changed.
  @Test(arguments: [nil, "bytes=0-9"]) func anUnasked101IsABadGateway(_ range: String?) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.head("101 Switching Protocols", [("Connection", "upgrade"), ("Upgrade", "foo")])
        exchange.finish()
      }
      let larder = try rig.larder()
      let response = try RawClient.fetch(origin.url("/"), range.map { [("Range", $0)] } ?? [], through: larder.port)
      #expect(response.status == 502)
    }
  }

  /// RFC 9110 §15.4.5: 304 answers a condition; who has set none has no copy that it could speak of.
  @Test(arguments: [nil, "bytes=0-9"]) func a304ToAnUnconditionalRequestIsABadGateway(_ range: String?) throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.head("304 Not Modified", [("ETag", "\"v1\"")]) }
      let larder = try rig.larder()
      let response = try RawClient.fetch(origin.url("/"), range.map { [("Range", $0)] } ?? [], through: larder.port)
      #expect(response.status == 502)
    }
  }

  /// RFC 9110 §14.1.2: a set of ranges is unsatisfiable only if each of them is.
  @Test(arguments: ["bytes=5000-,0-10", "bytes=0-10,5000-"])
  func aMissWithOneUnsatisfiableRangeServesTheOther(_ range: String) throws {
    try withRig { rig in
      let body = PatternBody(seed: 311, size: 3_000)
      let nginx = try rig.nginx()
      try nginx.publish("/file", body)
      let larder = try rig.larder()
      for _ in 0..<2 {
        let response = try RawClient.fetch(nginx.url("/file"), [("Range", range)], through: larder.port)
        #expect(response.status == 206 && response.end == .clean)
        #expect(response.field("Content-Range") == "bytes 0-10/3000")
        expectBytes(response.body, body.bytes(0..<11))
      }
    }
  }

  /// RFC 9110 §15.3.7: a 206 holds what its Content-Range says. What comes behind that is neither read nor waited for.
  @Test func a206ThatNeverEndsIsAbandoned() throws {
    try withRig { rig in
      let body = PatternBody(seed: 312, size: 1_000_000)
      let isAbandoned = rig.gate("the proxy has left the endless body")
      let origin = try rig.origin { exchange in
        try exchange.head(
          "206 Partial Content",
          [
            ("Transfer-Encoding", "chunked"), ("ETag", "\"v1\""), ("Cache-Control", "max-age=3600"),
            ("Content-Range", "bytes 1000-1999/1000000"),
          ])
        try exchange.chunk(body.bytes(1_000..<2_000))
        let more = body.bytes(2_000..<66_000)
        while (try? exchange.chunk(more)) != nil {}
        isAbandoned.open()
        exchange.finish()
      }
      let larder = try rig.larder()
      let response = try RawClient.fetch(origin.url("/"), [("Range", "bytes=1000-1999")], through: larder.port)
      #expect(response.status == 206 && response.end == .clean)
      expectBytes(response.body, body.bytes(1_000..<2_000))
      try isAbandoned.pass()
    }
  }

  /// RFC 9111 §3.4, §4.3.3: a part under the stored response's own strong validator says that this is current; it does
  /// not take the place of the whole.
  @Test func a206UnderTheSameTagKeepsTheStoredObject() throws {
    try withRig { rig in
      let body = PatternBody(seed: 313, size: 300_000)
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        behaviour.ignoresConditions = true
        let lifetime = exchange.index == 0 ? "max-age=0" : "max-age=3600"
        try Representation(body, fields: [("Cache-Control", lifetime)]).serve(exchange, behaviour)
      }
      let larder = try rig.larder()
      _ = try RawClient.fetch(origin.url("/"), through: larder.port)
      let part = try RawClient.fetch(origin.url("/"), [("Range", "bytes=5-9")], through: larder.port)
      #expect(part.status == 206 && part.field("Content-Range") == "bytes 5-9/300000")
      expectBytes(part.body, body.bytes(5..<10))
      #expect(origin.requests.count == 2, "the stale object is asked about once")
      let whole = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(whole.status == 200 && whole.end == .clean && isHit(whole))
      expectBytes(whole.body, body.bytes)
      #expect(origin.requests.count == 2)
    }
  }

  /// RFC 9112 §9.6: who will close says so; else the client's next request is swallowed as the body of this one.
  @Test(arguments: ["417 Expectation Failed", "413 Content Too Large"])
  func anAnswerBeforeTheBodyClosesTheConnection(_ status: String) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.respond(status, body: "no")
        exchange.finish()
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      let expects = status.hasPrefix("417") ? [("Expect", "100-continue")] : []
      try client.send(RawClient.request("POST", origin.url("/"), [("Content-Length", "100000")] + expects))
      let response = try client.response(to: "POST")
      #expect(response.head.startLine.contains(status.prefix(3)) && response.text == "no")
      #expect(response.field("Connection")?.lowercased() == "close")
      client.finish()
      #expect(try client.isEnded())
    }
  }
}
