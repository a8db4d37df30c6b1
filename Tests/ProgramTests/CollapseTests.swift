// Requests for one key while the head for the first of them is awaited (RFC 9211 §2.6), and what Cache-Status says.
import TestSupport
import Testing

@Suite struct CollapseTests {
  private static let shareable = [("Cache-Control", "max-age=600")]

  /// A request whose response head is awaited.
  private struct Stage {
    let origin: ScriptedOrigin
    let larder: LarderProcess
    let leader: RawClient
    /// Where the origin waits with the head.
    let gate: ManualGate
  }

  /// Has the first request for a key wait for the head of its response.
  ///
  /// - Parameter respond: what the origin says once the gate is open.
  private func withLeader(
    _ settings: [String: String] = [:], _ respond: @escaping @Sendable (Exchange) throws -> Void,
    _ body: (Stage) throws -> Void
  ) throws {
    try withRig { rig in
      let gate = rig.gate("head")
      let origin = try rig.origin { exchange in
        if exchange.index == 0 { try gate.pass() }
        try respond(exchange)
      }
      let larder = try rig.larder(settings.merging(["workers": "1"]) { own, _ in own })
      let leader = try follow(origin.url("/"), through: larder)
      try gate.waitForArrival()
      try body(Stage(origin: origin, larder: larder, leader: leader, gate: gate))
    }
  }

  /// Sends a request on a connection of its own; it waits where another's head is awaited.
  private func follow(_ url: String, through larder: LarderProcess) throws -> RawClient {
    let client = try RawClient(port: larder.port)
    try client.send(RawClient.request("GET", url))
    return client
  }

  private func follow(_ stage: Stage) throws -> RawClient {
    try follow(stage.origin.url("/"), through: stage.larder)
  }

  @Test("RFC 9211 §2.6: those that wait for another's response head share its response, and say so") func collapsed()
    throws
  {
    try withLeader {
      try $0.respond("200 OK", Self.shareable, body: "shared")
    } _: { stage in
      let others = try (0..<3).map { _ in try follow(stage) }
      try letWorkerRead(stage.larder)
      stage.gate.open()
      #expect(cacheStatus(try stage.leader.response()).contains("fwd=uri-miss"))
      for other in others {
        let response = try other.response()
        #expect(response.text == "shared")
        #expect(cacheStatus(response).contains("fwd=uri-miss") && cacheStatus(response).contains("collapsed"))
      }
      #expect(stage.origin.requests.count == 1)
    }
  }

  /// Its first bytes are there when it comes, so that it waits for nothing before its head goes out.
  @Test func whoComesToARunningFillSaysSo() throws {
    try withRig { rig in
      let body = PatternBody(seed: 72, size: 500_000)
      let gate = rig.gate("rest")
      let origin = try rig.origin { try Representation(body).serve($0, .init(.stall(after: 200_000, gate))) }
      let larder = try rig.larder(["fills.follow_patience": "60s"])
      let first = try RawClient(port: larder.port)
      try first.send(RawClient.request("GET", origin.url("/")))
      var leading = try first.responseHead()
      leading.body = try first.read(100_000)
      let second = try RawClient(port: larder.port)
      try second.send(RawClient.request("GET", origin.url("/")))
      var following = try second.responseHead()
      #expect(leading.cacheStatus.contains("fwd=uri-miss"))
      #expect(following.cacheStatus.contains("fwd=partial; collapsed"), "\(following.cacheStatus)")
      gate.open()
      let checker = BodyChecker(body, from: 0)
      try second.readBody(of: &following, into: checker.take)
      #expect(following.end == .clean && checker.mismatch == nil && checker.position == body.size)
      #expect(origin.requests.count == 1)
    }
  }

  @Test func whoWaitsForARequestThatFailsSharesTheNext() throws {
    try withRig { rig in
      let gate = rig.gate("failure")
      let origin = try rig.origin { exchange in
        guard exchange.index > 0 else {
          try gate.pass()
          return exchange.reset()
        }
        try exchange.respond("200 OK", [("Cache-Control", "max-age=600")], body: "shared")
      }
      let larder = try rig.larder(["workers": "1"])
      let leader = try follow(origin.url("/"), through: larder)
      try gate.waitForArrival()
      let others = try (0..<4).map { _ in try follow(origin.url("/"), through: larder) }
      try letWorkerRead(larder)
      gate.open()
      #expect(try leader.response().status == 502)
      for other in others { #expect(try other.response().text == "shared") }
      #expect(origin.requests.count == 2)
    }
  }

  /// The time that a request waits for another's head is longer here than a test's patience.
  @Test func whoTakesAValidatedResponseSlowlyKeepsNobodyWaiting() throws {
    try withRig { rig in
      let body = PatternBody(seed: 503, size: 24 << 20)
      let origin = try rig.origin { exchange in
        try Representation(body, entityTag: "\"v1\"", fields: [("Cache-Control", "max-age=0")]).serve(exchange)
      }
      let larder = try rig.larder(["fills.collapse_timeout": "600s"])
      #expect(try RawClient.fetch(origin.url("/"), through: larder.port).body.count == body.size)
      let slow = try RawClient(port: larder.port, receiveBuffer: 4096)
      try slow.send(RawClient.request("GET", origin.url("/")))
      #expect(cacheStatus(try slow.responseHead()).contains("fwd-status=304"))
      let other = try RawClient.fetch(origin.url("/"), [("Range", "bytes=5-9")], through: larder.port)
      #expect(other.status == 206 && cacheStatus(other).contains("fwd-status=304"))
      expectBytes(other.body, body.bytes(5..<10))
    }
  }

  @Test("RFC 9211 §2.6: a response that cannot be shared is fetched by each that waited, and they say so")
  func notCollapsed() throws {
    try withLeader { exchange in
      try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "own \(exchange.index)")
    } _: { stage in
      let other = try follow(stage)
      try letWorkerRead(stage.larder)
      stage.gate.open()
      #expect(!cacheStatus(try stage.leader.response()).contains { $0.hasPrefix("collapsed") })
      #expect(cacheStatus(try other.response()).contains("collapsed=?0"))
      #expect(stage.origin.requests.count == 2)
    }
  }

