// One object over several connections: where that is faster, where upstream lets it, and never a byte twice.
import TestSupport
import Testing

@Suite struct ParallelFillTests {
  private static let body = PatternBody(seed: 301, size: 32 << 20)
  /// What one connection that is given up may have had on its way.
  private static let onItsWay = 4 * PacedOrigin.piece

  /// Fetches the body through an origin that is slow as long as `isSlow` says, and checks it.
  private func withSlowOrigin(
    _ settings: [String: String] = [:], fields: [(String, String)] = [("Accept-Ranges", "bytes")],
    entityTag: String = "\"v1\"", isSlow: @escaping @Sendable (PacedOrigin) -> Bool,
    answer: @escaping @Sendable (PacedOrigin, Exchange) throws -> Void = { try $0.serve($1) },
    _ check: (ScriptedOrigin, PacedOrigin, LarderProcess) throws -> Void
  ) throws {
    try withRig { rig in
      let paced = PacedOrigin(Self.body, entityTag: entityTag, fields: fields, while: isSlow)
      let origin = try rig.origin { try answer(paced, $0) }
      let larder = try rig.larder(settings)
      try fetch(origin.url("/"), larder)
      try check(origin, paced, larder)
    }
  }

  private func fetch(_ url: String, _ larder: LarderProcess) throws {
    let checker = BodyChecker(Self.body)
    let client = try RawClient(port: larder.port)
    let response = try client.fetch(url, into: checker.take)
    client.close()
    try demand(response.status == 200 && response.end == .clean, "\(response.head.startLine), \(response.end)")
    try demand(checker.mismatch == nil, "wrong at byte \(checker.mismatch ?? 0)")
    try demandEqual(checker.position, Self.body.size, "length")
  }

  /// Whether no byte was asked for twice: the first exchange may have gone as far as where it was given up.
  private func expectDisjoint(_ requests: [RecordedRequest]) {
    let spans = requests.compactMap { request -> (Int, Int)? in
      let ends = request.field("Range")?.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
      guard let ends, ends.count == 2 else { return nil }
      return (ends[0], ends[1])
    }.sorted { $0.0 < $1.0 }
    for (one, next) in zip(spans, spans.dropFirst()) { #expect(one.1 < next.0, "\(one) and \(next)") }
  }

  @Test func aSlowOriginIsAskedOverSeveralConnectionsAndForEachByteOnce() throws {
    try withSlowOrigin(["fills.connections_per_object": "8"], isSlow: { $0.pieces < 400 }) { origin, paced, larder in
      #expect(paced.peak >= 2 && paced.peak <= 8, "\(paced.peak) at a time")
      let helpers = try larder.metric("larder_fill_helpers_total") ?? 0
      #expect(helpers >= 1)
      try expectReceived(Self.body.size, larder)
      #expect(origin.bodyBytesSent >= Self.body.size && origin.bodyBytesSent <= Self.body.size + Self.onItsWay)
      for request in origin.requests.dropFirst() { #expect(request.field("If-Match") == "\"v1\"") }
      expectDisjoint(origin.requests)
    }
  }

  @Test func readersFromBothWorkersShareWhatComesOverSeveralConnections() throws {
    try withRig { rig in
      let paced = PacedOrigin(Self.body, while: { $0.pieces < 300 })
      let origin = try rig.origin { try paced.serve($0) }
      let larder = try rig.larder(["fills.connections_per_object": "8", "fills.follow_patience": "60s"])
      try concurrently((0..<6).map { _ in { try fetch(origin.url("/"), larder) } })
      try expectReceived(Self.body.size, larder)
      expectDisjoint(origin.requests)
    }
  }

  @Test(arguments: ["503 Service Unavailable", "429 Too Many Requests", "403 Forbidden"])
  func anOriginThatRefusesASecondConnectionIsLeftAlone(_ status: String) throws {
    try withSlowOrigin(
      isSlow: { $0.pieces < 60 },
      answer: { paced, exchange in
        if exchange.request.field("Range") != nil { return try exchange.respond(status) }
        try paced.serve(exchange)
      }
    ) { origin, _, larder in
      #expect(origin.requests.count == 2, "one trial")
      #expect(origin.bodyBytesSent == Self.body.size, "and the exchange that was there brought all of it")
      try fetch(origin.url("/another"), larder)
      #expect(origin.requests.count == 3, "and that is remembered")
    }
  }

  @Test func anOriginThatResetsASecondConnectionIsLeftAlone() throws {
    try withSlowOrigin(
      isSlow: { $0.pieces < 60 },
      answer: { paced, exchange in
        if exchange.request.field("Range") != nil { return exchange.reset() }
        try paced.serve(exchange)
      }
    ) { origin, _, _ in
      #expect(origin.requests.count == 2)
      #expect(origin.bodyBytesSent == Self.body.size)
    }
  }

  /// It says that it serves ranges, and does not.
  @Test func anOriginThatIgnoresRangesIsLeftAlone() throws {
    try withSlowOrigin(
      isSlow: { $0.pieces < 60 }, answer: { try $0.serve($1, ignoresRange: true) }
    ) { origin, _, _ in
      #expect(origin.requests.count == 2)
      #expect(origin.bodyBytesSent <= Self.body.size + (8 << 20), "what was written before the trial was given up")
    }
  }

  /// Another version is no reason to break off the one that is on its way.
  @Test func aHelperThatMeetsAnotherVersionDoesNotDisturbTheRunningBody() throws {
    try withSlowOrigin(
      isSlow: { $0.pieces < 60 },
      answer: { paced, exchange in
        if exchange.request.field("Range") != nil { return try exchange.respond("412 Precondition Failed") }
        try paced.serve(exchange)
      }
    ) { origin, _, _ in
      #expect(origin.requests.count == 2)
      #expect(origin.bodyBytesSent == Self.body.size)
    }
  }

  /// One that serves a connection after the other would never answer the second.
  @Test func anOriginThatAnswersOneAtATimeIsLeftAlone() throws {
    let gate = Monitor<ManualGate?>(nil)
    try withRig { rig in
      gate.withLock { $0 = rig.gate("the second answer") }
      let paced = PacedOrigin(Self.body, while: { $0.pieces < 120 })
      let origin = try rig.origin { exchange in
        if exchange.request.field("Range") != nil { try gate.withLock { $0 }?.pass() }
        try paced.serve(exchange)
      }
      let larder = try rig.larder()
      try fetch(origin.url("/"), larder)
      #expect(origin.requests.count == 2)
      #expect(origin.bodyBytesSent == Self.body.size)
    }
  }

  /// The helper is refused when the member that is left is beyond its piece, and is then sent the whole: it ran on until
  /// it was too far ahead of the reader, which waited for the helper's piece, which waited for the member.
  @Test func whatARefusedHelperLeftBehindComesWithTheWhole() throws {
    try withRig { rig in
      let beyond = rig.gate("a request for what lies behind the helper's piece")
      let refused = rig.gate("the helper's leaving")
      // Where the helper's piece begins, and what is asked for behind it.
      let asked = Monitor((helper: Int?.none, beyond: Int?.none))
      let paced = PacedOrigin(Self.body, while: { _ in asked.withLock { $0.beyond == nil } })
      let origin = try rig.origin { exchange in
        let first =
          exchange.request.field("Range").flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) } ?? 0
        enum Part { case helper, beyond, other }
        let part = asked.withLock { asked -> Part in
          guard let helper = asked.helper else {
            if first > 1000 { asked.helper = first }
            return first > 1000 ? .helper : .other
          }
          guard first > helper, asked.beyond == nil else { return .other }
          asked.beyond = first
          return .beyond
        }
        switch part {
        case .helper:
          try beyond.pass()
          let length = ("Content-Length", "\(Self.body.size)")
          try exchange.head("200 OK", paced.fields + [("ETag", paced.entityTag), length])
          try exchange.waitForPeerToLeave()
          refused.open()
        case .beyond:
          beyond.open()
          try refused.pass()
          try paced.serve(exchange, ignoresRange: true)
        case .other: try paced.serve(exchange)
        }
      }
      let larder = try rig.larder([
        "workers": "1", "fills.connections_per_object": "2", "fills.read_ahead": "8M",
      ])
      let checker = BodyChecker(Self.body, from: 1000)
      let client = try RawClient(port: larder.port)
      let response = try client.fetch(origin.url("/"), [("Range", "bytes=1000-")], into: checker.take)
      #expect(response.status == 206 && response.end == .clean)
      #expect(checker.mismatch == nil && checker.position == Self.body.size)
      let last = asked.withLock { $0.beyond }
      #expect(origin.requests.last?.field("Range")?.hasPrefix("bytes=\(last ?? 0)-") == true, "it brings all the rest")
    }
  }

