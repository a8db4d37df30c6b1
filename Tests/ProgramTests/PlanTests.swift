// What exactly is asked upstream, by what is stored and what the client wants: the design's table, row by row.
import TestSupport
import Testing

@Suite struct PlanTests {
  private static let body = PatternBody(seed: 181, size: 1_000_000)
  private static let stale = [("Cache-Control", "max-age=0")]

  private func withOrigin(
    _ resource: Representation, _ run: (ScriptedOrigin, RawClient) throws -> Void
  ) throws {
    try withRig { rig in
      let origin = try rig.origin { try resource.serve($0) }
      let larder = try rig.larder()
      try run(origin, try RawClient(port: larder.port))
    }
  }

  private func range(_ range: Range<Int>) -> (String, String) {
    ("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
  }

  @Test func nothingStoredAndNoRangeIsAPlainGet() throws {
    try withOrigin(Representation(Self.body)) { origin, client in
      _ = try client.fetch(origin.url("/"))
      let request = try #require(origin.requests.first)
      for name in ["Range", "If-Match", "If-None-Match", "If-Range"] { #expect(request.field(name) == nil, "\(name)") }
    }
  }

  @Test func nothingStoredAndARangeGoesUpWithTheClientsConditionals() throws {
    try withOrigin(Representation(Self.body)) { origin, client in
      let response = try client.fetch(
        origin.url("/"), [range(10..<20), ("If-Match", "\"v1\""), ("If-Range", "\"v1\"")])
      #expect(response.status == 206)
      let request = try #require(origin.requests.first)
      #expect(request.field("Range") == "bytes=10-19")
      #expect(request.field("If-Match") == "\"v1\"" && request.field("If-Range") == "\"v1\"")
    }
  }

  @Test func staleAndPartialTheFirstGapIsTheRevalidation() throws {
    try withOrigin(Representation(Self.body, fields: Self.stale)) { origin, client in
      _ = try client.fetch(origin.url("/"), [range(0..<100_000)])
      let response = try client.fetch(origin.url("/"), [range(50_000..<200_000)])
      #expect(response.status == 206)
      expectBytes(response.body, Self.body.bytes(50_000..<200_000))
      #expect(origin.requests.count == 2)
      #expect(origin.requests.last?.field("Range") == "bytes=100000-199999")
      #expect(origin.requests.last?.field("If-Match") == "\"v1\"")
    }
  }

  @Test func staleAndCompleteIsValidatedWithIfNoneMatchAndTheClientsRange() throws {
    try withOrigin(Representation(Self.body, fields: Self.stale)) { origin, client in
      _ = try client.fetch(origin.url("/"))
      let whole = try client.fetch(origin.url("/"))
      expectBytes(whole.body, Self.body.bytes)
      #expect(origin.requests.last?.field("If-None-Match") == "\"v1\"")
      #expect(origin.requests.last?.field("Range") == nil)
      let part = try client.fetch(origin.url("/"), [range(5..<10)])
      #expect(part.status == 206)
      expectBytes(part.body, Self.body.bytes(5..<10))
      #expect(origin.requests.last?.field("If-None-Match") == "\"v1\"")
      #expect(origin.requests.last?.field("Range") == "bytes=5-9", "so that a change does not fetch all for a byte")
      #expect(origin.bodyBytesSent == Self.body.size)
    }
  }

  /// A Last-Modified is strong where the response's Date is late enough after it (RFC 9110 §8.8.2.2).
  @Test func aStrongDateIsAValidatorTooWithIfUnmodifiedSince() throws {
    let modified = "Mon, 06 Jan 2025 10:00:00 GMT"
    let fields = [("Cache-Control", "max-age=3600"), ("Date", httpDate(secondsFromNow: 0))]
    let resource = Representation(Self.body, entityTag: nil, lastModified: modified, fields: fields)
    try withOrigin(resource) { origin, client in
      _ = try client.fetch(origin.url("/"), [range(0..<100_000)])
      expectBytes(try client.fetch(origin.url("/")).body, Self.body.bytes)
      #expect(origin.requests.last?.field("Range")?.hasPrefix("bytes=100000-") == true)
      #expect(origin.requests.last?.field("If-Unmodified-Since") == modified)
      #expect(origin.bodyBytesSent == Self.body.size)
    }
  }

  @Test(arguments: [nil, "W/\"v1\""]) func withoutAStrongValidatorNothingIsExtended(_ tag: String?) throws {
    try withOrigin(Representation(Self.body, entityTag: tag)) { origin, client in
      _ = try client.fetch(origin.url("/"), [range(0..<100_000)])
      let inside = try client.fetch(origin.url("/"), [range(10..<20)])
      expectBytes(inside.body, Self.body.bytes(10..<20))
      let beyond = try client.fetch(origin.url("/"), [range(50_000..<200_000)])
      expectBytes(beyond.body, Self.body.bytes(50_000..<200_000))
      #expect(origin.requests.last?.field("Range") == "bytes=50000-199999")
      expectBytes(try client.fetch(origin.url("/")).body, Self.body.bytes)
      #expect(origin.requests.last?.field("Range") == nil)
    }
  }

  /// What lies between two gaps and is shorter than the setting may be fetched again in one exchange with them, counted.
  @Test func onlyShortSpansBetweenGapsAreBridgedAndTheyAreCounted() throws {
    try withRig { rig in
      let origin = try rig.origin { try Representation(Self.body).serve($0) }
      let larder = try rig.larder(["fills.coalesce_gaps": "4K"])
      let client = try RawClient(port: larder.port)
      for stored in [100_000..<102_000, 200_000..<203_000, 300_000..<310_000] {
        _ = try client.fetch(origin.url("/"), [range(stored)])
      }
      let before = origin.requests.count
      expectBytes(try client.fetch(origin.url("/"), [range(0..<400_000)]).body, Self.body.bytes(0..<400_000))
      let asked = origin.requests[before...].compactMap { $0.field("Range") }
      #expect(asked.contains { $0.hasSuffix("-299999") } && asked.contains("bytes=310000-399999"), "\(asked)")
      let bridged = try #require(try larder.metric("larder_fill_bridged_bytes_total"))
      #expect(bridged == 5000 || bridged == 3000 || bridged == 2000 || bridged == 0)
      #expect(origin.bodyBytesSent == 400_000 + Int(bridged))
    }
  }

  @Test func aFillOfAKnownObjectAsksForBoundedWindowsOverOneConnection() throws {
    try withRig { rig in
      let body = PatternBody(seed: 182, size: 40_000_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let larder = try rig.larder(["workers": "1"])
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"), [range(0..<1000)])
      let checker = BodyChecker(body)
      _ = try client.fetch(origin.url("/"), into: checker.take)
      #expect(checker.mismatch == nil && checker.position == body.size)
      #expect(origin.bodyBytesSent == body.size)
      for request in origin.requests.dropFirst() {
        let ends = (request.field("Range") ?? "").dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        #expect(ends.count == 2 && ends[1] - ends[0] < 64 << 20, "\(request.field("Range") ?? "no Range")")
      }
      #expect(origin.connections == 1)
    }
  }

  @Test func aGetWithABodyIsAPass() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        try exchange.respond("200 OK", [("Cache-Control", "max-age=60")], body: "answer")
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for _ in 0..<2 {
        try client.send(RawClient.request("GET", origin.url("/"), [("Content-Length", "4")]) + "body")
        #expect(try client.response().text == "answer")
      }
      #expect(origin.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["body", "body"])
    }
  }

  @Test func aReaderThatStandsStillStopsTheFillThatRunsAhead() throws {
    try withRig { rig in
      let body = PatternBody(seed: 184, size: 64_000_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let larder = try rig.larder(["fills.read_ahead": "1M", "fills.finish_if_missing": "0", "fills.window_max": "64M"])
      let client = try RawClient(port: larder.port, receiveBuffer: 16 << 10)
      try client.send(RawClient.request("GET", origin.url("/")))
      _ = try client.responseHead()
      expectBytes(try client.read(100_000), body.bytes(0..<100_000))
      client.reset()
      try larder.stop()
      // Ahead of the reader, and what sockets hold; far from all of it.
      #expect(origin.bodyBytesSent < 30_000_000)
    }
  }
}