  @Test("RFC 9111 §4.3.3: a 304 to a client's own condition says nothing of what others get: they still share")
  func notModifiedForOne() throws {
    try withRig { rig in
      let first = rig.gate("304")
      let second = rig.gate("200")
      let origin = try rig.origin { exchange in
        if exchange.request.field("If-None-Match") != nil {
          try first.pass()
          return try exchange.head("304 Not Modified", [("ETag", "\"v1\"")])
        }
        try second.pass()
        try exchange.respond("200 OK", [("Cache-Control", "max-age=600"), ("ETag", "\"v2\"")], body: "shared")
      }
      let larder = try rig.larder(["workers": "1"])
      let leader = try RawClient(port: larder.port)
      try leader.send(RawClient.request("GET", origin.url("/"), [("If-None-Match", "\"v1\"")]))
      try first.waitForArrival()
      var others = try (0..<3).map { _ in try follow(origin.url("/"), through: larder) }
      try letWorkerRead(larder)
      first.open()
      #expect(try leader.response().status == 304)
      try second.waitForArrival()
      // Nor is it remembered for those that come later.
      others += try (0..<3).map { _ in try follow(origin.url("/"), through: larder) }
      try letWorkerRead(larder)
      second.open()
      for other in others { #expect(try other.response().text == "shared") }
      #expect(origin.requests.count == 2)
    }
  }

  @Test("RFC 9111 §3.3: a part that cannot be stored says nothing of the whole: those that want that still share it")
  func partForOne() throws {
    try withRig { rig in
      let first = rig.gate("206")
      let second = rig.gate("200")
      let origin = try rig.origin { exchange in
        if exchange.request.field("Range") != nil {
          if exchange.index == 0 { try first.pass() }
          return try exchange.respond(
            "206 Partial Content", Self.shareable + [("Content-Range", "bytes 0-0/6")], body: "s")
        }
        try second.pass()
        try exchange.respond("200 OK", Self.shareable, body: "shared")
      }
      let larder = try rig.larder(["workers": "1"])
      let range = ("Range", "bytes=0-0")
      let leader = try RawClient(port: larder.port)
      try leader.send(RawClient.request("GET", origin.url("/"), [range]))
      try first.waitForArrival()
      var others = try (0..<3).map { _ in try follow(origin.url("/"), through: larder) }
      try letWorkerRead(larder)
      first.open()
      #expect(try leader.response().text == "s")
      try second.waitForArrival()
      // Nor is it remembered for those that come later; who wants a part waits for nobody.
      others += try (0..<3).map { _ in try follow(origin.url("/"), through: larder) }
      try letWorkerRead(larder)
      #expect(try RawClient.fetch(origin.url("/"), [range], through: larder.port).text == "s")
      second.open()
      for other in others { #expect(try other.response().text == "shared") }
      #expect(origin.requests.count == 3)
    }
  }

  @Test("RFC 9112 §9.6: a half-closed client does not wait for another's response head for ever") func halfClosed()
    throws
  {
    try withLeader(["clients.half_closed_timeout": "100ms", "fills.collapse_timeout": "1h"]) {
      try $0.respond("200 OK", Self.shareable, body: "x")
    } _: { stage in
      let late = try follow(stage)
      try letWorkerRead(stage.larder)
      late.finish()
      #expect(try late.isEnded())
      let early = try follow(stage)
      early.finish()
      #expect(try early.isEnded())
      #expect(try stage.larder.metric("larder_limit_clients_half_closed_timeout_total") == 2)
      // Counted right behind the end of the connection.
      try eventually("both to be counted", until: { $0 == 2 }) { try stage.larder.metric("larder_clients_gone_total") }
      #expect(stage.origin.requests.count == 1)
      stage.gate.open()
      #expect(try stage.leader.response().text == "x")
    }
  }

  @Test("RFC 9211 §2.2, §2.7: a request that is never cached says bypass, and the key is told by a setting")
  func bypassAndKey() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond("200 OK", [("Cache-Control", "max-age=600")], body: "x") }
      let larder = try rig.larder(["cache.status_key": "yes"])
      let url = origin.url("/a?b=c")
      let fields = [("Connection", "Upgrade"), ("Upgrade", "other")]
      let declined = cacheStatus(try RawClient.fetch(url, fields, through: larder.port))
      #expect(declined.contains("fwd=bypass") && declined.contains("detail=upgrade"))
      for _ in 0..<2 {
        #expect(cacheStatus(try RawClient.fetch(url, through: larder.port)).contains("key=\"\(url)\""))
      }
    }
  }
}
