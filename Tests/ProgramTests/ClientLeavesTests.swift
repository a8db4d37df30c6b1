// A client that leaves at any stage: nothing is lost, the fill follows the rule of abandonment, and nothing stays open.
import TestSupport
import Testing

@Suite struct ClientLeavesTests {
  private static let size = 2_000_000
  private static let body = PatternBody(seed: 431, size: size)
  private static let versions = Versions([.init("\"v1\"", body)])

  /// What a stage works with; its path is its own.
  private struct Stage: Sendable {
    let path: String
    let url: String
    /// Where the origin waits, in the middle of what it sends.
    let gate: ManualGate
    /// Opened by the origin of a pass once the proxy has left it.
    let proxyLeft: ManualGate
    let port: UInt16
    let resets: Bool

    func client() throws -> RawClient { try RawClient(port: port, receiveBuffer: 16 << 10) }

    func ask(_ fields: [(String, String)] = []) throws -> RawClient {
      let client = try client()
      try client.send(RawClient.request("GET", url, fields))
      return client
    }

    func leave(_ client: RawClient) {
      if resets { client.reset() } else { client.close() }
    }

    func fetch(_ fields: [(String, String)] = []) throws -> RawResponse {
      try RawClient.fetch(url, fields, through: port)
    }
  }

  private struct Row: Sendable {
    /// Begins with what the origin does: `whole`, `head`, `body`, `pass`.
    let name: String
    /// Whether the origin sends each byte once, a whole fetch afterwards included.
    let isExact: Bool
    let run: @Sendable (Stage) throws -> Void
  }

  private static let rows = [
    Row(name: "whole: in the head of the request", isExact: true) { stage in
      let client = try stage.client()
      try client.send("GET \(stage.url) HTTP/1.1\r\nHo")
      stage.leave(client)
    },
    Row(name: "head: before the head of the response", isExact: false) { stage in
      let client = try stage.ask()
      try stage.gate.waitForArrival()
      stage.leave(client)
      stage.gate.open()
    },
    Row(name: "head: while it waits for another's head", isExact: true) { stage in
      let first = try stage.ask()
      try stage.gate.waitForArrival()
      let second = try stage.ask()
      stage.leave(second)
      stage.gate.open()
      var response = try first.responseHead()
      try first.readBody(of: &response)
      _ = try versions.judge(response)
      first.close()
    },
    Row(name: "body: after the head of the response", isExact: true) { stage in
      let client = try stage.ask()
      _ = try client.responseHead()
      stage.leave(client)
      stage.gate.open()
    },
    Row(name: "body: in the body of a fetch", isExact: true) { stage in
      let client = try stage.ask()
      _ = try client.responseHead()
      try demand(try client.read(400_000) == body.bytes(0..<400_000), "wrong bytes")
      stage.leave(client)
      stage.gate.open()
    },
    Row(name: "body: in the body of a follow", isExact: true) { stage in
      let first = try stage.ask()
      var response = try first.responseHead()
      try stage.gate.waitForArrival()
      let second = try stage.ask([("Range", "bytes=1000-")])
      _ = try second.responseHead()
      _ = try second.read(100_000)
      stage.leave(second)
      stage.gate.open()
      try first.readBody(of: &response)
      _ = try versions.judge(response)
      try demand(response.end == .clean, "the first reader's end is \(response.end)")
      first.close()
    },
    Row(name: "whole: in the body of a hit", isExact: true) { stage in
      _ = try stage.fetch()
      let client = try stage.ask()
      _ = try client.responseHead()
      _ = try client.read(10_000)
      stage.leave(client)
    },
    Row(name: "whole: in the body of several parts", isExact: true) { stage in
      _ = try stage.fetch([("Range", "bytes=0-999999")])
      let client = try stage.ask([("Range", "bytes=0-699999,900000-1200000")])
      _ = try client.responseHead()
      _ = try client.read(10_000)
      stage.leave(client)
    },
    Row(name: "pass: in the body of a pass", isExact: false) { stage in
      let client = try stage.ask()
      _ = try client.responseHead()
      _ = try client.read(100_000)
      stage.leave(client)
      stage.gate.open()
      try stage.proxyLeft.pass()
    },
    Row(name: "whole: between pipelined requests", isExact: false) { stage in
      let client = try stage.client()
      try client.send(
        RawClient.request("GET", stage.url, [("Range", "bytes=0-9")]) + RawClient.request("GET", stage.url)
          + RawClient.request("GET", stage.url, [("Range", "bytes=-10")]))
      let first = try client.response()
      _ = try versions.judge(first, asked: 0..<10)
      stage.leave(client)
    },
    Row(name: "whole: in the body of the request", isExact: false) { stage in
      let client = try stage.client()
      try client.send(RawClient.request("POST", stage.url, [("Content-Length", "100000")]) + "not all of it")
      stage.leave(client)
    },
  ]

