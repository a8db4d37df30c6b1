// Completed objects are compared with the digests their origin states: what is right stays, what is bad is fetched anew.
import Foundation
import TestSupport
import Testing

@Suite struct DigestTests {
  private static let right = PatternBody(seed: 801, size: 300_000)
  private static let bad = PatternBody(seed: 802, size: 300_000)

  /// A digest in base 64, as another program computes it.
  private func digest(_ bytes: [UInt8], _ algorithm: String) throws -> String {
    try withTemporaryFile(bytes) { path in
      let made =
        algorithm == "crc32"
        ? "zlib.crc32(data).to_bytes(4, 'big')" : "hashlib.new('\(algorithm)', data).digest()"
      let script =
        "import sys, base64, hashlib, zlib; data = open(sys.argv[1], 'rb').read(); "
        + "print(base64.b64encode(\(made)).decode(), end='')"
      let result = try runTool("python3", ["-c", script, path])
      return String(decoding: result.output, as: UTF8.self)
    }
  }

  private func withTemporaryFile<Result>(_ bytes: [UInt8], _ body: (String) throws -> Result) throws -> Result {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let path = folder.file("body")
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return try body(path)
  }

  private func reprDigest(_ body: PatternBody, _ name: String = "sha-256") throws -> (String, String) {
    ("Repr-Digest", "\(name)=:\(try digest(body.bytes, name.replacingOccurrences(of: "-", with: ""))):")
  }

  private func resource(_ body: PatternBody, _ fields: [(String, String)]) -> Representation {
    Representation(body, fields: [("Cache-Control", "max-age=3600")] + fields)
  }

  /// Waits until a counter has come to a value, and expects that it has not passed it.
  private func expectCount(_ name: String, _ value: Double, of larder: LarderProcess) throws {
    let found = try eventually("\(name) to be \(value)", until: { $0 >= value }) {
      try larder.metric("larder_\(name)_total") ?? -1
    }
    #expect(found == value)
  }

  private func count(_ name: String, of larder: LarderProcess) throws -> Double? {
    try larder.metric("larder_\(name)_total")
  }

