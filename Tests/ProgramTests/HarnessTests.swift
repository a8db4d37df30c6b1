import TestSupport
// The harness itself, proven against plain nginx and against itself, without a proxy between.
import Testing

@Suite struct HarnessTests {
  @Test func patternBodyTellsSeedsOffsetsAndSlicesApart() throws {
    let body = PatternBody(seed: 1, size: 1_000_000)
    let whole = body.bytes
    expectBytes(Array(whole[65_530..<200_003]), body.bytes(65_530..<200_003))
    #expect(body.firstMismatch(whole, at: 0) == nil)
    #expect(PatternBody(seed: 2, size: 1_000_000).firstMismatch(Array(whole[..<100]), at: 0) != nil)
    #expect(body.firstMismatch(body.bytes(65_536..<131_072), at: 0) != nil)
    var changed = whole
    changed[777_777] ^= 1
    #expect(body.firstMismatch(changed, at: 0) == 777_777)
    #expect(body.firstMismatch([0], at: 1_000_000) != nil)
  }

  @Test func nginxServesRangesAndItsLogCountsBodies() throws {
    try withRig { rig in
      let nginx = try rig.nginx()
      let body = PatternBody(seed: 3, size: 300_000)
      try nginx.publish("/folder/file.bin", body)
      let client = try RawClient(port: nginx.port)
      let whole = try client.fetch(nginx.url("/folder/file.bin"))
      #expect(whole.status == 200 && whole.end == .clean)
      #expect(body.firstMismatch(whole.body, at: 0) == nil && whole.body.count == body.size)
      let part = try client.fetch(nginx.url("/folder/file.bin"), [("Range", "bytes=1000-1999")])
      #expect(part.status == 206)
      #expect(body.firstMismatch(part.body, at: 1000) == nil && part.body.count == 1000)
      let log = try nginx.log(count: 2)
      #expect(log.bodyBytes == 301_000)
      #expect(log.last?.range == "bytes=1000-1999")
      #expect(log.last?.contentRange == "bytes 1000-1999/300000")
      #expect(try rig.settledLog(of: nginx).count == 2)
    }
  }

  @Test(arguments: ["cut", "reset", "chunked", "close", "206", "412", "304", "416"])
  func scriptedOriginDoesAsItIsTold(_ what: String) throws {
    try withRig { rig in
      let body = PatternBody(seed: 4, size: 500_000)
      let resource = Representation(body)
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        switch exchange.request.target.split(separator: "/").last {
        case "cut": behaviour.delivery = .finish(after: 123_456)
        case "reset": behaviour.delivery = .reset(after: 123_456)
        case "chunked": behaviour.framing = .chunked
        case "close": behaviour.framing = .close
        default: break
        }
        try resource.serve(exchange, behaviour)
      }
      let fields: [String: [(String, String)]] = [
        "206": [("Range", "bytes=-5"), ("If-Match", "\"v1\"")], "412": [("If-Match", "\"v0\"")],
        "304": [("If-None-Match", "W/\"v1\"")], "416": [("Range", "bytes=500000-")],
      ]
      let client = try RawClient(port: origin.port)
      let response = try client.fetch(origin.url("/\(what)"), fields[what] ?? [])
      switch what {
      case "cut": #expect(response.end == .cut && response.body.count == 123_456)
      case "reset": #expect(response.end == .reset && response.body.count == 123_456)
      case "206":
        #expect(response.status == 206)
        expectBytes(response.body, body.bytes(499_995..<500_000))
      case "412", "304", "416": #expect(response.status == Int(what))
      default:
        #expect(response.end == .clean)
        expectBytes(response.body, body.bytes)
      }
      #expect(origin.requests.count == 1)
      #expect(
        body.firstMismatch(response.body, at: response.status == 206 ? 499_995 : 0) == nil || response.status > 299)
    }
  }

  @Test func stallingOriginWaitsForTheGate() throws {
    try withRig { rig in
      let body = PatternBody(seed: 5, size: 300_000)
      let gate = rig.gate("rest")
      let origin = try rig.origin { try Representation(body).serve($0, .init(.stall(after: 1000, gate))) }
      let client = try RawClient(port: origin.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      var response = try client.responseHead()
      try expectBytes(client.read(1000), body.bytes(0..<1000))
      try gate.waitForArrival()
      #expect(origin.bodyBytesSent == 1000)
      gate.open()
      try expectBytes(client.read(299_000), body.bytes(1000..<300_000))
      response.end = .clean
      #expect(response.status == 200)
    }
  }

  @Test func relayCutsAndResets() throws {
    try withRig { rig in
      let body = PatternBody(seed: 6, size: 300_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let relay = try rig.relay(to: origin.port) { number in
        number == 0 ? .finish(after: 100_000) : number == 1 ? .reset(after: 50_000) : .none
      }
      let cut = try RawClient.fetch(relay.url("/"), through: relay.port)
      #expect(cut.end == .cut && cut.body.count < 100_000 && cut.body.count > 99_000)
      let reset = try RawClient.fetch(relay.url("/"), through: relay.port)
      #expect(reset.end == .reset && reset.body.count > 49_000)
      try expectBytes(RawClient.fetch(relay.url("/"), through: relay.port).body, body.bytes)
    }
  }

  @Test func requestBodiesAreDecodedBothWays() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond(body: "ok")
      }
      let client = try RawClient(port: origin.port)
      try client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
      #expect(try client.response().text == "ok")
      try client.send(
        "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nA: b\r\n\r\n"
      )
      #expect(try client.response().text == "ok")
      #expect(origin.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["hello", "hello world"])
      #expect(origin.requests[1].trailers.first?.value == "b")
      #expect(origin.connections == 1)
    }
  }

  @Test func toolsAreRunWithTheirOutputAndTheirEnd() throws {
    let result = try runTool("sh", ["-c", "echo out; echo err >&2; exit 3"])
    #expect(result.end == .exited(3) && result.outputText == "out\n" && result.errorText == "err\n")
    #expect(try runTool("sh", ["-c", "kill -9 $$"]).end == .killed(signal: 9))
    #expect(throws: HarnessError.self) { try runTool("no-such-program", []) }
  }
}
