// What the cache has no room for is passed on: right bytes, as many as were promised, whatever the origin makes of it.
import TestSupport
import Testing

@Suite struct RelayTests {
  private static let body = PatternBody(seed: 621, size: 40_000_000)
  /// The store has no room for a piece of an object that is larger than itself.
  private static let settings = ["workers": "1", "cache.size": "4M"]

  /// Answers a Range with the whole from the second request on.
  private static func serveWhole(_ exchange: Exchange, _ delivery: Representation.Delivery = .whole) throws {
    guard exchange.index > 0 else { return try Representation(body).serve(exchange) }
    var behaviour = Representation.Behaviour(delivery)
    behaviour.ignoresRange = true
    try Representation(body).serve(exchange, behaviour)
  }

  private func range(_ spans: Range<Int>...) -> (String, String) {
    ("Range", "bytes=" + spans.map { "\($0.lowerBound)-\($0.upperBound - 1)" }.joined(separator: ","))
  }

  /// A range that there is no room for arrives through a new proxy that has the first few bytes of it stored: the second
  /// request is the relay's own.
  private func expectRelayed(_ span: Range<Int>, of origin: ScriptedOrigin, _ rig: Rig) throws {
    let larder = try rig.larder(Self.settings)
    let client = try RawClient(port: larder.port)
    _ = try client.fetch(origin.url("/"), [range(span.prefix(10))])
    let response = try client.fetch(origin.url("/"), [range(span)])
    #expect(response.status == 206 && response.end == .clean)
    expectBytes(response.body, Self.body.bytes(span))
  }

