// Ranges (RFC 9110 §14) over what is stored in part: right bytes, right heads, nothing fetched twice.
import TestSupport
import Testing

@Suite struct RangeTests {
  private static let body = PatternBody(seed: 21, size: 1_000_000)

  private func withOrigin(
    _ resource: Representation = Representation(body),
    _ run: (Rig, ScriptedOrigin, LarderProcess, RawClient) throws -> Void
  ) throws {
    try withRig { rig in
      let origin = try rig.origin { try resource.serve($0) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try run(rig, origin, larder, client)
    }
  }

  @Test func severalRangesComeInTheAskedOrderAsMultipart() throws {
    try withOrigin { rig, origin, larder, client in
      for _ in 0..<2 {
        let response = try client.fetch(origin.url("/"), [("Range", "bytes=500000-500999, 0-99, -10")])
        #expect(response.status == 206 && response.end == .clean)
        #expect(response.field("Content-Range") == nil, "belongs in the parts (§14.6)")
        let found = try parts(of: response)
        #expect(
          found.map(\.contentRange) == [
            "bytes 500000-500999/1000000", "bytes 0-99/1000000", "bytes 999990-999999/1000000",
          ])
        for (part, range) in zip(found, [500_000..<501_000, 0..<100, 999_990..<1_000_000]) {
          expectBytes(part.body, Self.body.bytes(range))
        }
      }
      #expect(origin.bodyBytesSent == 1110, "\(origin.requests.map { $0.field("Range") ?? "whole" })")
    }
  }

  @Test func twoMultipartBoundariesDifferAndDoNotOccurInTheBody() throws {
    try withOrigin { rig, origin, larder, client in
      let types = try (0..<2).map { _ in
        try client.fetch(origin.url("/"), [("Range", "bytes=0-9,20-29")]).field("Content-Type")
      }
      #expect(types[0] != nil && types[0] != types[1])
    }
  }

  @Test func oneSatisfiableRangeOfSeveralIsAPlainPart() throws {
    try withOrigin { rig, origin, larder, client in
      _ = try client.fetch(origin.url("/"))
      let response = try client.fetch(origin.url("/"), [("Range", "bytes=10-19,2000000-2000001")])
      #expect(response.status == 206)
      if response.field("Content-Range") == "bytes 10-19/1000000" {
        expectBytes(response.body, Self.body.bytes(10..<20))
      } else {
        #expect(try parts(of: response).map(\.contentRange) == ["bytes 10-19/1000000"])
      }
    }
  }

  @Test(arguments: ["bytes=1000000-", "bytes=1000000-1000001", "bytes=-0", "bytes=2000000-3000000,1000000-"])
  func unsatisfiableRangesAreAnswered416WithTheLength(_ range: String) throws {
    try withOrigin { rig, origin, larder, client in
      _ = try client.fetch(origin.url("/"), [("Range", "bytes=0-9")])
      let response = try client.fetch(origin.url("/"), [("Range", range)])
      #expect(response.status == 416)
      #expect(response.field("Content-Range") == "bytes */1000000")
      #expect(try client.fetch(origin.url("/"), [("Range", "bytes=0-9")]).status == 206, "the connection lives on")
      #expect(origin.bodyBytesSent == 10)
    }
  }

  @Test func unsatisfiableRangeOnAMissRelays416() throws {
    try withOrigin { rig, origin, larder, client in
      let response = try client.fetch(origin.url("/"), [("Range", "bytes=1000000-")])
      #expect(response.status == 416)
      #expect(response.field("Content-Range") == "bytes */1000000")
    }
  }

