// How much room is promised to what comes, and what becomes of it where there is none.
import TestSupport
import Testing

@Suite struct RoomTests {
  private static let onlyIfCached = [("Cache-Control", "only-if-cached")]

  private static func stored(_ number: Int) -> PatternBody { PatternBody(seed: UInt64(900 + number), size: 1_000_000) }

  /// Chunked responses of 1000 bytes, beside objects that fill most of the cache: all at once, halfway.
  @Test(arguments: [("8M", 5, 1), ("16M", 12, 10)])
  func smallResponsesOfUnknownLengthThrowNothingOut(size: String, objects: Int, chunked: Int) throws {
    try withRig { rig in
      let gate = rig.gate("halfway")
      let origin = try rig.origin { exchange in
        let parts = exchange.request.target.split(separator: "/")
        let number = Int(parts[1]) ?? 0
        if parts[0] == "stored" { return try Representation(Self.stored(number)).serve(exchange) }
        var behaviour = Representation.Behaviour(.stall(after: 500, gate))
        behaviour.framing = .chunked
        try Representation(PatternBody(seed: UInt64(number), size: 1000)).serve(exchange, behaviour)
      }
      let larder = try rig.larder(["cache.size": size])
      for number in 0..<objects { _ = try RawClient.fetch(origin.url("/stored/\(number)"), through: larder.port) }
      let clients = try (0..<chunked).map { number in
        let client = try RawClient(port: larder.port)
        try client.send(RawClient.request("GET", origin.url("/chunked/\(number)")))
        return client
      }
      try gate.waitForArrival(chunked)
      gate.open()
      for (number, client) in clients.enumerated() {
        expectBytes(try client.response().body, PatternBody(seed: UInt64(number), size: 1000).bytes)
      }
      for number in 0..<chunked {
        let again = try RawClient.fetch(origin.url("/chunked/\(number)"), Self.onlyIfCached, through: larder.port)
        #expect(isHit(again), "\(number): \(again.head)")
      }
      for number in 0..<objects {
        let again = try RawClient.fetch(origin.url("/stored/\(number)"), Self.onlyIfCached, through: larder.port)
        #expect(isHit(again), "\(number): \(again.head)")
        expectBytes(again.body, Self.stored(number).bytes)
      }
      #expect(origin.requests.count == objects + chunked)
      #expect(try larder.metric("larder_store_evictions_total") == 0)
    }
  }

  /// What is promised while a body stands still, where its client has all that has come of it.
  private func promised(_ size: Int, after count: Int, _ framing: Representation.Framing) throws -> Double {
    let body = PatternBody(seed: 951, size: size)
    var promised = Double.infinity
    try withRig { rig in
      let gate = rig.gate("the rest")
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour(.stall(after: count, gate))
        behaviour.framing = framing
        try Representation(body).serve(exchange, behaviour)
      }
      let larder = try rig.larder()
      let checker = BodyChecker(body)
      let response = try RawClient(port: larder.port).fetch(origin.url("/")) { piece in
        checker.take(piece)
        guard checker.position == count else { return }
        promised = try larder.metric("larder_store_reserved_bytes") ?? .infinity
        gate.open()
      }
      #expect(response.end == .clean && checker.mismatch == nil && checker.position == size)
      #expect(isHit(try RawClient.fetch(origin.url("/"), [("Range", "bytes=0-0")], through: larder.port)))
    }
    return promised
  }

  @Test(arguments: [1000, 100_000, 3_000_000])
  func noMoreIsPromisedToABodyOfUnknownLengthThanHasCome(_ count: Int) throws {
    let promised = try promised(12_000_000, after: count, .chunked)
    #expect(promised <= Double(max(count, 64 << 10)))
  }

  @Test(arguments: [200_000, 9_000_000])
  func noMoreIsPromisedToABodyOfKnownLengthThanIsMissing(_ size: Int) throws {
    let promised = try promised(size, after: size - 50_000, .length)
    #expect(promised <= 50_000)
  }
}
