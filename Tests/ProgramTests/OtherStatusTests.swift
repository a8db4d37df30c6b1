// Responses that are not 200, with a strong tag: Range does not apply to them, so that no part of one can be asked for.
import TestSupport
import Testing

@Suite struct OtherStatusTests {
  private static let body = PatternBody(seed: 331, size: 100_000)

  struct Kind: CustomTestStringConvertible, Sendable {
    let status: String
    let isChunked: Bool
    var testDescription: String { "\(status)\(isChunked ? ", chunked" : "")" }
    var code: Int { Int(status.prefix(3)) ?? 0 }
  }

  private static let kinds = [
    "404 Not Found", "410 Gone", "301 Moved Permanently", "302 Found", "203 Non-Authoritative Information",
    "500 Internal Server Error",
  ].flatMap { status in [false, true].map { Kind(status: status, isChunked: $0) } }

  /// Answers with such a status whatever range is asked for (RFC 9110 §14.2).
  private static func serve(
    _ exchange: Exchange, _ kind: Kind, _ body: PatternBody, upTo end: Int, _ rest: (Exchange) throws -> Void
  ) throws {
    try exchange.head(
      kind.status,
      [
        ("ETag", "\"v1\""), ("Cache-Control", "max-age=3600"), ("Location", "/elsewhere"),
        kind.isChunked ? ("Transfer-Encoding", "chunked") : ("Content-Length", "\(body.size)"),
      ])
    for offset in stride(from: 0, to: end, by: 50_000) {
      let piece = body.bytes(offset..<min(offset + 50_000, end))
      if kind.isChunked { try exchange.chunk(piece) } else { try exchange.body(piece) }
    }
    guard end == body.size else { return try rest(exchange) }
    if kind.isChunked { try exchange.lastChunk() }
  }

  private func expectWhole(_ response: RawResponse, _ kind: Kind) {
    #expect(response.status == kind.code && response.end == .clean)
    expectBytes(response.body, Self.body.bytes)
  }

  /// RFC 9110 §14.2: what broke off is fetched anew, and not asked for again and again in vain.
  @Test(arguments: kinds) func aResponseThatBrokeOffIsFetchedAnew(_ kind: Kind) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let end = exchange.index == 0 ? Self.body.size / 2 : Self.body.size
        try Self.serve(exchange, kind, Self.body, upTo: end) { $0.finish() }
      }
      let larder = try rig.larder()
      let first = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(first.status == kind.code && first.end == .cut)
      #expect(origin.requests.count == 1, "the rest is not asked for")
      let second = try RawClient.fetch(origin.url("/"), through: larder.port)
      expectWhole(second, kind)
      let third = try RawClient.fetch(origin.url("/"), through: larder.port)
      expectWhole(third, kind)
      #expect(isHit(third) && origin.requests.count == 2)
      for request in origin.requests { #expect(request.field("Range") == nil && request.field("If-Match") == nil) }
    }
  }

  @Test func soItIsWhereTheProgramEndedMeanwhile() throws {
    let kind = Kind(status: "404 Not Found", isChunked: false)
    try withRig { rig in
      let never = rig.gate("never")
      let origin = try rig.origin { exchange in
        let end = exchange.index == 0 ? Self.body.size / 2 : Self.body.size
        try Self.serve(exchange, kind, Self.body, upTo: end) { _ in try never.pass() }
      }
      let folders = try rig.folders()
      let first = try rig.larder(["clients.drain_timeout": "100ms"], on: folders)
      let client = try RawClient(port: first.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      _ = try client.responseHead()
      expectBytes(try client.read(Self.body.size / 2), Self.body.bytes(0..<Self.body.size / 2))
      try first.stop()
      let second = try rig.larder(on: folders)
      for _ in 0..<2 { expectWhole(try RawClient.fetch(origin.url("/"), through: second.port), kind) }
      #expect(origin.requests.count == 2)
    }
  }

  /// What there is no room for is passed on whole: nothing of it can be asked for from where the room ended.
  @Test(arguments: [false, true]) func whatThereIsNoRoomForArrivesWhole(_ isChunked: Bool) throws {
    let kind = Kind(status: "404 Not Found", isChunked: isChunked)
    let body = PatternBody(seed: 332, size: 20_000_000)
    try withRig { rig in
      let origin = try rig.origin { try Self.serve($0, kind, body, upTo: body.size) { _ in } }
      let larder = try rig.larder(["workers": "1", "cache.size": "8M"])
      let checker = BodyChecker(body)
      let response = try RawClient(port: larder.port).fetch(origin.url("/"), into: checker.take)
      #expect(response.status == 404 && response.end == .clean)
      #expect(checker.mismatch == nil && checker.position == body.size)
      // Where the length is unknown, so it is when the head is sent whether there is room for all of it.
      if !isChunked { #expect(cacheStatus(response).contains("detail=no-space")) }
      #expect(origin.requests.count == 1)
    }
  }

  /// RFC 9110 §8.8.3: the same tag under another status is no reason to take the bytes of one for those of the other.
  @Test func theObjectIsNotMadeOfWhatWasStoredOfAnotherStatus() throws {
    let object = PatternBody(seed: 333, size: 100_000)
    let kind = Kind(status: "404 Not Found", isChunked: false)
    try withRig { rig in
      let origin = try rig.origin { exchange in
        guard exchange.index == 0 else { return try Representation(object).serve(exchange) }
        try Self.serve(exchange, kind, Self.body, upTo: Self.body.size / 2) { $0.finish() }
      }
      let larder = try rig.larder()
      #expect(try RawClient.fetch(origin.url("/"), through: larder.port).end == .cut)
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.status == 200 && response.end == .clean)
      expectBytes(response.body, object.bytes)
    }
  }
}