  /// - Parameter leaving: the paths whose first client is going to leave in the middle of a pass, and what is opened
  ///   once that exchange has ended.
  private static func answer(
    _ exchange: Exchange, _ gates: Monitor<[String: ManualGate]>, leaving: Monitor<[String: ManualGate]>
  ) throws {
    let path = exchange.request.target
    guard let gate = gates.withLock({ $0[path] }) else { return try exchange.respond("404 Not Found") }
    if exchange.request.method == "POST" {
      try exchange.readBody()
      return try exchange.respond()
    }
    switch path.dropFirst().prefix(4) {
    case "head":
      try gate.pass()
      try Representation(body).serve(exchange)
    case "body":
      try Representation(body).serve(exchange, .init(.stall(after: 500_000, gate)))
    case "pass":
      try exchange.head("200 OK", [("Cache-Control", "no-store"), ("ETag", "\"v1\""), ("Content-Length", "\(size)")])
      guard let proxyLeft = leaving.withLock({ $0.removeValue(forKey: path) }) else {
        return try exchange.body(body, 0..<size)
      }
      // The proxy may leave before it has taken this.
      try? exchange.body(body, 0..<500_000)
      try gate.pass()
      // A FIN alone may be a half-close (RFC 9112 §9.6): that the client is gone shows when more is sent.
      try? exchange.body(body, 500_000..<size - 16_000)
      try exchange.waitForPeerToLeave()
      proxyLeft.open()
    default:
      try Representation(body).serve(exchange)
    }
  }

  @Test(arguments: [1, 2]) func nothingIsLostAndNothingStaysOpen(workers: Int) throws {
    try withRig { rig in
      let gates = Monitor<[String: ManualGate]>([:])
      let leaving = Monitor<[String: ManualGate]>([:])
      let origin = try rig.origin { try Self.answer($0, gates, leaving: leaving) }
      let larder = try rig.larder([
        "workers": "\(workers)", "upstream.idle_per_host": "0", "log.level": "warning",
      ])
      var descriptors: [Int] = []
      for round in 0..<2 {
        for (number, row) in Self.rows.enumerated() {
          for resets in [false, true] {
            let path = "/\(row.name.prefix(4))-\(round)-\(number)-\(resets)"
            let gate = rig.gate(path)
            let proxyLeft = rig.gate("\(path): the proxy has left")
            gates.withLock { $0[path] = gate }
            leaving.withLock { $0[path] = proxyLeft }
            let stage = Stage(
              path: path, url: origin.url(path), gate: gate, proxyLeft: proxyLeft, port: larder.port, resets: resets)
            do {
              try row.run(stage)
              gate.open()
              let whole = try stage.fetch()
              _ = try Self.versions.judge(whole)
              try demand(whole.end == .clean, "the next client's end is \(whole.end)")
              let sent = origin.requests.filter { $0.target == path }.reduce(0) { $0 + $1.bodyBytesSent }
              try demand(!row.isExact || sent == Self.size, "the origin sent \(sent) bytes")
            } catch {
              throw HarnessError("\(row.name), by \(resets ? "RST" : "FIN"): \(error)")
            }
          }
        }
        try eventually("the end of all connections") {
          $0 == 0
        } ask: {
          Int(try larder.metric("larder_open_client_connections") ?? -1)
        }
        // What is open besides data files: after the first round it must not grow.
        let open = try eventually("the descriptors of the first round") {
          $0 <= descriptors.first ?? .max
        } ask: {
          try larder.descriptorCount() - Int(try larder.metric("larder_store_open_files") ?? 0)
        }
        descriptors.append(open)
      }
      // None was cut off for want of what was missing: its client had left.
      #expect(try larder.metric("larder_aborted_responses_total") == 0)
    }
  }

