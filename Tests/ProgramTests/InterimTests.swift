// Interim responses, trailers and early errors in their order (RFC 9110 §15.2, §10.1.1, §6.5; RFC 9112 §9.3).
import TestSupport
import Testing

@Suite struct InterimTests {
  @Test("RFC 9110 §15.2: each interim response goes on before the origin says more") func interimComesAtOnce() throws {
    try withRig { rig in
      let gates = (0..<3).map { rig.gate("interim \($0)") }
      let origin = try rig.origin { exchange in
        for (number, gate) in gates.enumerated() {
          try exchange.raw("HTTP/1.1 103 Early Hints\r\nLink: </\(number)>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n")
          try gate.pass()
        }
        try exchange.respond(body: "final")
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      for (number, gate) in gates.enumerated() {
        // The origin waits at the gate, so this can only be the interim response.
        let expected = "HTTP/1.1 103 Early Hints\r\nLink: </\(number)>\r\n\r\n"
        #expect(String(decoding: try client.read(expected.utf8.count), as: UTF8.self) == expected)
        gate.open()
      }
      #expect(try client.response().text == "final")
    }
  }

  @Test("RFC 9110 §15.2: more interim responses than the limit are an error, and counted") func tooManyInterims() throws
  {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        for _ in 0..<4 { try exchange.raw("HTTP/1.1 102 Processing\r\n\r\n") }
        try exchange.respond()
      }
      let larder = try rig.larder(["limits.interim_responses": "3"])
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.status == 502 && response.interim.count == 3)
      #expect(try larder.metric("larder_limit_interim_responses_total") == 1)
    }
  }

  @Test("RFC 9110 §10.1.1: a final answer instead of 100 ends the connection with the body unsent")
  func refusedExpectation() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.respond("413 Content Too Large", [("Connection", "close")])
        exchange.finish()
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(
        RawClient.request("POST", origin.url("/"), [("Expect", "100-continue"), ("Content-Length", "1000000")]))
      let response = try client.response()
      #expect(response.status == 413 && response.interim.isEmpty)
      #expect(response.field("Connection") == "close")
      #expect(try client.isEnded())
    }
  }

  @Test("RFC 9110 §6.5: trailers reach a client that takes them, and no other", arguments: [true, false])
  func trailersDownward(takes: Bool) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.head("200 OK", [("Transfer-Encoding", "chunked"), ("Cache-Control", "no-store")])
        try exchange.chunk(Array("body".utf8))
        try exchange.lastChunk([("X-Sum", "42"), ("Content-Length", "9"), ("X-Two", "b")])
      }
      let larder = try rig.larder()
      let fields = takes ? [("TE", "trailers"), ("Connection", "TE")] : []
      let response = try RawClient.fetch(origin.url("/"), fields, through: larder.port, method: "OPTIONS")
      #expect(response.text == "body" && response.end == .clean)
      #expect(response.trailers.map(\.name) == (takes ? ["X-Sum", "X-Two"] : []))
      #expect(origin.requests.first?.field("TE") == (takes ? "trailers" : nil))
    }
  }

  @Test("RFC 9110 §6.5: a request's trailers reach the origin, without those that frame or route")
  func trailersUpward() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond()
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(
        RawClient.request("POST", origin.url("/"), [("Transfer-Encoding", "chunked")])
          + "3\r\nabc\r\n0\r\nX-Sum: 42\r\nHost: evil\r\nTransfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\n")
      #expect(try client.response().status == 200)
      #expect(origin.requests.first?.trailers.map(\.name) == ["X-Sum"])
    }
  }

  @Test("RFC 9112 §9.3.2: pipelined requests before a bad one are answered in order, then the error, then the end")
  func pipelinedThenBad() throws {
    try withRig { rig in
      let gate = rig.gate("slow")
      let origin = try rig.origin { exchange in
        if exchange.request.target == "/0" { try gate.pass() }
        try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: exchange.request.target)
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      let good = (0..<3).map { RawClient.request("GET", origin.url("/\($0)")) }.joined()
      // The bad one is there long before the first is answered.
      try client.send(
        good + "GET http://a b/ HTTP/1.1\r\nHost: x\r\n\r\n" + RawClient.request("GET", origin.url("/evil")))
      try gate.waitForArrival()
      gate.open()
      for number in 0..<3 {
        let response = try client.response()
        #expect(response.status == 200 && response.text == "/\(number)")
      }
      let error = try client.response()
      #expect(error.status == 400 && error.field("Connection") == "close")
      #expect(try client.isEnded())
      #expect(origin.requests.map(\.target) == ["/0", "/1", "/2"])
    }
  }

  @Test("RFC 9112 §9.6: nothing is answered behind a request that says close") func nothingBehindClose() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: $0.request.target) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(
        RawClient.request("GET", origin.url("/last"), [("Connection", "close")])
          + RawClient.request("GET", origin.url("/evil")))
      let response = try client.response()
      #expect(response.text == "/last" && response.field("Connection") == "close")
      #expect(try client.isEnded())
      #expect(origin.requests.map(\.target) == ["/last"])
    }
  }

  @Test("RFC 9110 §9.3.6: bytes sent behind a CONNECT that fails are not read as a request") func failedConnect() throws
  {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond() }
      let port = try rig.deadPort(accepting: false)
      let larder = try rig.larder(["tunnels.connect_ports": "[\(port)]"])
      let client = try RawClient(port: larder.port)
      try client.send(
        "CONNECT 127.0.0.1:\(port) HTTP/1.1\r\nHost: x\r\n\r\n" + RawClient.request("GET", origin.url("/evil")))
      #expect(try client.response(to: "CONNECT").status == 502)
      #expect(try client.isEnded())
      #expect(origin.requests.isEmpty)
    }
  }
}
