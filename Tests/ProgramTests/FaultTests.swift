// An origin that cuts, resets, stalls, refuses or tells no length: what the client sees is right, or visibly broken.
import TestSupport
import Testing

@Suite struct FaultTests {
  private typealias Behaviour = Representation.Behaviour

  /// A proxy before an origin whose behaviour depends on the number of the request.
  private func withOrigin(
    _ resource: Representation, _ settings: [String: String] = [:],
    behaviour: @escaping @Sendable (Exchange) -> Representation.Behaviour,
    _ run: (Rig, ScriptedOrigin, LarderProcess) throws -> Void
  ) throws {
    try withRig { rig in
      let origin = try rig.origin { try resource.serve($0, behaviour($0)) }
      try run(rig, origin, try rig.larder(settings))
    }
  }

  @Test func aBodyCutEverySoOftenArrivesWholeAndEachByteOnce() throws {
    let body = PatternBody(seed: 81, size: 6_000_000)
    try withOrigin(Representation(body), behaviour: { .init(.finish(after: 100_000 + $0.index * 77_777 % 500_000)) }) {
      rig, origin, larder in
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.status == 200 && response.end == .clean)
      expectBytes(response.body, body.bytes)
      #expect(origin.bodyBytesSent >= body.size)
      // Each answer to a resumption promised the rest, and was cut; only what was sent counts.
      #expect(origin.bodyBytesSent == body.size)
      for request in origin.requests.dropFirst() { #expect(request.field("If-Match") == "\"v1\"") }
    }
  }

  @Test func aBodyCutAtEveryByteArrivesWhole() throws {
    let body = PatternBody(seed: 82, size: 24)
    try withRig { rig in
      let seen = Monitor<Set<String>>([])
      let origin = try rig.origin { exchange in
        let cut = Int(exchange.request.target.dropFirst()) ?? 0
        let isFirst = seen.withLock { $0.insert(exchange.request.target).inserted }
        try Representation(body).serve(exchange, isFirst ? .init(.finish(after: cut)) : .init())
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for cut in 0...24 {
        for _ in 0..<2 {
          let response = try client.fetch(origin.url("/\(cut)"))
          #expect(response.end == .clean, "cut at \(cut)")
          expectBytes(response.body, body.bytes)
        }
      }
      #expect(origin.bodyBytesSent == 25 * 24)
    }
  }

  @Test func aResetCostsNoMoreThanWhatWasOnItsWay() throws {
    let body = PatternBody(seed: 83, size: 6_000_000)
    try withOrigin(Representation(body), behaviour: { .init($0.index < 8 ? .reset(after: 500_000) : .whole) }) {
      rig, origin, larder in
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.end == .clean)
      expectBytes(response.body, body.bytes)
      // Nothing but what the reset destroyed in the receiver's buffers may come again.
      #expect(origin.bodyBytesSent <= body.size + 8 * 500_000)
    }
  }

  @Test func relayCutsBelowHTTPAreHealed() throws {
    try withRig { rig in
      let body = PatternBody(seed: 84, size: 5_000_000)
      let nginx = try rig.nginx()
      try nginx.publish("/file", body)
      let relay = try rig.relay(to: nginx.port) { $0 < 6 ? .finish(after: 700_000) : .none }
      let larder = try rig.larder()
      let response = try RawClient.fetch(relay.url("/file"), through: larder.port)
      #expect(response.end == .clean)
      expectBytes(response.body, body.bytes)
      #expect(relay.connections >= 7)
      #expect(relay.bytesRelayed < body.size + 20_000, "heads, and nothing twice")
    }
  }

