// An origin that changes or lies: no response mixes versions, and a wrong 206 is never taken for a right one.
import TestSupport
import Testing

@Suite struct LyingOriginTests {
  private static let body = PatternBody(seed: 101, size: 1_000_000)
  private static let newer = PatternBody(seed: 102, size: 1_000_000)

  struct Lie: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let contentRange: @Sendable (Int, Int, Int) -> String
    init(_ name: String, _ contentRange: @escaping @Sendable (Int, Int, Int) -> String) {
      testDescription = name
      self.contentRange = contentRange
    }
  }

  static let lies = [
    Lie("starts earlier") { "bytes \(max(0, $0 - 1))-\($1 - 1)/\($2)" },
    Lie("starts later") { "bytes \($0 + 1)-\($1 + 1)/\($2)" },
    Lie("ends later than asked") { "bytes \($0)-\($1 + 10)/\($2)" },
    Lie("another total") { "bytes \($0)-\($1)/\($2 + 1)" },
    Lie("a total below the end") { first, last, _ in "bytes \(first)-\(last)/\(last)" },
    Lie("reversed") { first, last, total in "bytes \(last)-\(first)/\(total)" },
    Lie("another unit") { "lines \($0)-\($1)/\($2)" },
    Lie("nonsense") { _, _, _ in "yes" },
  ]

  /// On a gap of a stored object the lie is noticed and the range asked for again, unseen by the client.
  @Test(arguments: lies) func aWrong206ForAGapIsRefusedAndAskedForAgain(_ lie: Lie) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        if exchange.index == 1 { behaviour.contentRange = lie.contentRange }
        try Representation(Self.body).serve(exchange, behaviour)
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [("Range", "bytes=0-99999")])
      let response = try client.fetch(origin.url("/"), [("Range", "bytes=50000-299999")])
      if response.status < 400 && response.end == .clean {
        #expect(response.field("Content-Range") == "bytes 50000-299999/1000000")
        expectBytes(response.body, Self.body.bytes(50_000..<300_000))
      }
      let whole = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(whole.status == 200 && whole.end == .clean)
      expectBytes(whole.body, Self.body.bytes)
    }
  }

  /// One among good ones is no reason to read all that lies before what is wanted; two in a row are.
  @Test(arguments: [1, 2]) func theWholeIsReadOnlyAfterTwoWrong206s(_ count: Int) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour(exchange.index == 0 ? .finish(after: 50_000) : .whole)
        behaviour.ignoresConditions = true
        let isWrong = (1...count).contains(exchange.index)
        try Representation(Self.body, entityTag: isWrong ? nil : "\"v1\"").serve(exchange, behaviour)
      }
      let larder = try rig.larder()
      let response = try RawClient.fetch(origin.url("/"), [("Range", "bytes=800000-899999")], through: larder.port)
      #expect(response.status == 206 && response.end == .clean)
      expectBytes(response.body, Self.body.bytes(800_000..<900_000))
      let rest = "bytes=850000-899999"
      #expect(
        origin.requests.map { $0.field("Range") } == ["bytes=800000-899999", rest, rest] + (count > 1 ? [nil] : []))
    }
  }

  /// On a miss nothing is known to compare with, but what the range itself says.
  @Test(arguments: lies) func aWrong206OnAMissIsNotStored(_ lie: Lie) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        if exchange.index == 0 { behaviour.contentRange = lie.contentRange }
        try Representation(Self.body).serve(exchange, behaviour)
      }
      let larder = try rig.larder()
      let first = try RawClient.fetch(origin.url("/"), [("Range", "bytes=1000-1999")], through: larder.port)
      if first.status == 206 && first.field("Content-Range") == "bytes 1000-1999/1000000" && first.end == .clean {
        expectBytes(first.body, Self.body.bytes(1000..<2000))
      }
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), [("Range", "bytes=900-2099")], through: larder.port)
        #expect(response.status == 206 && response.end == .clean)
        #expect(response.field("Content-Range") == "bytes 900-2099/1000000")
        expectBytes(response.body, Self.body.bytes(900..<2100))
      }
    }
  }

  @Test func anIgnoredRangeIsStoredFromZeroAndTheRangeServedFromIt() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        behaviour.ignoresRange = true
        try Representation(Self.body).serve(exchange, behaviour)
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for range in [500_000..<501_000, 10..<20, 0..<1_000_000] {
        let response = try client.fetch(
          origin.url("/"), [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")])
        #expect(response.status == 206)
        expectBytes(response.body, Self.body.bytes(range))
      }
      #expect(origin.bodyBytesSent == Self.body.size)
    }
  }

  @Test(arguments: [false, true]) func anIgnoredRangeFarInsideGivesTheClientThe200(_ isChunked: Bool) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        behaviour.ignoresRange = true
        if isChunked { behaviour.framing = .chunked }
        try Representation(Self.body).serve(exchange, behaviour)
      }
      let larder = try rig.larder(["fills.range_skip": "64K"])
      let response = try RawClient.fetch(origin.url("/"), [("Range", "bytes=500000-500999")], through: larder.port)
      #expect(response.status == 200 && response.end == .clean)
      expectBytes(response.body, Self.body.bytes)
    }
  }

  /// The stored part belongs to the old version, and the origin has a new one when the gap is asked for.
  @Test(arguments: [true, false]) func aChangeBetweenRequestsSupersedesWhatWasStored(originJudgesIfMatch: Bool) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        behaviour.ignoresConditions = !originJudgesIfMatch
        let resource =
          exchange.index == 0
          ? Representation(Self.body) : Representation(Self.newer, entityTag: "\"v2\"")
        try resource.serve(exchange, behaviour)
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [("Range", "bytes=0-99999")])
      let gap = try RawClient.fetch(origin.url("/"), [("Range", "bytes=50000-299999")], through: larder.port)
      if gap.end == .clean {
        #expect(gap.status == 206)
        expectBytes(gap.body, Self.newer.bytes(50_000..<300_000))
        #expect(gap.field("ETag") == "\"v2\"")
      }
      let whole = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(whole.status == 200 && whole.end == .clean && whole.field("ETag") == "\"v2\"")
      expectBytes(whole.body, Self.newer.bytes)
    }
  }

  /// The version flips at the n-th request while a plan of several gaps is under way.
  @Test(arguments: 1...6) func aFlipAtAnyPointOfAPlanNeverMixesVersions(_ flip: Int) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let isOld = exchange.index < flip
        try Representation(isOld ? Self.body : Self.newer, entityTag: isOld ? "\"v1\"" : "\"v2\"").serve(exchange)
      }
      let larder = try rig.larder()
      for first in [100_000, 400_000, 700_000] {
        let part = try RawClient.fetch(
          origin.url("/"), [("Range", "bytes=\(first)-\(first + 99_999)")], through: larder.port)
        if part.end == .clean && part.status == 206 {
          let version = part.field("ETag") == "\"v1\"" ? Self.body : Self.newer
          expectBytes(part.body, version.bytes(first..<first + 100_000))
        }
      }
      for _ in 0..<3 {
        let whole = try RawClient.fetch(origin.url("/"), through: larder.port)
        let version = whole.field("ETag") == "\"v1\"" ? Self.body : Self.newer
        #expect(version.firstMismatch(whole.body, at: 0) == nil, "two versions in one body")
        if whole.end == .clean { #expect(whole.body.count == 1_000_000) }
      }
      let last = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(last.end == .clean)
    }
  }

  @Test func aChangeAfterACutAbortsTheReaderThatHasBegun() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        if exchange.index == 0 {
          return try Representation(Self.body).serve(exchange, .init(.finish(after: 500_000)))
        }
        try Representation(Self.newer, entityTag: "\"v2\"").serve(exchange)
      }
      let larder = try rig.larder()
      let first = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(first.end != .clean)
      #expect(Self.body.firstMismatch(first.body, at: 0) == nil)
      let second = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(second.end == .clean)
      expectBytes(second.body, Self.newer.bytes)
    }
  }

  /// Several origins behind one name, each with a tag of its own.
  @Test func alternatingValidatorsStillGiveWholeBodies() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let isOdd = exchange.index % 2 == 1
        try Representation(isOdd ? Self.newer : Self.body, entityTag: isOdd ? "\"odd\"" : "\"even\"").serve(exchange)
      }
      let larder = try rig.larder()
      for range in ["bytes=0-99999", "bytes=200000-299999", nil, "bytes=50000-250000", nil] {
        let response = try RawClient.fetch(origin.url("/"), range.map { [("Range", $0)] } ?? [], through: larder.port)
        guard response.end == .clean else { continue }
        let version = response.field("ETag") == "\"even\"" ? Self.body : Self.newer
        let first = response.field("Content-Range").flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0
        #expect(version.firstMismatch(response.body, at: first) == nil, "\(range ?? "whole")")
      }
      let last = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(last.end == .clean && last.body.count == 1_000_000)
    }
  }

  /// Where what is stored cannot be completed the client's own request is relayed, but not an answer that lies.
  @Test(arguments: ["bytes 250000-350000/1000000", "bytes 0-99999/1000000", nil])
  func aPartThatIsNotWhatWasAskedIsNotRelayedEither(_ contentRange: String?) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        guard exchange.index > 0 else { return try Representation(Self.body).serve(exchange) }
        try exchange.head(
          "206 Partial Content",
          [("ETag", "\"v1\""), ("Content-Length", "50000")] + (contentRange.map { [("Content-Range", $0)] } ?? []))
        try exchange.body(Self.body.bytes(250_000..<300_000))
      }
      let larder = try rig.larder(["fills.attempts": "1"])
      _ = try RawClient.fetch(origin.url("/"), [("Range", "bytes=0-99999")], through: larder.port)
      let range = [("Range", "bytes=300000-399999")]
      let response = try RawClient.fetch(origin.url("/"), range, through: larder.port)
      #expect(response.status == 502 && response.cacheStatus.contains("detail="), "\(response.head)")
    }
  }

  @Test func aShorterBodyThanTheLengthPromisedIsNeverAHit() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.head("200 OK", [("Content-Length", "100"), ("Cache-Control", "max-age=60")])
        try exchange.body(Self.body.bytes(0..<60))
        exchange.finish()
      }
      let larder = try rig.larder()
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(response.status == 502 || (response.end != .clean && response.body.count == 60))
      }
    }
  }
}