  @Test func aFastOriginIsAskedOnce() throws {
    try withSlowOrigin(isSlow: { _ in false }) { origin, _, _ in
      #expect(origin.requests.count == 1)
      #expect(origin.bodyBytesSent == Self.body.size)
    }
  }

  @Test(arguments: [
    (["fills.connections_per_object": "1"], "\"v1\"", true), ([:], "W/\"v1\"", true), ([:], "\"v1\"", false),
    (["upstream.connections_per_host": "2", "upstream.idle_per_host": "2"], "\"v1\"", true),
  ])
  func withoutLeaveThereIsOneConnection(settings: [String: String], entityTag: String, statesRanges: Bool) throws {
    try withSlowOrigin(
      settings, fields: statesRanges ? [("Accept-Ranges", "bytes")] : [], entityTag: entityTag,
      isSlow: { $0.pieces < 60 }
    ) { origin, _, _ in
      #expect(origin.requests.count == 1)
      #expect(origin.bodyBytesSent == Self.body.size)
    }
  }

  /// A reader that takes less than upstream brings needs no more connections.
  @Test func aSlowReaderNeedsNoSecondConnection() throws {
    try withRig { rig in
      // What sockets hold comes quickly: only then is the reader what everybody waits for.
      let paced = PacedOrigin(Self.body, slowFrom: 12 << 20, while: { $0.pieces < 60 })
      let origin = try rig.origin { try paced.serve($0) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port, receiveBuffer: 16 << 10)
      try client.send(RawClient.request("GET", origin.url("/")))
      var response = try client.responseHead()
      // Takes nothing until upstream has stopped being slow.
      try paced.waitForPieces(60)
      let checker = BodyChecker(Self.body)
      try client.readBody(of: &response, into: checker.take)
      #expect(checker.mismatch == nil && checker.position == Self.body.size)
      #expect(origin.requests.count == 1)
    }
  }
}