  /// RFC 9110 §15.3.7.2: behind the bytes of a part stands the boundary, not what follows them in the object.
  @Test func partsFromAnOriginThatIgnoresRangeEndWhereTheyEnd() throws {
    try withRig { rig in
      let origin = try rig.origin { try Self.serveWhole($0) }
      let larder = try rig.larder(Self.settings)
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [range(0..<10)])
      let spans = [1_000_000..<6_000_000, 9_000_000..<14_000_000]
      let response = try client.fetch(origin.url("/"), [range(spans[0], spans[1])])
      #expect(response.status == 206 && response.end == .clean)
      let found = try parts(of: response)
      #expect(found.map(\.contentRange) == ["bytes 1000000-5999999/40000000", "bytes 9000000-13999999/40000000"])
      for (part, span) in zip(found, spans) { expectBytes(part.body, Self.body.bytes(span)) }
    }
  }

  /// The next request on the connection does not wait for the rest of an object that nobody wants.
  @Test func aPartFromAnOriginThatIgnoresRangeEndsItsExchange() throws {
    try withRig { rig in
      let rest = rig.gate("the rest of the object")
      let hasWaitedInVain = Monitor(false)
      let origin = try rig.origin { exchange in
        let delivery = Representation.Delivery.by { exchange, _ in
          try exchange.body(Self.body, 0..<7_000_000)
          do {
            try rest.pass()
          } catch {
            hasWaitedInVain.withLock { $0 = true }
            throw error
          }
        }
        try Self.serveWhole(exchange, delivery)
      }
      let larder = try rig.larder(Self.settings.merging(["upstream.stall_timeout": "10m"]) { $1 })
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [range(0..<10)])
      let response = try client.fetch(origin.url("/"), [range(1_000_000..<6_000_000)])
      #expect(response.status == 206 && response.end == .clean)
      expectBytes(response.body, Self.body.bytes(1_000_000..<6_000_000))
      #expect(isHit(try client.fetch(origin.url("/"), [range(0..<10)])))
      #expect(!hasWaitedInVain.withLock { $0 })
    }
  }

  /// What an origin does once in a while.
  enum Trouble: CaseIterable {
    /// RFC 9110 §15.6.4: it may serve the same request a moment later.
    case busy
    case wrongPart
    case emptyPart
  }

  @Test(arguments: Trouble.allCases) func aRelayedPartSurvivesWhatARetryMends(_ trouble: Trouble) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let resource = Representation(Self.body)
        guard exchange.index % 2 == 1 else { return try resource.serve(exchange) }
        switch trouble {
        case .busy: try exchange.respond("503 Service Unavailable", [("Retry-After", "0")])
        case .wrongPart: try Representation(Self.body, entityTag: nil).serve(exchange, Self.unconditional())
        case .emptyPart: try resource.serve(exchange, .init(.finish(after: 0)))
        }
      }
      try expectRelayed(10_000_000..<16_000_000, of: origin, rig)
    }
  }

  private static func unconditional() -> Representation.Behaviour {
    var behaviour = Representation.Behaviour()
    behaviour.ignoresConditions = true
    return behaviour
  }

  /// An origin whose parts name no validator any more still has the whole under the right one.
  @Test func wherePartsStayWrongTheWholeIsRelayed() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let isWrong = exchange.index > 0 && exchange.request.field("Range") != nil
        try Representation(Self.body, entityTag: isWrong ? nil : "\"v1\"").serve(exchange, Self.unconditional())
      }
      try expectRelayed(10_000_000..<16_000_000, of: origin, rig)
      #expect(origin.requests.last?.field("Range") == nil)
    }
  }

  /// Honest answers of a few bytes each are not followed up for ever.
  @Test func anOriginThatGivesCrumbsIsNotAskedForEach() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let resource = Representation(Self.body)
        let range = exchange.request.field("Range")?.dropFirst("bytes=".count).split(separator: "-").first
        guard exchange.index > 0, let first = range.flatMap({ Int($0) }) else { return try resource.serve(exchange) }
        try exchange.head(
          "206 Partial Content",
          [
            ("ETag", resource.entityTag ?? ""), ("Content-Length", "10"),
            ("Content-Range", "bytes \(first)-\(first + 9)/\(Self.body.size)"),
          ])
        try exchange.body(Self.body.bytes(first..<first + 10))
      }
      let larder = try rig.larder(Self.settings.merging(["fills.attempts": "3"]) { $1 })
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [range(10_000_000..<10_000_010)])
      let response = try client.fetch(origin.url("/"), [range(10_000_000..<16_000_000)])
      #expect(response.end != .clean || response.status >= 500)
      if response.status == 206 {
        expectBytes(response.body, Self.body.bytes(10_000_000..<10_000_000 + response.body.count))
      }
      #expect(origin.requests.count < 20)
    }
  }

  /// RFC 9110 §15.5.17: a 416 names the length, and nothing is missing where all of that has been sent.
  @Test func aRelayedBodyOfUnknownLengthIsCompleteWhereA416SaysSo() throws {
    let body = PatternBody(seed: 622, size: 20_000_000)
    try withRig { rig in
      let origin = try rig.origin { exchange in
        if exchange.request.field("Range") == "bytes=\(body.size)-" { return try Representation(body).serve(exchange) }
        try exchange.head(
          "200 OK", [("Transfer-Encoding", "chunked"), ("ETag", "\"v1\""), ("Cache-Control", "max-age=3600")])
        for offset in stride(from: 0, to: body.size, by: 100_000) {
          try exchange.chunk(body.bytes(offset..<offset + 100_000))
        }
        exchange.finish()
      }
      let larder = try rig.larder(["workers": "1", "cache.size": "8M"])
      let checker = BodyChecker(body)
      let response = try RawClient(port: larder.port).fetch(origin.url("/"), into: checker.take)
      #expect(response.status == 200 && response.end == .clean)
      #expect(checker.mismatch == nil && checker.position == body.size)
      #expect(origin.requests.last?.field("Range") == "bytes=\(body.size)-")
    }
  }

  /// The answer that was to be stored is relayed, and where it breaks off the rest is asked for.
  @Test func anAnswerThatThereIsNoRoomForIsContinued() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try Representation(Self.body).serve(exchange, exchange.index == 1 ? .init(.finish(after: 2_000_000)) : .init())
      }
      let larder = try rig.larder(Self.settings)
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [range(0..<10)])
      let response = try client.fetch(origin.url("/"), [range(10_000_000..<16_000_000)])
      #expect(response.status == 206 && response.end == .clean)
      expectBytes(response.body, Self.body.bytes(10_000_000..<16_000_000))
      #expect(
        origin.requests.dropFirst().map { $0.field("Range") } == [
          "bytes=10000000-15999999", "bytes=12000000-15999999",
        ])
    }
  }

  /// Rule 2: what is stored is sent from there, and what there is no room for is asked for once only.
  @Test func whatIsStoredBetweenRelayedGapsIsNotAskedFor() throws {
    try withRig { rig in
      let origin = try rig.origin { try Representation(Self.body).serve($0) }
      let larder = try rig.larder(Self.settings)
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [range(14_000_000..<15_000_000)])
      let response = try client.fetch(origin.url("/"), [range(9_000_000..<20_000_000)])
      #expect(response.status == 206 && response.end == .clean)
      expectBytes(response.body, Self.body.bytes(9_000_000..<20_000_000))
      #expect(
        origin.requests.dropFirst().map { $0.field("Range") } == [
          "bytes=9000000-13999999", "bytes=15000000-19999999",
        ])
    }
  }
}