  /// A fill that nobody reads ends where much is missing: its connection is given up, and what it brought is kept.
  ///
  /// A FIN alone may be a half-close (RFC 9112 §9.6): that nobody reads shows when more is sent.
  @Test(arguments: [false, true]) func anAbandonedFillKeepsWhatItHas(resets: Bool) throws {
    let body = PatternBody(seed: 432, size: 8_000_000)
    let first = 900_000
    let more = 16_000
    try withRig { rig in
      let clientLeft = rig.gate("the client has left")
      let proxyLeft = rig.gate("the proxy has left")
      let origin = try rig.origin { exchange in
        let delivery: Representation.Delivery = .by { exchange, range in
          try exchange.body(body, range.prefix(first))
          try clientLeft.pass()
          if !resets { try exchange.body(body, first..<first + more) }
          try exchange.waitForPeerToLeave()
          proxyLeft.open()
        }
        try Representation(body).serve(exchange, exchange.index == 0 ? .init(delivery) : .init())
      }
      let larder = try rig.larder(["fills.finish_if_missing": "1M", "fills.finish_if_done": "80%"])
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      _ = try client.responseHead()
      expectBytes(try client.read(first), body.bytes(0..<first))
      if resets { client.reset() } else { client.close() }
      clientLeft.open()
      try proxyLeft.pass()
      let next = try RawClient.fetch(origin.url("/"), through: larder.port)
      expectBytes(next.body, body.bytes)
      // What was on its way when the connection was given up comes again, and nothing else.
      #expect(origin.bodyBytesSent >= body.size && origin.bodyBytesSent <= body.size + (resets ? 0 : more))
    }
  }

  /// One that nearly has all goes on, by either of the two measures.
  @Test(arguments: [("1M", "100%", 1_200_000), ("0", "60%", 1_300_000)])
  func aFillThatNearlyHasAllGoesOn(missing: String, done: String, sent: Int) throws {
    try withRig { rig in
      let gate = rig.gate("the rest")
      let finished = rig.gate("all is sent")
      let origin = try rig.origin { exchange in
        try Representation(Self.body).serve(exchange, .init(.stall(after: sent, gate)))
        finished.open()
      }
      let larder = try rig.larder(["fills.finish_if_missing": missing, "fills.finish_if_done": done])
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      _ = try client.responseHead()
      expectBytes(try client.read(sent), Self.body.bytes(0..<sent))
      client.reset()
      try eventually("the client's end") {
        $0 == 0
      } ask: {
        try larder.metric("larder_open_client_connections") ?? -1
      }
      gate.open()
      try finished.pass()
      let next = try RawClient.fetch(origin.url("/"), through: larder.port)
      expectBytes(next.body, Self.body.bytes)
      #expect(origin.requests.count == 1 && origin.bodyBytesSent == Self.size)
    }
  }

  /// A client that has said all it will say still gets its answer (RFC 9112 §9.6).
  @Test func aClientThatHalfClosesGetsItsResponse() throws {
    try withRig { rig in
      let origin = try rig.origin { try Representation(Self.body).serve($0) }
      let larder = try rig.larder()
      for _ in 0..<2 {
        let client = try RawClient(port: larder.port)
        try client.send(RawClient.request("GET", origin.url("/")))
        client.finish()
        let response = try client.response()
        #expect(response.status == 200 && response.end == .clean)
        expectBytes(response.body, Self.body.bytes)
        #expect(try client.isEnded())
      }
    }
  }
}
