// Clients that leave, half leave, or hold what they never use.
import Foundation
import TestSupport
import Testing

@Suite struct SlowClientTests {
  /// How a client leaves while its request waits for the origin.
  enum Leaving: CaseIterable {
    case finish
    case reset
    /// The end of its direction comes together with the request.
    case finishAtOnce
  }

  @Test(
    "A client that leaves while its request waits for a head is not waited for", arguments: Leaving.allCases,
    ["GET", "POST"])
  func leavesWhileWaiting(_ leaving: Leaving, _ method: String) throws {
    try withRig { rig in
      let left = rig.gate("the proxy has left the origin")
      let came = rig.gate("the request has come")
      let origin = try rig.origin { exchange in
        if exchange.index > 0 { return try exchange.respond(body: "x") }
        came.open()
        try exchange.waitForPeerToLeave()
        left.open()
      }
      let larder = try rig.larder(["workers": "1", "clients.half_closed_timeout": "100ms"])
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request(method, origin.url("/"), method == "POST" ? [("Content-Length", "0")] : []))
      switch leaving {
      case .finish:
        try came.pass()
        client.finish()
        #expect(try client.isEnded())
      case .reset:
        try came.pass()
        client.reset()
      case .finishAtOnce:
        client.finish()
        #expect(try client.isEnded())
      }
      // The end may have come before anything was asked of the origin.
      if !origin.requests.isEmpty { try left.pass() }
      _ = try larder.accessLog(count: 1)
      #expect(try larder.metric("larder_clients_gone_total") == 1)
      #expect(
        try larder.metric("larder_limit_clients_half_closed_timeout_total") == (leaving == .reset ? 0 : 1))
      #expect(try larder.metric("larder_open_client_connections") == 0)
    }
  }

  @Test("What is stored is sent to a client that has ended its direction") func halfClosedHit() throws {
    try withRig { rig in
      let body = PatternBody(seed: 3, size: 2_000_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let larder = try rig.larder()
      #expect(try RawClient.fetch(origin.url("/"), through: larder.port).body.count == body.size)
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      client.finish()
      expectBytes(try client.response().body, body.bytes)
      #expect(try client.isEnded())
    }
  }

  @Test(
    "RFC 9112 §8: a body that ends early is answered 400, and no origin takes it for complete",
    arguments: ["Content-Length: 10", "Transfer-Encoding: chunked"])
  func cutBody(_ framing: String) throws {
    try withRig { rig in
      let isComplete = Monitor(false)
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        isComplete.withLock { $0 = true }
        try exchange.respond(body: "taken for complete")
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send("POST \(origin.url("/")) HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n5\r\nab")
      try origin.waitForRequests(1)
      client.finish()
      let response = try client.response()
      #expect(response.status == 400)
      #expect(response.text.contains("ended"))
      #expect(try client.isEnded())
      #expect(!isComplete.withLock { $0 })
    }
  }

  @Test("5,000 slow connections of one client are shed, and hits go on meanwhile, on old connections and on new ones")
  func manySlowConnections() throws {
    let count = 5_000
    try raiseDescriptorLimit(to: count + 500)
    try withRig { rig in
      let origin = try rig.origin { try $0.respond("200 OK", [("Cache-Control", "max-age=600")], body: "stored") }
      // However long it takes to make so many, none is ended for its slowness.
      let larder = try rig.larder(["clients.connections_per_address": "1000", "clients.head_timeout": "10m"])
      let kept = try RawClient(port: larder.port)
      #expect(try kept.fetch(origin.url("/")).status == 200)
      var slow: [Socket] = []
      var hits = 0
      for number in 0..<count {
        let socket = try Socket.connect(port: larder.port)
        // It may have been shed already.
        try? socket.send("GET \(origin.url("/")) HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        slow.append(socket)
        if number % 50 == 0 {
          let old = try kept.fetch(origin.url("/"))
          let new = try RawClient.fetch(origin.url("/"), through: larder.port)
          if isHit(old), isHit(new), old.text == "stored", new.text == "stored" { hits += 2 }
        }
      }
      #expect(hits == count / 50 * 2)
      #expect(origin.requests.count == 1)
      #expect(isHit(try kept.fetch(origin.url("/"))))
      // The last may still wait to be accepted by the worker that is not the kept connection's.
      let shed = try eventually("all to be shed but 1000", until: { $0 >= Double(count) - 1000 }) {
        try larder.metric("larder_client_connections_shed_total") ?? 0
      }
      let open = try #require(try larder.metric("larder_open_client_connections"))
      #expect(open <= 1000)
      #expect(shed <= Double(count + hits + 2))
      #expect(try larder.descriptorCount() < 1200)
      #expect(try larder.metric("larder_limit_clients_connections_per_address_total") ?? 0 >= shed)
      for socket in slow { socket.close() }
    }
  }

  private func raiseDescriptorLimit(to count: Int) throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    if limit.rlim_cur >= rlim_t(count) { return }
    limit.rlim_cur = min(limit.rlim_max, max(rlim_t(count), limit.rlim_cur))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    try demand(limit.rlim_cur >= rlim_t(count), "the system allows \(limit.rlim_max) descriptors")
  }
}
