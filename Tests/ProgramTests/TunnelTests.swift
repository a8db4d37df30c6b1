// CONNECT and Upgrade: bytes both ways untouched, half-close kept, ports refused (RFC 9110 §9.3.6, §7.8).
import TestSupport
import Testing

@Suite struct TunnelTests {
  private func connect(_ larder: LarderProcess, to port: UInt16) throws -> (RawClient, RawResponse) {
    let client = try RawClient(port: larder.port)
    try client.send("CONNECT 127.0.0.1:\(port) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
    return (client, try client.response(to: "CONNECT"))
  }

  @Test func connectCarriesManyBytesBothWaysAndKeepsHalfClose() throws {
    try withRig { rig in
      let up = PatternBody(seed: 61, size: 3_000_000)
      let down = PatternBody(seed: 62, size: 4_000_000)
      let origin = try rig.origin { exchange in
        // The tunnel's first bytes look like a request head here, so the script gets its turn.
        expectBytes(try exchange.receive(exactly: up.size), up.bytes)
        guard case .end = try exchange.receive() else { throw HarnessError("no end of input in the tunnel") }
        try exchange.raw(down.bytes)
        exchange.finish()
      }
      let larder = try rig.larder(["tunnels.connect_ports": "[443, \(origin.port)]"])
      let (client, answer) = try connect(larder, to: origin.port)
      #expect(answer.status == 200)
      #expect(answer.field("Content-Length") == nil && answer.field("Transfer-Encoding") == nil)
      try client.send("X / HTTP/1.1\r\n\r\n")
      try client.send(up.bytes)
      client.finish()
      expectBytes(try client.read(down.size), down.bytes)
      #expect(try client.isEnded())
    }
  }

  @Test func bytesSentTogetherWithConnectAreNotLost() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: $0.request.target) }
      let larder = try rig.larder(["tunnels.connect_ports": "[\(origin.port)]"])
      let client = try RawClient(port: larder.port)
      try client.send(
        "CONNECT 127.0.0.1:\(origin.port) HTTP/1.1\r\nHost: x\r\n\r\nGET /early HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try client.response(to: "CONNECT").status == 200)
      #expect(try client.response().text == "/early")
    }
  }

  @Test func portsThatAreNotAllowedAreRefusedWithTheReason() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond() }
      let larder = try rig.larder()
      let (_, answer) = try connect(larder, to: origin.port)
      #expect(answer.status == 403)
      #expect(answer.text.contains("\(origin.port)"))
      #expect(origin.connections == 0)
    }
  }

  @Test func connectToNobodyIs502() throws {
    try withRig { rig in
      let port = try rig.deadPort(accepting: false)
      let larder = try rig.larder(["tunnels.connect_ports": "[\(port)]"])
      let (_, answer) = try connect(larder, to: port)
      #expect(answer.status == 502)
    }
  }

  @Test func anIdleTunnelIsEnded() throws {
    try withRig { rig in
      let gate = rig.gate("end")
      let origin = try rig.origin { _ in try gate.pass() }
      let larder = try rig.larder(["tunnels.connect_ports": "[\(origin.port)]", "tunnels.idle_timeout": "200ms"])
      let (client, answer) = try connect(larder, to: origin.port)
      #expect(answer.status == 200)
      #expect(try client.isEnded())
    }
  }

  @Test func curlFetchesThroughATunnel() throws {
    try withRig { rig in
      let body = PatternBody(seed: 63, size: 2_000_000)
      let nginx = try rig.nginx()
      try nginx.publish("/file", body)
      let larder = try rig.larder(["tunnels.connect_ports": "[\(nginx.port)]"])
      let result = try mustRun("curl", ["-sS", "-p", "-x", "http://127.0.0.1:\(larder.port)", nginx.url("/file")])
      expectBytes(result.output, body.bytes)
    }
  }

  /// RFC 6455's handshake; the frames are the peers' own business.
  @Test func upgradeBecomesATunnelAfter101() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        #expect(exchange.request.field("Upgrade")?.lowercased() == "websocket")
        #expect(exchange.request.field("Connection")?.lowercased().contains("upgrade") == true)
        #expect(exchange.request.field("Sec-WebSocket-Key") == "dGhlIHNhbXBsZSBub25jZQ==")
        try exchange.raw(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nfirst frame")
        expectBytes(try exchange.receive(exactly: 6), Array("a\0b\r\nc".utf8))
        try exchange.raw("answer")
        exchange.finish()
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      let answer = try client.fetch(
        origin.url("/chat"),
        [
          ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
          ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ])
      #expect(answer.status == 101)
      #expect(answer.field("Upgrade") == "websocket")
      #expect(answer.field("Connection")?.lowercased().contains("upgrade") == true)
      #expect(answer.field("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
      expectBytes(try client.read(11), Array("first frame".utf8))
      try client.send("a\0b\r\nc")
      expectBytes(try client.read(6), Array("answer".utf8))
      #expect(try client.isEnded())
    }
  }

  @Test func anUpgradeThatTheOriginDeclinesIsAnOrdinaryExchange() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "no thanks") }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      let fields = [("Upgrade", "websocket"), ("Connection", "Upgrade")]
      for _ in 0..<2 { #expect(try client.fetch(origin.url("/"), fields).text == "no thanks") }
    }
  }
}
