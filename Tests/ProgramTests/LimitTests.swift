// Every limit on what a client may send, hold and take: the status it leads to, and its counter.
import TestSupport
import Testing

@Suite struct LimitTests {
  struct Row: CustomTestStringConvertible, Sendable {
    let limit: String
    let settings: [String: String]
    let text: String
    let status: Int
    var testDescription: String { limit }

    init(_ limit: String, _ settings: [String: String], _ text: String, _ status: Int) {
      self.limit = limit
      self.settings = settings
      self.text = text
      self.status = status
    }
  }

  private static let get = "GET http://ORIGIN/ HTTP/1.1\r\nHost: x\r\n"
  private static let post = "POST http://ORIGIN/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
  private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

  @Test(
    "RFC 6585 §5, RFC 9110 §15.5: a message beyond a limit is refused with its status, and counted",
    arguments: [
      Row(
        "target_bytes", ["limits.target_bytes": "256"],
        "GET http://ORIGIN/\(repeated("a", 256)) HTTP/1.1\r\nHost: x\r\n\r\n", 414),
      Row(
        "head_bytes", ["limits.head_bytes": "1K", "limits.target_bytes": "512"],
        get + repeated("A: \(repeated("b", 90))\r\n", 12) + "\r\n", 431),
      Row("line_bytes", ["limits.line_bytes": "512"], get + "A: \(repeated("b", 512))\r\n\r\n", 431),
      Row("field_count", ["limits.field_count": "10"], get + repeated("A: b\r\n", 10) + "\r\n", 431),
      Row("chunk_line_bytes", ["limits.chunk_line_bytes": "32"], post + "1;\(repeated("a", 64))\r\n", 400),
      Row(
        "chunk_line_bytes", ["limits.chunk_line_bytes": "32"], post + repeated("1;\(repeated("a", 9))\r\nx\r\n", 9), 400
      ),
      Row("trailer_bytes", ["limits.trailer_bytes": "64"], post + "0\r\nA: \(repeated("b", 64))\r\n\r\n", 431),
      Row("trailer_count", ["limits.trailer_count": "2"], post + "0\r\nA: b\r\nC: d\r\nE: f\r\n\r\n", 431),
      Row("ranges", ["limits.ranges": "2"], get + "Range: bytes=0-0,2-2,4-4\r\n\r\n", 200),
    ])
  func messages(_ row: Row) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond("200 OK", [("Cache-Control", "max-age=60")], body: "0123456789")
      }
      let larder = try rig.larder(row.settings)
      let client = try RawClient(port: larder.port)
      try client.send(row.text.replacing("ORIGIN", with: "127.0.0.1:\(origin.port)"))
      #expect(try client.response().status == row.status)
      #expect(try larder.metric("larder_limit_\(row.limit)_total") == 1)
    }
  }

  @Test("RFC 9112 §2.2: what stays just within the limits passes") func justWithin() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond(body: "x")
      }
      let larder = try rig.larder([
        "limits.line_bytes": "512", "limits.field_count": "10", "limits.trailer_count": "2",
        "limits.chunk_line_bytes": "32",
      ])
      let client = try RawClient(port: larder.port)
      let line = "A: \(Self.repeated("b", 507))\r\n"
      try client.send(
        RawClient.request(
          "POST", origin.url("/"), [("Transfer-Encoding", "chunked")] + (0..<7).map { ("X-\($0)", "y") }
        ).dropLast() + line + "\r\n1;\(Self.repeated("a", 31))\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n")
      #expect(try client.response().status == 200)
      #expect(origin.requests.first?.trailers.count == 2)
    }
  }

  @Test func requestsOfOneConnectionAreCountedAndTheLastSaysClose() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "x") }
      let larder = try rig.larder(["clients.requests_per_connection": "3"])
      let client = try RawClient(port: larder.port)
      for number in 1...3 {
        let response = try client.fetch(origin.url("/\(number)"))
        #expect(response.status == 200)
        #expect(response.field("Connection") == (number == 3 ? "close" : nil))
      }
      #expect(try client.isEnded())
      #expect(try larder.metric("larder_limit_clients_requests_per_connection_total") == 1)
    }
  }

  /// RFC 9112 §9.6: closing with unread bytes would reset the connection, and destroy what is still on its way.
  @Test func whatIsAskedBehindTheLastResponseDoesNotCutThatOff() throws {
    try withRig { rig in
      // More than fits between the two sides.
      let body = PatternBody(seed: 501, size: 24 << 20)
      let origin = try rig.origin { exchange in
        try exchange.head("200 OK", [("Content-Length", "\(body.size)"), ("Cache-Control", "max-age=3600")])
        try exchange.body(body, 0..<body.size)
      }
      let larder = try rig.larder(["clients.requests_per_connection": "1"])
      #expect(try RawClient.fetch(origin.url("/"), through: larder.port).body.count == body.size)
      let client = try RawClient(port: larder.port, receiveBuffer: 4096)
      try client.send(RawClient.request("GET", origin.url("/")))
      var response = try client.responseHead()
      try client.send(RawClient.request("GET", origin.url("/")))
      try client.readBody(of: &response)
      #expect(response.end == .clean)
      expectBytes(response.body, body.bytes(0..<body.size))
      client.finish()
      #expect(try client.isEnded())
      #expect(origin.requests.count == 1)
    }
  }

  @Test("RFC 9110 §15.5.9: a head that is not complete in time is answered 408, and a silent client closed")
  func headTimeout() throws {
    try withRig { rig in
      let larder = try rig.larder(["clients.head_timeout": "300ms"])
      let slow = try RawClient(port: larder.port)
      let silent = try RawClient(port: larder.port)
      try slow.send("GET http://a/ HTTP/1.1\r\nHost")
      #expect(try slow.response().status == 408)
      #expect(try slow.isEnded())
      #expect(try silent.isEnded())
      #expect(try larder.metric("larder_limit_clients_head_timeout_total") == 2)
    }
  }

  @Test func anIdleConnectionIsClosed() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond(body: "x") }
      let larder = try rig.larder(["clients.idle_timeout": "300ms"])
      let client = try RawClient(port: larder.port)
      #expect(try client.fetch(origin.url("/")).status == 200)
      #expect(try client.isEnded())
      #expect(try larder.metric("larder_limit_clients_idle_timeout_total") == 1)
    }
  }

  @Test("A body that stands still is answered 408, and the origin does not take it for complete") func bodyTimeout()
    throws
  {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond(body: "taken for complete")
      }
      let larder = try rig.larder(["clients.body_timeout": "300ms"])
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("POST", origin.url("/"), [("Content-Length", "10")]) + "hello")
      #expect(try client.response().status == 408)
      #expect(try client.isEnded())
      #expect(try larder.metric("larder_limit_clients_body_timeout_total") == 1)
    }
  }

  @Test("A body that keeps coming, but slower than the minimum rate, is answered 408") func bodyRate() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond(body: "taken for complete")
      }
      // No client is as fast as that, one octet at a time.
      let larder = try rig.larder(["clients.body_timeout": "1s", "clients.minimum_rate": "1G"])
      let socket = try Socket.connect(port: larder.port)
      try socket.send(RawClient.request("POST", origin.url("/"), [("Content-Length", "100000000")]))
      let drip = Background("the drip") {
        // Each octet waits for an exchange with the administrative listener: that is its pace.
        while (try? socket.send([0x61])) != nil { _ = try larder.admin("/healthz") }
      }
      guard case .bytes(let bytes) = try socket.receive() else { throw HarnessError("no response") }
      #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
      socket.close()
      try drip.join()
      #expect(try larder.metric("larder_limit_clients_body_timeout_total") == 1)
    }
  }

  @Test("A client that keeps taking, but slower than the minimum rate, is cut off") func sendRate() throws {
    try withRig { rig in
      let body = PatternBody(seed: 7, size: 32 << 20)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let larder = try rig.larder(["clients.send_timeout": "1s", "clients.minimum_rate": "1G"])
      // All of it is at hand: while a client waits for the origin, its time does not run.
      expectBytes(try RawClient(port: larder.port).fetch(origin.url("/")).body, body.bytes)
      let socket = try Socket.connect(port: larder.port, receiveBuffer: 4096)
      try socket.send(RawClient.request("GET", origin.url("/")))
      var received = 0
      // So little for each exchange with the administrative listener that all of it takes many seconds.
      while received < body.size, case .bytes(let bytes) = try socket.receive(atMost: 256) {
        received += bytes.count
        _ = try larder.admin("/healthz")
      }
      #expect(received > 0 && received < body.size)
      #expect(try larder.metric("larder_limit_clients_send_timeout_total") == 1)
    }
  }

  @Test("One connection too many of an address: the one that has waited longest for a request goes") func perAddress()
    throws
  {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond("200 OK", [("Cache-Control", "max-age=60")], body: "x") }
      let larder = try rig.larder(["clients.connections_per_address": "4", "workers": "1"])
      let clients = try (0..<4).map { _ in try RawClient(port: larder.port) }
      for client in clients { #expect(try client.fetch(origin.url("/")).status == 200) }
      // The first becomes the one that was used last.
      #expect(try clients[0].fetch(origin.url("/")).status == 200)
      let fifth = try RawClient(port: larder.port)
      #expect(try fifth.fetch(origin.url("/")).status == 200)
      #expect(try clients[1].isEnded())
      for client in [clients[0], clients[2], clients[3]] { #expect(try client.fetch(origin.url("/")).status == 200) }
      #expect(try larder.metric("larder_limit_clients_connections_per_address_total") == 1)
      #expect(try larder.metric("larder_client_connections_shed_total") == 1)
      #expect(try larder.metric("larder_open_client_connections") == 4)
    }
  }

  @Test func aResponseThatIsOnItsWayArrivesWhenItsConnectionGoesForAnother() throws {
    try withRig { rig in
      let body = PatternBody(seed: 502, size: 200_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let larder = try rig.larder(["clients.connections_per_address": "1", "workers": "1"])
      let slow = try RawClient(port: larder.port, receiveBuffer: 4096)
      try slow.send(RawClient.request("GET", origin.url("/")))
      // All of it is in the hands of the system.
      try eventually("the response to have left", until: { $0 == 1 }) { try larder.metric("larder_requests_total") }
      let other = try RawClient(port: larder.port)
      #expect(try other.fetch(origin.url("/")).status == 200)
      #expect(try larder.metric("larder_client_connections_shed_total") == 1)
      let response = try slow.response()
      #expect(response.end == .clean)
      expectBytes(response.body, body.bytes(0..<body.size))
      #expect(try slow.isEnded())
    }
  }

  @Test(
    "Where all connections are at work the new one is refused", arguments: ["connections", "connections_per_address"])
  func allAtWork(_ limit: String) throws {
    try withRig { rig in
      let gate = rig.gate("answers")
      let origin = try rig.origin { exchange in
        try gate.pass()
        try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "x")
      }
      let larder = try rig.larder(["clients.\(limit)": "3", "workers": "1"])
      let clients = try (0..<3).map { _ in try RawClient(port: larder.port) }
      for (number, client) in clients.enumerated() {
        try client.send(RawClient.request("GET", origin.url("/\(number)")))
      }
      try gate.waitForArrival(3)
      let fourth = try RawClient(port: larder.port)
      #expect(try fourth.isEnded())
      gate.open()
      for client in clients { #expect(try client.response().status == 200) }
      #expect(try larder.metric("larder_limit_clients_\(limit)_total") == 1)
      // Now that they wait again, one may go for another of its address, though not for anybody.
      guard limit == "connections_per_address" else { return }
      #expect(try RawClient.fetch(origin.url("/4"), through: larder.port).status == 200)
    }
  }

  @Test func anIdleTunnelIsCounted() throws {
    try withRig { rig in
      let gate = rig.gate("end")
      let origin = try rig.origin { _ in try gate.pass() }
      let larder = try rig.larder(["tunnels.connect_ports": "[\(origin.port)]", "tunnels.idle_timeout": "300ms"])
      let client = try RawClient(port: larder.port)
      try client.send("CONNECT 127.0.0.1:\(origin.port) HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try client.response(to: "CONNECT").status == 200)
      #expect(try client.isEnded())
      #expect(try (larder.metric("larder_limit_tunnels_idle_timeout_total") ?? 0) >= 1)
    }
  }
}