  /// RFC 9110 §14.2: what is not understood, or silly, is ignored or served as the whole.
  @Test(arguments: [
    "lines=0-9", "bytes=9-0", "bytes=a-b", "bytes", "bytes=", "bytes=0-9;10-19",
    "bytes=" + (0..<500).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ","),
    "bytes=" + [String](repeating: "0-", count: 50).joined(separator: ","),
  ])
  func malformedOrSillyRangesGetTheWhole(_ range: String) throws {
    try withOrigin { rig, origin, larder, client in
      for _ in 0..<2 {
        let response = try client.fetch(origin.url("/"), [("Range", range)])
        #expect(response.status == 200)
        expectBytes(response.body, Self.body.bytes)
      }
      #expect(origin.bodyBytesSent == 1_000_000)
    }
  }

  @Test func ifRangeWithTheStoredTagSelectsThePartElseTheWhole() throws {
    try withOrigin { rig, origin, larder, client in
      _ = try client.fetch(origin.url("/"))
      let range = ("Range", "bytes=100-199")
      let same = try client.fetch(origin.url("/"), [range, ("If-Range", "\"v1\"")])
      #expect(same.status == 206)
      expectBytes(same.body, Self.body.bytes(100..<200))
      for condition in ["\"v2\"", "W/\"v1\"", "Mon, 01 Jan 2024 00:00:00 GMT", "nonsense"] {
        let other = try client.fetch(origin.url("/"), [range, ("If-Range", condition)])
        #expect(other.status == 200, "\(condition)")
        expectBytes(other.body, Self.body.bytes)
      }
      #expect(origin.bodyBytesSent == 1_000_000)
    }
  }

  /// RFC 9110 §13.1.5: a date counts only if it is a strong validator, and equal.
  @Test func ifRangeWithTheStoredDate() throws {
    let modified = "Mon, 06 Jan 2025 10:00:00 GMT"
    try withOrigin(Representation(Self.body, lastModified: modified)) { rig, origin, larder, client in
      // The origin says no Date; what the proxy puts there is long after.
      _ = try client.fetch(origin.url("/"))
      let range = ("Range", "bytes=100-199")
      #expect(try client.fetch(origin.url("/"), [range, ("If-Range", modified)]).status == 206)
      #expect(try client.fetch(origin.url("/"), [range, ("If-Range", "Mon, 06 Jan 2025 10:00:01 GMT")]).status == 200)
    }
  }

  @Test func ifRangeGoesUpWithTheRangeOnAMiss() throws {
    try withOrigin { rig, origin, larder, client in
      let response = try client.fetch(origin.url("/"), [("Range", "bytes=5-9"), ("If-Range", "\"v0\"")])
      #expect(response.status == 200)
      expectBytes(response.body, Self.body.bytes)
      #expect(origin.requests.first?.field("If-Range") == "\"v0\"")
    }
  }

  @Test func gapsAreAskedForWithTheStoredValidatorAndNothingElse() throws {
    try withOrigin { rig, origin, larder, client in
      for range in ["200000-299999", "500000-599999"] {
        _ = try client.fetch(origin.url("/"), [("Range", "bytes=\(range)")])
      }
      expectBytes(
        try client.fetch(origin.url("/"), [("Range", "bytes=250000-799999")]).body, Self.body.bytes(250_000..<800_000))
      expectBytes(try client.fetch(origin.url("/")).body, Self.body.bytes)
      #expect(origin.bodyBytesSent == 1_000_000)
      for request in origin.requests.dropFirst() {
        #expect(request.field("Range") != nil)
        #expect(request.field("If-Match") == "\"v1\"")
      }
    }
  }

  @Test func headOfAPartiallyStoredObjectHasItsLengthAndIgnoresRange() throws {
    try withOrigin { rig, origin, larder, client in
      _ = try client.fetch(origin.url("/"), [("Range", "bytes=0-9")])
      let response = try client.fetch(origin.url("/"), [("Range", "bytes=0-9")], method: "HEAD")
      #expect(response.status == 200)
      #expect(response.field("Content-Length") == "1000000")
      #expect(origin.bodyBytesSent == 10)
    }
  }

  @Test func rangesOfAnObjectWithoutValidatorAreServedButNeverCombined() throws {
    try withOrigin(Representation(Self.body, entityTag: nil)) { rig, origin, larder, client in
      for range in [0..<100_000, 50_000..<150_000, 0..<1_000_000] {
        let response = try client.fetch(
          origin.url("/"), [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")])
        #expect(response.status == 206)
        expectBytes(response.body, Self.body.bytes(range))
      }
    }
  }

  @Test func aThousandRandomRangesByEightClientsThenTheWhole() throws {
    try withRig { rig in
      let size = Int(Double(1 << 30) * scale)
      let body = PatternBody(seed: 22, size: size)
      let nginx = try rig.nginx()
      try nginx.publish("/large.bin", body)
      let url = nginx.url("/large.bin")
      let larder = try rig.larder(["cache.size": "4G"])
      try concurrently(
        (0..<8).map { number in
          {
            var random = SeededGenerator(UInt64(number) + 100)
            let client = try RawClient(port: larder.port)
            for _ in 0..<125 {
              let first = Int.random(in: 0..<size, using: &random)
              let range = first..<min(size, first + Int.random(in: 1...size / 512, using: &random))
              let checker = BodyChecker(body, from: range.lowerBound)
              let response = try client.fetch(
                url, [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")], into: checker.take)
              try demandEqual(response.status, 206, "status of \(range)")
              try demandEqual(response.end, .clean, "end of \(range)")
              try demand(checker.mismatch == nil, "\(range) is wrong at \(checker.mismatch ?? 0)")
              try demandEqual(checker.position, range.upperBound, "end of the body of \(range)")
            }
          }
        })
      let checker = BodyChecker(body)
      let whole = try RawClient(port: larder.port).fetch(url, into: checker.take)
      #expect(whole.status == 200 && whole.end == .clean)
      #expect(checker.mismatch == nil && checker.position == size)
      let bridged = try #require(try larder.metric("larder_fill_bridged_bytes_total"))
      try expectSent(size + Int(bridged), by: nginx, rig)
    }
  }
}