  @Test func aStalledBodyIsResumedElsewhere() throws {
    let body = PatternBody(seed: 85, size: 2_000_000)
    try withRig { rig in
      let gate = rig.gate("never")
      let origin = try rig.origin { exchange in
        try Representation(body).serve(
          exchange, exchange.index == 0 ? .init(.stallThenFinish(after: 700_000, gate)) : .init())
      }
      let larder = try rig.larder(["upstream.stall_timeout": "2s"])
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.end == .clean)
      expectBytes(response.body, body.bytes)
      #expect(origin.bodyBytesSent == body.size)
      #expect(origin.requests.last?.field("Range") == "bytes=700000-" || origin.requests.count == 2)
    }
  }

  /// Once for the gap, not once for each of its windows.
  @Test func withoutRangesUpstreamAGapOfManyWindowsIsAskedForOnce() throws {
    try withRig { rig in
      let body = PatternBody(seed: 19, size: 3_000_000)
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        // What is present at first came as a range.
        behaviour.ignoresRange = exchange.index > 0
        try Representation(body).serve(exchange, behaviour)
      }
      let larder = try rig.larder(["fills.window": "256K", "fills.window_max": "256K"])
      let url = origin.url("/")
      let part = try RawClient.fetch(url, [("Range", "bytes=0-199")], through: larder.port)
      #expect(part.status == 206)
      let checker = BodyChecker(body)
      let client = try RawClient(port: larder.port)
      #expect(try client.fetch(url) { checker.take($0) }.status == 200)
      #expect(checker.position == body.size)
      #expect(checker.mismatch == nil)
      #expect(origin.requests.count == 2, "\(origin.requests.count) requests")
    }
  }

  @Test func withoutRangesUpstreamTheBodyIsReadAgainFromZeroAndSkipped() throws {
    let body = PatternBody(seed: 86, size: 2_000_000)
    try withOrigin(
      Representation(body),
      behaviour: { exchange in
        var behaviour = Behaviour(exchange.index == 0 ? .finish(after: 1_200_000) : .whole)
        behaviour.ignoresRange = true
        return behaviour
      }
    ) { rig, origin, larder in
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.end == .clean)
      expectBytes(response.body, body.bytes)
      #expect(origin.requests.count == 2)
    }
  }

  @Test(arguments: [nil, "W/\"weak\""], [Representation.Framing.length, .chunked])
  func withoutAStrongValidatorACutIsPassedOnAsACut(_ tag: String?, _ framing: Representation.Framing) throws {
    let body = PatternBody(seed: 87, size: 500_000)
    try withOrigin(
      Representation(body, entityTag: tag),
      behaviour: { exchange in
        var behaviour = Behaviour(exchange.index == 0 ? .finish(after: 200_000) : .whole)
        behaviour.framing = framing
        return behaviour
      }
    ) { rig, origin, larder in
      let broken = try RawClient.fetch(origin.url("/"), through: larder.port)
      // Where the cut comes before the head has gone out, it is said with a status.
      #expect(broken.end != .clean || broken.status == 502)
      #expect(broken.status == 502 || body.firstMismatch(broken.body, at: 0) == nil)
      let whole = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(whole.end == .clean)
      expectBytes(whole.body, body.bytes)
    }
  }

  /// Nobody is promised a body of which nothing comes: neither who asks first nor who asks when the head is stored.
  @Test func anOriginThatSendsHeadsOnlyIsAnErrorEachTime() throws {
    let body = PatternBody(seed: 89, size: 500_000)
    try withOrigin(
      Representation(body), ["fills.attempts": "1"], behaviour: { _ in Behaviour(.finish(after: 0)) }
    ) { rig, origin, larder in
      for _ in 0..<3 {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(response.status == 502)
        #expect(response.end == .clean)
      }
      #expect(origin.requests.contains { $0.head.first("Range") != nil }, "the head was stored")
    }
  }

  /// An origin that is gone for good: bounded attempts, then a visible end.
  @Test func whenTheOriginStaysAwayTheReaderSeesACut() throws {
    let body = PatternBody(seed: 88, size: 1_000_000)
    try withRig { rig in
      let origin = try rig.origin { exchange in
        guard exchange.index == 0 else { return exchange.reset() }
        try Representation(body).serve(exchange, .init(.finish(after: 400_000)))
      }
      let larder = try rig.larder(["fills.attempts": "3"])
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.status == 200 && response.end != .clean)
      #expect(body.firstMismatch(response.body, at: 0) == nil)
      #expect(response.body.count == 400_000, "all that there is arrives")
      // A fill that ends while the reader still has bytes to send is followed by one more, and each asks once and again.
      #expect(origin.requests.count <= 2 * (1 + 3))
    }
  }

  @Test(arguments: [
    "503 Service Unavailable", "429 Too Many Requests", "500 Internal Server Error", "416 Range Not Satisfiable",
  ])
  func aResumptionThatIsRefusedForTheMomentIsTriedAgain(_ status: String) throws {
    let body = PatternBody(seed: 89, size: 1_000_000)
    try withRig { rig in
      let origin = try rig.origin { exchange in
        switch exchange.index {
        case 0: try Representation(body).serve(exchange, .init(.finish(after: 400_000)))
        case 1: try exchange.respond(status, [("Retry-After", "0"), ("Content-Range", "bytes */1000000")])
        default: try Representation(body).serve(exchange)
        }
      }
      let larder = try rig.larder()
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.status == 200 && response.end == .clean)
      expectBytes(response.body, body.bytes)
    }
  }

  @Test func anHonestShorter206IsTakenAndTheRestAskedFor() throws {
    let body = PatternBody(seed: 90, size: 1_000_000)
    try withOrigin(
      Representation(body),
      behaviour: { _ in
        var behaviour = Behaviour()
        behaviour.longestPart = 150_000
        return behaviour
      }
    ) { rig, origin, larder in
      let part = try RawClient.fetch(origin.url("/"), [("Range", "bytes=0-699999")], through: larder.port)
      #expect(part.status == 206 && part.end == .clean)
      expectBytes(part.body, Array(body.bytes(0..<part.body.count)))
      #expect(part.body.count == 700_000 || part.field("Content-Range") == "bytes 0-149999/1000000")
      _ = try RawClient.fetch(origin.url("/"), [("Range", "bytes=0-9")], through: larder.port)
      let gap = try RawClient.fetch(origin.url("/"), [("Range", "bytes=5-899999")], through: larder.port)
      #expect(gap.status == 206 && gap.end == .clean)
      expectBytes(gap.body, body.bytes(5..<900_000))
    }
  }

  @Test func chunkedBodiesAreStoredAndServeRanges() throws {
    let body = PatternBody(seed: 91, size: 700_000)
    try withOrigin(
      Representation(body),
      behaviour: { _ in
        var behaviour = Behaviour()
        behaviour.framing = .chunked
        return behaviour
      }
    ) { rig, origin, larder in
      let client = try RawClient(port: larder.port)
      for _ in 0..<2 {
        let response = try client.fetch(origin.url("/"))
        #expect(response.end == .clean)
        expectBytes(response.body, body.bytes)
      }
      let part = try client.fetch(origin.url("/"), [("Range", "bytes=-1000")])
      #expect(part.field("Content-Range") == "bytes 699000-699999/700000")
      expectBytes(part.body, body.bytes(699_000..<700_000))
      let old = try RawClient(port: larder.port)
      try old.send("GET \(origin.url("/")) HTTP/1.0\r\n\r\n")
      expectBytes(try old.response().body, body.bytes)
      #expect(origin.bodyBytesSent == body.size)
    }
  }

  @Test func closeDelimitedBodiesArePassedAndNotStored() throws {
    let body = PatternBody(seed: 92, size: 300_000)
    try withOrigin(
      Representation(body),
      behaviour: { _ in
        var behaviour = Behaviour()
        behaviour.framing = .close
        return behaviour
      }
    ) { rig, origin, larder in
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(response.status == 200 && response.end == .clean)
        expectBytes(response.body, body.bytes)
        #expect(!isHit(response))
        #expect(response.cacheStatus.contains("close-delimited"))
      }
    }
  }

  /// A reset at the end of a close-delimited body must not look like its end (RFC 9112 §8).
  @Test func aResetCloseDelimitedBodyIsReset() throws {
    let body = PatternBody(seed: 93, size: 300_000)
    try withOrigin(
      Representation(body),
      behaviour: { _ in
        var behaviour = Behaviour(.reset(after: 100_000))
        behaviour.framing = .close
        return behaviour
      }
    ) { rig, origin, larder in
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.end != .clean)
    }
  }

  @Test func http10OriginsAreCachedToo() throws {
    let body = PatternBody(seed: 94, size: 300_000)
    try withOrigin(
      Representation(body),
      behaviour: { _ in
        var behaviour = Behaviour()
        behaviour.version = "HTTP/1.0"
        return behaviour
      }
    ) { rig, origin, larder in
      for number in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(response.head.startLine.hasPrefix("HTTP/1.1 200"))
        expectBytes(response.body, body.bytes)
        #expect(isHit(response) == (number == 1))
      }
      #expect(origin.bodyBytesSent == body.size)
    }
  }
}
