// Large bodies through origins that cut again and again: one clean answer, and each byte asked for once.
import Foundation
import TestSupport
import Testing

@Suite struct ResumeTests {
  private static let body = PatternBody(seed: 321, size: Int(Double(256 << 20) * scale))

  /// Where the exchange of that number is cut: after 1 to 8 MiB, scaled as the body is.
  private static func cut(_ index: Int) -> Int {
    var generator = SeededGenerator(UInt64(index) &+ 77)
    return Int.random(in: Int(Double(1 << 20) * scale)...Int(Double(8 << 20) * scale), using: &generator)
  }

  private func withOrigin(
    _ settings: [String: String] = [:], delivery: @escaping @Sendable (Int) -> Representation.Delivery,
    _ run: (ScriptedOrigin, LarderProcess) throws -> Void
  ) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try Representation(Self.body).serve(exchange, .init(delivery(exchange.index)))
      }
      try run(origin, try rig.larder(settings))
    }
  }

  /// Fetches a part, or the whole, and checks every byte.
  private func fetch(_ range: Range<Int>? = nil, _ origin: ScriptedOrigin, _ larder: LarderProcess) throws {
    let checker = BodyChecker(Self.body, from: range?.lowerBound ?? 0)
    let fields = range.map { [("Range", "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? []
    let client = try RawClient(port: larder.port)
    let response = try client.fetch(origin.url("/"), fields, into: checker.take)
    client.close()
    try demandEqual(response.status, range == nil ? 200 : 206, "status")
    try demandEqual(response.end, .clean, "end")
    try demand(checker.mismatch == nil, "wrong at byte \(checker.mismatch ?? 0)")
    try demandEqual(checker.position, range?.upperBound ?? Self.body.size, "end")
  }

  @Test func aLargeBodyCutInOrderAgainAndAgainIsOneCleanAnswer() throws {
    try withOrigin(delivery: { .finish(after: Self.cut($0)) }) { origin, larder in
      try fetch(nil, origin, larder)
      #expect(origin.bodyBytesSent == Self.body.size, "nothing came twice")
      #expect(origin.requests.count > 20)
      for request in origin.requests.dropFirst() { #expect(request.field("If-Match") == "\"v1\"") }
    }
  }

  /// A reset destroys what the receiver has not read; of what it has read, nothing comes again.
  @Test func aLargeBodyResetAgainAndAgainIsOneCleanAnswer() throws {
    try withOrigin(delivery: { .reset(after: Self.cut($0)) }) { origin, larder in
      try fetch(nil, origin, larder)
      try expectReceived(Self.body.size, larder)
      #expect(origin.bodyBytesSent >= Self.body.size)
    }
  }

  @Test func partsAreResumedLikeTheWholeAndTheGapsBetweenThemToo() throws {
    try withOrigin(delivery: { $0 % 2 == 0 ? .finish(after: Self.cut($0)) : .reset(after: Self.cut($0)) }) {
      origin, larder in
      let size = Self.body.size
      for range in [size / 4..<size / 2, 100..<size / 3, size / 2 + 1..<size] { try fetch(range, origin, larder) }
      try fetch(nil, origin, larder)
      try expectReceived(size, larder)
    }
  }

  @Test func readersFromBothWorkersShareWhatIsResumed() throws {
    try withOrigin(["fills.follow_patience": "60s"], delivery: { .finish(after: Self.cut($0)) }) { origin, larder in
      let size = Self.body.size
      try concurrently((0..<6).map { number in { try fetch(number < 3 ? nil : 0..<size / number, origin, larder) } })
      try expectReceived(size, larder)
    }
  }

  /// Each attempt brings something, so there is always another.
  @Test func progressBeginsTheCountOfAttemptsAnew() throws {
    try withOrigin(["fills.attempts": "1"], delivery: { .finish(after: Self.cut($0)) }) { origin, larder in
      try fetch(nil, origin, larder)
      #expect(origin.bodyBytesSent == Self.body.size)
    }
  }

  /// RFC 9110 §10.2.3.
  @Test func retryAfterIsObeyed() throws {
    try withRig { rig in
      let body = PatternBody(seed: 322, size: 1_000_000)
      let times = Monitor<[Date]>([])
      let origin = try rig.origin { exchange in
        times.withLock { $0.append(Date()) }
        switch exchange.index {
        case 0: try Representation(body).serve(exchange, .init(.finish(after: 400_000)))
        case 1: try exchange.respond("503 Service Unavailable", [("Retry-After", "2")])
        default: try Representation(body).serve(exchange)
        }
      }
      let larder = try rig.larder(["fills.backoff_max": "5s"])
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.end == .clean)
      expectBytes(response.body, body.bytes)
      let seen = times.withLock { $0 }
      try #require(seen.count == 3)
      #expect(seen[2].timeIntervalSince(seen[1]) >= 1.9, "not before it was told to")
    }
  }

  @Test func aBodyBelowTheMinimumRateIsResumedElsewhere() throws {
    try withRig { rig in
      let body = PatternBody(seed: 323, size: 2_000_000)
      let gate = rig.gate("never")
      let origin = try rig.origin { exchange in
        guard exchange.index == 0 else { return try Representation(body).serve(exchange) }
        try exchange.head(
          "200 OK",
          [
            ("ETag", "\"v1\""), ("Accept-Ranges", "bytes"), ("Cache-Control", "max-age=60"),
            ("Content-Length", "\(body.size)"),
          ])
        try exchange.body(body, 0..<700_000)
        try gate.pass()
      }
      let larder = try rig.larder(["upstream.minimum_rate": "1M", "upstream.minimum_rate_period": "2s"])
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.end == .clean)
      expectBytes(response.body, body.bytes)
      #expect(origin.requests.count == 2)
      #expect(origin.requests.last?.field("Range") == "bytes=700000-1999999")
      #expect(origin.bodyBytesSent == body.size)
    }
  }

  /// An origin that does not look at conditions sends all of it again: what is here already is not read twice.
  @Test func aWhole200OfWhatIsStoredIsClosedAtItsHead() throws {
    try withRig { rig in
      let body = PatternBody(seed: 324, size: 20_000_000)
      let gate = rig.gate("the second body")
      let resource = Representation(body, fields: [("Cache-Control", "max-age=0")])
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour(exchange.index == 0 ? .whole : .stall(after: 1000, gate))
        behaviour.ignoresConditions = true
        try resource.serve(exchange, behaviour)
      }
      let larder = try rig.larder()
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(response.status == 200 && response.end == .clean)
        expectBytes(response.body, body.bytes)
      }
      #expect(origin.bodyBytesSent < body.size + 2000)
    }
  }
}
