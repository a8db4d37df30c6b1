// A reader that wants what is far from where the fill is asks for it at once.
import TestSupport
import Testing

@Suite struct SeekTests {
  private static let body = PatternBody(seed: 311, size: 200 << 20)

  /// A proxy in which following would take longer than a test waits, and longer than its patience.
  private func withSlowFill(_ run: (Rig, ScriptedOrigin, LarderProcess, RawClient) throws -> Void) throws {
    try withRig { rig in
      let paced = PacedOrigin(Self.body, while: { _ in true })
      let quick = PacedOrigin(Self.body, while: { _ in false })
      let origin = try rig.origin { try ($0.index == 0 ? paced : quick).serve($0) }
      let larder = try rig.larder([
        "fills.connections_per_object": "1", "fills.follow_patience": "40s", "fills.finish_if_missing": "0",
      ])
      let first = try RawClient(port: larder.port)
      try first.send(RawClient.request("GET", origin.url("/")))
      _ = try first.responseHead()
      // Long enough for its pace to be known.
      expectBytes(try first.read(2 << 20), Self.body.bytes(0..<2 << 20))
      try run(rig, origin, larder, first)
    }
  }

  @Test func aRangeFarAheadOfASlowFillIsFetchedAtOnce() throws {
    try withSlowFill { _, origin, larder, first in
      let range = (150 << 20)..<(151 << 20)
      let seek = try RawClient.fetch(
        origin.url("/"), [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")], through: larder.port)
      #expect(seek.status == 206 && seek.end == .clean)
      expectBytes(seek.body, Self.body.bytes(range))
      let asked = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
      #expect(origin.requests.contains { $0.field("Range") == asked })
      // The reader at the old place has lost nothing.
      expectBytes(try first.read(1 << 20), Self.body.bytes(2 << 20..<3 << 20))
    }
  }

  @Test func aPlayersSeekIsServedAtOnceAndTheOldPlaceIsGivenUp() throws {
    try withSlowFill { _, origin, larder, first in
      first.close()
      let player = try RawClient(port: larder.port)
      try player.send(RawClient.request("GET", origin.url("/"), [("Range", "bytes=\(100 << 20)-")]))
      let head = try player.responseHead()
      #expect(head.status == 206)
      expectBytes(try player.read(1 << 20), Self.body.bytes(100 << 20..<101 << 20))
      #expect(origin.requests.dropFirst().allSatisfy { $0.field("Range")?.hasPrefix("bytes=0-") == false })
      // Nobody wants what lies between: the first exchange has sent a few bytes of it and no more.
      #expect((origin.requests.first?.bodyBytesSent ?? 0) < 50 << 20)
    }
  }

  @Test func whatIsNearIsFollowed() throws {
    try withSlowFill { _, origin, larder, _ in
      let range = (2 << 20)..<(2 << 20) + 500_000
      let near = try RawClient.fetch(
        origin.url("/"), [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")], through: larder.port)
      expectBytes(near.body, Self.body.bytes(range))
      #expect(origin.requests.count == 1)
    }
  }
}
