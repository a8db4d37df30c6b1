// How much room is promised to what comes, and what becomes of it where there is none.
import Foundation
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

  /// A body that cannot be asked for again goes on to its reader from where the room for it ended, on the exchange that has
  /// brought it so far.
  @Test(arguments: [nil, "W/\"v1\""]) func whatOutgrowsTheRoomAndCannotBeAskedForAgainArrivesWhole(tag: String?) throws
  {
    let body = PatternBody(seed: 952, size: 20_000_000)
    try withRig { rig in
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        behaviour.framing = .chunked
        try Representation(body, entityTag: tag).serve(exchange, behaviour)
      }
      let larder = try rig.larder(["cache.size": "8M"])
      let checker = BodyChecker(body)
      let response = try RawClient(port: larder.port).fetch(origin.url("/"), into: checker.take)
      #expect(response.status == 200 && response.end == .clean)
      #expect(checker.mismatch == nil && checker.position == body.size)
      #expect(origin.requests.count == 1)
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

  /// An object with gaps, of which some are stored.
  private static let gapped = PatternBody(seed: 952, size: 4 << 20)

  /// A cache of 8 MiB in which most is promised to a body that stands still: beside 6 MiB no gap of 3 MB can be stored.
  private func withLittleRoom(
    storing spans: [Range<Int>], beside size: Int = 6 << 20, fields: [(String, String)] = [],
    _ run: (ScriptedOrigin, LarderProcess) throws -> Void
  ) throws {
    try withRig { rig in
      let gate = rig.gate("the large body")
      let origin = try rig.origin { exchange in
        guard exchange.request.target == "/" else {
          return try Representation(PatternBody(seed: 953, size: size)).serve(
            exchange, .init(.stall(after: 1000, gate)))
        }
        var resource = Representation(Self.gapped)
        if !fields.isEmpty { resource.fields = fields }
        try resource.serve(exchange)
      }
      let larder = try rig.larder(["cache.size": "8M"])
      for span in spans {
        let part = try RawClient.fetch(origin.url("/"), [range(span)], through: larder.port)
        expectBytes(part.body, Self.gapped.bytes(span))
      }
      let holder = try RawClient(port: larder.port)
      try holder.send(RawClient.request("GET", origin.url("/large")))
      #expect(try holder.responseHead().status == 200)
      try run(origin, larder)
    }
  }

  private func range(_ span: Range<Int>) -> (String, String) {
    ("Range", "bytes=\(span.lowerBound)-\(span.upperBound - 1)")
  }

  /// The gaps of the object that the origin was asked for, after the spans stored at first and the large body.
  private func gaps(_ origin: ScriptedOrigin, after count: Int) -> [String?] {
    origin.requests.dropFirst(count + 1).map { $0.field("Range") }
  }

  @Test func aGapWithoutRoomIsAskedForOnce() throws {
    try withLittleRoom(storing: [0..<1000]) { origin, larder in
      let response = try RawClient.fetch(origin.url("/"), [range(0..<3_000_000)], through: larder.port)
      #expect(response.status == 206 && response.end == .clean)
      expectBytes(response.body, Self.gapped.bytes(0..<3_000_000))
      #expect(gaps(origin, after: 1) == ["bytes=1000-2999999"])
    }
  }

  /// Its head is waited for before the response begins: the answer to that is what is relayed.
  @Test(arguments: [3600, 0]) func aFirstGapWithoutRoomIsAskedForOnce(_ age: Int) throws {
    let fields = [("Cache-Control", "max-age=\(age)")]
    try withLittleRoom(storing: [3_000_000..<3_001_000], fields: fields) { origin, larder in
      let response = try RawClient.fetch(origin.url("/"), [range(0..<3_000_500)], through: larder.port)
      #expect(response.status == 206 && response.end == .clean)
      expectBytes(response.body, Self.gapped.bytes(0..<3_000_500))
      #expect(cacheStatus(response).contains("detail=no-space"), "\(response.cacheStatus)")
      #expect(gaps(origin, after: 1) == ["bytes=0-2999999"])
    }
  }

  @Test func theGapBehindOneWithoutRoomIsStoredWhereThereIsRoomForIt() throws {
    try withLittleRoom(storing: [0..<1000, 3_000_000..<3_001_000]) { origin, larder in
      expectBytes(try RawClient.fetch(origin.url("/"), through: larder.port).body, Self.gapped.bytes)
      let rest = 3_001_000..<4 << 20
      let part = try RawClient.fetch(origin.url("/"), [range(rest)], through: larder.port)
      #expect(isHit(part), "\(part.cacheStatus)")
      expectBytes(part.body, Self.gapped.bytes(rest))
      #expect(gaps(origin, after: 2) == ["bytes=1000-2999999", "bytes=3001000-4194303"])
    }
  }

  @Test func ofManyGapsWithoutRoomEachIsAskedForOnce() throws {
    let stored = [0..<1000, 1_500_000..<1_501_000, 2_800_000..<2_801_000]
    try withLittleRoom(storing: stored, beside: 7_800_000) { origin, larder in
      expectBytes(try RawClient.fetch(origin.url("/"), through: larder.port).body, Self.gapped.bytes)
      #expect(
        gaps(origin, after: 3) == ["bytes=1000-1499999", "bytes=1501000-2799999", "bytes=2801000-4194303"])
    }
  }

  /// The disk fails with the first byte, when it has been decided that the response is stored.
  @Test(arguments: [DiskShim.Call.open, .write])
  func whatTheDiskDoesNotTakeIsNotSaidToBeStored(_ call: DiskShim.Call) throws {
    try withRig { rig in
      let body = PatternBody(seed: 954, size: 900_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let folders = try rig.folders()
      let shim = try DiskShim(in: rig.folder, filesWith: folders.cache + "/bodies")
      let larder = try rig.larder(on: folders, environment: shim.environment)
      shim.fail(call, with: EIO)
      for reason in ["fwd=uri-miss", "fwd=partial"] {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(response.status == 200 && response.end == .clean)
        expectBytes(response.body, body.bytes)
        let status = cacheStatus(response)
        #expect(status.contains(reason) && status.contains("detail=no-space"), "\(status)")
        #expect(!status.contains("stored"), "\(status)")
      }
      shim.fail(call, with: 0)
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      expectBytes(response.body, body.bytes)
      #expect(!cacheStatus(response).contains("detail=no-space"), "\(response.cacheStatus)")
      let again = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(isHit(again), "\(again.cacheStatus)")
    }
  }
}
