// Chunked objects whose end never came, asked about once they may be out of date: a 416 tells the end, and no more.
import TestSupport
import Testing

@Suite struct UnknownEndTests {
  private static let body = PatternBody(seed: 341, size: 900_000)

  /// Why the origin is asked before what is stored is served.
  enum Occasion: CaseIterable {
    case stale
    /// RFC 9111 §5.2.1.4.
    case noCache

    var lifetime: (String, String) { ("Cache-Control", self == .stale ? "max-age=0" : "max-age=3600") }
    var fields: [(String, String)] { self == .stale ? [] : [("Cache-Control", "no-cache")] }
  }

  /// The first bytes of a chunked object are stored, and then the program ends, so that nobody knows how long it is.
  ///
  /// - Parameter answer: what the origin says to all later requests.
  private func afterTheFirst(
    _ count: Int, _ occasion: Occasion, _ answer: @escaping @Sendable (Exchange) throws -> Void,
    _ look: (_ origin: ScriptedOrigin, _ larder: LarderProcess) throws -> Void
  ) throws {
    try withRig { rig in
      let never = rig.gate("never")
      let origin = try rig.origin { exchange in
        guard exchange.index == 0 else { return try answer(exchange) }
        try exchange.head("200 OK", [("Transfer-Encoding", "chunked"), ("ETag", "\"v1\""), occasion.lifetime])
        try exchange.chunk(Self.body.bytes(0..<count))
        try never.pass()
      }
      let folders = try rig.folders()
      let first = try rig.larder(["clients.drain_timeout": "100ms"], on: folders)
      let client = try RawClient(port: first.port)
      // HTTP/1.0 has no chunks to take out.
      try client.send("GET \(origin.url("/")) HTTP/1.0\r\n\r\n")
      _ = try client.responseHead()
      expectBytes(try client.read(count), Self.body.bytes(0..<count))
      try first.stop()
      try look(origin, try rig.larder(on: folders))
    }
  }

  private func resource(_ occasion: Occasion) -> Representation {
    Representation(Self.body, fields: [occasion.lifetime])
  }

  @Test(arguments: Occasion.allCases) func whatIsAllThereIsNotFetchedAgain(_ occasion: Occasion) throws {
    let (size, resource) = (Self.body.size, resource(occasion))
    try afterTheFirst(size, occasion, { try resource.serve($0) }) { origin, larder in
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), occasion.fields, through: larder.port)
        #expect(response.status == 200 && response.end == .clean)
        #expect(response.field("Content-Length") == "\(size)")
        #expect(cacheStatus(response).contains("fwd-status=304"))
        expectBytes(response.body, Self.body.bytes)
      }
      #expect(origin.bodyBytesSent == size)
      let asked = origin.requests.dropFirst()
      #expect(asked.map { $0.field("If-Match") } == ["\"v1\"", nil, nil], "the end is asked for once")
      #expect(asked.map { $0.field("If-None-Match") } == [nil, "\"v1\"", "\"v1\""])
    }
  }

  @Test(arguments: Occasion.allCases) func aRangeBehindTheEndLeavesWhatIsStored(_ occasion: Occasion) throws {
    let (size, resource) = (Self.body.size, resource(occasion))
    try afterTheFirst(300_000, occasion, { try resource.serve($0) }) { origin, larder in
      func fetch(_ range: String) throws -> RawResponse {
        try RawClient.fetch(origin.url("/"), occasion.fields + [("Range", range)], through: larder.port)
      }
      let beyond = try fetch("bytes=\(size + 5)-\(size + 9)")
      #expect(beyond.status == 416 && beyond.field("Content-Range") == "bytes */\(size)")
      let start = try fetch("bytes=0-299999")
      #expect(start.status == 206 && start.field("Content-Range") == "bytes 0-299999/\(size)")
      expectBytes(start.body, Self.body.bytes(0..<300_000))
      let whole = try RawClient.fetch(origin.url("/"), occasion.fields, through: larder.port)
      #expect(whole.status == 200 && whole.end == .clean)
      expectBytes(whole.body, Self.body.bytes)
      #expect(origin.bodyBytesSent == size)
    }
  }

  /// A version that took the first one's place at an origin which does not look at `If-Match`.
  struct Successor: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let size: Int
    /// Whether its 416 says which version it speaks of.
    let isNamed: Bool

    init(_ name: String, _ size: Int, isNamed: Bool) {
      testDescription = name
      self.size = size
      self.isNamed = isNamed
    }
  }

  /// RFC 9110 §13.1.1: a cache on the way may ignore `If-Match`, so that a 416 does not prove that the tag still matches. What
  /// was stored is not taken for the whole because another version ends where it does.
  @Test(arguments: [
    Successor("as long as what is stored", 300_000, isNamed: false),
    Successor("as long, and named", 300_000, isNamed: true), Successor("shorter", 200_000, isNamed: false),
    Successor("shorter, and named", 200_000, isNamed: true),
  ])
  func a416OfAnotherVersionIsNotBelieved(_ successor: Successor) throws {
    let body = PatternBody(seed: 342, size: successor.size)
    let resource = Representation(body, entityTag: "\"v2\"", fields: [Occasion.stale.lifetime])
    try afterTheFirst(300_000, .stale) { exchange in
      if exchange.request.field("Range") != nil, !successor.isNamed {
        return try exchange.respond(
          "416 Range Not Satisfiable", [("Content-Range", "bytes */\(body.size)")], body: "nothing there")
      }
      var behaviour = Representation.Behaviour()
      behaviour.ignoresConditions = exchange.request.field("If-Match") != nil
      try resource.serve(exchange, behaviour)
    } _: { origin, larder in
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.status == 200 && response.end == .clean && response.field("ETag") == "\"v2\"")
      expectBytes(response.body, body.bytes)
    }
  }
}