  @Test(arguments: [0, 1000, 300_000], [Representation.Framing.length, .chunked])
  func anObjectWithTheStatedDigestIsVerifiedOnceAndStays(_ size: Int, _ framing: Representation.Framing) throws {
    let body = PatternBody(seed: 800, size: size)
    let resource = resource(body, [try reprDigest(body)])
    try withRig { rig in
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        behaviour.framing = framing
        try resource.serve(exchange, behaviour)
      }
      let larder = try rig.larder()
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(response.end == .clean)
        expectBytes(response.body, body.bytes)
        try expectCount("digests_verified", 1, of: larder)
      }
      #expect(try count("digest_mismatches", of: larder) == 0)
      #expect(origin.requests.count == 1)
    }
  }

  @Test func aBadObjectIsDeliveredAndThenFetchedAnewWithoutARequest() throws {
    let fields = [try reprDigest(Self.right)]
    let (good, corrupted) = (resource(Self.right, fields), resource(Self.bad, fields))
    try withRig { rig in
      let origin = try rig.origin { try ($0.index == 0 ? corrupted : good).serve($0) }
      let larder = try rig.larder()
      let first = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(first.end == .clean)
      expectBytes(first.body, Self.bad.bytes)
      try expectCount("digests_verified", 1, of: larder)
      #expect(try count("digest_mismatches", of: larder) == 1)
      #expect(try count("digest_refetches", of: larder) == 1)
      #expect(origin.requests.count == 2)
      #expect(origin.requests.last?.field("Range") == nil && origin.requests.last?.field("If-None-Match") == nil)
      let second = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(isHit(second))
      expectBytes(second.body, Self.right.bytes)
      #expect(origin.requests.count == 2)
      try larder.process.waitForErrorText("its SHA-256 is ")
      try larder.process.waitForErrorText("as Repr-Digest states: dropped, and fetched anew")
      #expect(larder.errorText.contains(origin.url("/")))
    }
  }

  @Test func whoAsksWhileItIsFetchedAnewDoesNotAskTheOriginAsWell() throws {
    let fields = [try reprDigest(Self.right)]
    let (good, corrupted) = (resource(Self.right, fields), resource(Self.bad, fields))
    try withRig { rig in
      let gate = rig.gate("the second head")
      let origin = try rig.origin { exchange in
        if exchange.index == 0 { return try corrupted.serve(exchange) }
        try gate.pass()
        try good.serve(exchange)
      }
      let larder = try rig.larder(["fills.collapse_timeout": "60s"])
      _ = try RawClient.fetch(origin.url("/"), through: larder.port)
      try gate.waitForArrival()
      let clients = try (0..<4).map { _ in try RawClient(port: larder.port) }
      for client in clients { try client.send(RawClient.request("GET", origin.url("/"))) }
      gate.open()
      for client in clients {
        let response = try client.response()
        #expect(response.end == .clean)
        expectBytes(response.body, Self.right.bytes)
      }
      #expect(origin.requests.count == 2)
    }
  }

  @Test func aRunningResponseEndsWithWhatItBeganWith() throws {
    let (right, bad) = (PatternBody(seed: 803, size: 24_000_000), PatternBody(seed: 804, size: 24_000_000))
    let fields = [try reprDigest(right)]
    let (good, corrupted) = (resource(right, fields), resource(bad, fields))
    try withRig { rig in
      let origin = try rig.origin { try ($0.index == 0 ? corrupted : good).serve($0) }
      let larder = try rig.larder()
      let slow = try RawClient(port: larder.port, receiveBuffer: 64 << 10)
      try slow.send(RawClient.request("GET", origin.url("/")))
      var response = try slow.responseHead()
      let quick = try RawClient.fetch(origin.url("/"), through: larder.port)
      expectBytes(quick.body, bad.bytes)
      try expectCount("digests_verified", 1, of: larder)
      try slow.readBody(of: &response)
      #expect(response.end == .clean)
      expectBytes(response.body, bad.bytes)
      #expect(origin.requests.count == 2)
      expectBytes(try RawClient.fetch(origin.url("/"), through: larder.port).body, right.bytes)
    }
  }

  @Test func anOriginThatAlwaysStatesAWrongDigestIsAskedOnceMoreAndThenBelieved() throws {
    let resource = resource(Self.bad, [try reprDigest(Self.right)])
    try withRig { rig in
      let origin = try rig.origin { try resource.serve($0) }
      let larder = try rig.larder()
      _ = try RawClient.fetch(origin.url("/"), through: larder.port)
      try expectCount("digest_mismatches", 2, of: larder)
      try larder.process.waitForErrorText("the origin states a wrong digest; kept")
      for _ in 0..<3 {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(isHit(response))
        expectBytes(response.body, Self.bad.bytes)
      }
      #expect(origin.requests.count == 2)
      #expect(try count("digest_refetches", of: larder) == 1)
      #expect(try count("digests_verified", of: larder) == 0)
    }
  }

  @Test func anObjectThatComesDifferentlyEachTimeIsFetchedByItselfOnlyOnce() throws {
    let fields = [try reprDigest(Self.right)]
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let body = PatternBody(seed: UInt64(900 + exchange.index), size: 300_000)
        try Representation(body, fields: [("Cache-Control", "max-age=3600")] + fields).serve(exchange)
      }
      let larder = try rig.larder()
      _ = try RawClient.fetch(origin.url("/"), through: larder.port)
      try expectCount("digest_mismatches", 2, of: larder)
      try larder.process.waitForErrorText("different again; dropped")
      try eventually("the bad object to be gone", until: { $0 == 0 }) {
        try larder.metric("larder_store_objects") ?? -1
      }
      let third = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(!isHit(third))
      expectBytes(third.body, PatternBody(seed: 902, size: 300_000).bytes)
      try expectCount("digest_mismatches", 3, of: larder)
      #expect(try count("digest_refetches", of: larder) == 1)
      #expect(origin.requests.count == 3)
    }
  }

  @Test func anObjectMadeOfRangesInAnyOrderIsComparedWhenItIsComplete() throws {
    let resource = resource(Self.right, [try reprDigest(Self.right, "sha-512")])
    try withRig { rig in
      let origin = try rig.origin { try resource.serve($0) }
      let folders = try rig.folders()
      let larder = try rig.larder(on: folders)
      for range in ["200000-", "0-99999"] {
        let response = try RawClient.fetch(origin.url("/"), [("Range", "bytes=\(range)")], through: larder.port)
        #expect(response.status == 206)
        #expect(try count("digests_verified", of: larder) == 0)
      }
      // What an earlier run has brought counts as well.
      try larder.stop()
      let next = try rig.larder(on: folders)
      _ = try RawClient.fetch(origin.url("/"), [("Range", "bytes=50000-249999")], through: next.port)
      try expectCount("digests_verified", 1, of: next)
      #expect(origin.bodyBytesSent == Self.right.size)
      #expect(try count("digest_mismatches", of: next) == 0)
    }
  }

  @Test func aDigestThatOnlyAPartialAnswerStatesCounts() throws {
    let fields = [try reprDigest(Self.right)]
    let (silent, stating) = (resource(Self.bad, []), resource(Self.bad, fields))
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try (exchange.index == 0 ? silent : stating)
          .serve(exchange, exchange.index == 0 ? .init(.finish(after: 100_000)) : .init())
      }
      let larder = try rig.larder()
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      expectBytes(response.body, Self.bad.bytes)
      #expect(origin.requests.dropFirst().first?.field("Range") != nil)
      try expectCount("digest_mismatches", 2, of: larder)
      #expect(try count("digest_refetches", of: larder) == 1)
    }
  }

  @Test(arguments: [false, true]) func contentMD5AndChecksumsOfObjectStoresCountBySetting(_ isOn: Bool) throws {
    let md5 = try digest(Self.right.bytes, "md5")
    let crc = try digest(Self.right.bytes, "crc32")
    let statements: [String: [(String, String)]] = [
      "/md5": [("Content-MD5", md5)],
      "/s3": [("x-amz-checksum-crc32", crc), ("x-amz-checksum-type", "FULL_OBJECT")],
      "/goog": [("x-goog-hash", "crc32c=AAAAAA==,md5=\(md5)")],
    ]
    let last = resource(Self.right, [try reprDigest(Self.right)])
    try withRig { rig in
      let origin = try rig.origin { exchange in
        guard let fields = statements[exchange.request.target] else { return try last.serve(exchange) }
        try Representation(Self.bad, fields: [("Cache-Control", "max-age=3600")] + fields).serve(exchange)
      }
      let value = isOn ? "yes" : "no"
      let larder = try rig.larder(
        isOn ? ["integrity.content_md5": value, "integrity.object_store_checksums": value] : [:])
      for path in statements.keys.sorted() {
        _ = try RawClient.fetch(origin.url(path), through: larder.port)
        // The second failure ends the matter: so the next object has the thread to itself.
        if isOn { try eventually("\(path)", until: { $0 == 2 }) { origin.requests.count { $0.target == path } } }
      }
      if isOn { try expectCount("digest_mismatches", Double(2 * statements.count), of: larder) }
      // Objects are compared one after the other: with the last one all are done.
      _ = try RawClient.fetch(origin.url("/last"), through: larder.port)
      try expectCount("digests_verified", 1, of: larder)
      #expect(try count("digest_mismatches", of: larder) == (isOn ? Double(2 * statements.count) : 0))
      #expect(origin.requests.count == (isOn ? 2 : 1) * statements.count + 1)
    }
  }

  @Test func whatSpeaksOfAPartOrIsCompositeDoesNotCount() throws {
    let part = try digest(Self.right.bytes(0..<100_000), "md5")
    let statements: [String: [(String, String)]] = [
      "/parts": [("Content-MD5", part), ("Content-Digest", "md5=:\(part):"), ("x-amz-checksum-crc32", "AAAAAA==")],
      "/composite": [("x-amz-checksum-crc32", "AAAAAA==-3")],
      "/typed": [("x-amz-checksum-crc32", "AAAAAA=="), ("x-amz-checksum-type", "COMPOSITE")],
    ]
    let last = resource(Self.right, [try reprDigest(Self.right)])
    try withRig { rig in
      let origin = try rig.origin { exchange in
        guard let fields = statements[exchange.request.target] else { return try last.serve(exchange) }
        try Representation(Self.right, fields: [("Cache-Control", "max-age=3600")] + fields).serve(exchange)
      }
      let larder = try rig.larder(["integrity.content_md5": "yes", "integrity.object_store_checksums": "yes"])
      for path in statements.keys.sorted() {
        for range in ["bytes=0-99999", "bytes=100000-"] where path == "/parts" {
          _ = try RawClient.fetch(origin.url(path), [("Range", range)], through: larder.port)
        }
        _ = try RawClient.fetch(origin.url(path), through: larder.port)
      }
      _ = try RawClient.fetch(origin.url("/last"), through: larder.port)
      try expectCount("digests_verified", 1, of: larder)
      #expect(try count("digest_mismatches", of: larder) == 0)
      #expect(origin.bodyBytesSent == Self.right.size * (statements.count + 1))
    }
  }

  @Test func aPartialResponseFromTheStoreDoesNotCarryTheDigestOfTheWhole() throws {
    let digest = try digest(Self.right.bytes, "sha256")
    let resource = resource(
      Self.right,
      [("Content-Digest", "sha-256=:\(digest):"), ("Content-MD5", "AAAA"), ("Repr-Digest", "sha-256=:\(digest):")])
    try withRig { rig in
      let origin = try rig.origin { try resource.serve($0) }
      let larder = try rig.larder()
      let whole = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(whole.field("Content-Digest") != nil && whole.field("Content-MD5") != nil)
      for range in ["bytes=10-19", "bytes=10-19,30-39"] {
        let part = try RawClient.fetch(origin.url("/"), [("Range", range)], through: larder.port)
        #expect(part.status == 206)
        #expect(part.field("Content-Digest") == nil && part.field("Content-MD5") == nil)
        #expect(part.field("Repr-Digest") == "sha-256=:\(digest):")
      }
    }
  }

  @Test func hitsGoOnWhileALargeObjectIsCompared() throws {
    let large = PatternBody(seed: 805, size: 64 << 20)
    let largeResource = resource(large, [try reprDigest(large, "sha-512")])
    let small = PatternBody(seed: 806, size: 20_000)
    let smallResource = resource(small, [])
    try withRig { rig in
      let origin = try rig.origin { try ($0.request.target == "/large" ? largeResource : smallResource).serve($0) }
      let larder = try rig.larder()
      _ = try RawClient.fetch(origin.url("/small"), through: larder.port)
      let client = try RawClient(port: larder.port)
      var received = 0
      let other = try RawClient(port: larder.port)
      let response = try other.fetch(origin.url("/large"), into: { received += $0.count })
      #expect(response.end == .clean && received == large.size)
      try eventually("the large object to be compared", until: { $0 == 1 }) {
        let hit = try client.fetch(origin.url("/small"))
        #expect(isHit(hit))
        expectBytes(hit.body, small.bytes)
        return try count("digests_verified", of: larder) ?? -1
      }
      // One window at a time is held, not the object.
      #expect(try larder.peakResidentBytes() < 256 << 20)
    }
  }
}
