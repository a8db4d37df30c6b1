// A gzip-coded stored response for clients that do not accept gzip: decoded on the way, with a validator of its own.
import TestSupport
import Testing

@Suite struct ContentCodingTests {
  private static let identity = [("Accept-Encoding", "identity")]
  private static let gzip = [("Accept-Encoding", "gzip")]
  private static let fields = [
    ("Content-Type", "text/plain"), ("Content-Encoding", "gzip"), ("ETag", "\"g1\""), ("Content-MD5", "of-the-coded"),
    ("Repr-Digest", "sha-256=:b2YtdGhlLWNvZGVk:"), ("Accept-Ranges", "bytes"),
  ]

  private static let rows: [CodingRow] = [
    CodingRow("12.5.3 no field: as stored", "/page", [], tag: "\"g1\"", coding: "gzip", .coded),
    CodingRow("12.5.3 accepted", "/page", gzip, tag: "\"g1\"", coding: "gzip", .coded),
    CodingRow("12.5.3 identity", "/page", identity, tag: "W/\"g1;identity\"", .plain),
    CodingRow("12.5.3 q=0", "/page", [("Accept-Encoding", "gzip;q=0, br")], tag: "W/\"g1;identity\"", .plain),
    CodingRow("12.5.3 empty", "/page", [("Accept-Encoding", "")], tag: "W/\"g1;identity\"", .plain),
    CodingRow("12.5.3 x-gzip", "/page", [("Accept-Encoding", "x-gzip")], tag: "\"g1\"", coding: "gzip", .coded),
    CodingRow(
      "14.2 no ranges of decoded content", "/page", identity + [("Range", "bytes=10-19")], tag: "W/\"g1;identity\"",
      .plain),
    CodingRow(
      "14.2 several", "/page", identity + [("Range", "bytes=10-19,40-49")], tag: "W/\"g1;identity\"", .plain),
    CodingRow(
      "14.1.2 beyond the end", "/page", identity + [("Range", "bytes=999999999-")], tag: "W/\"g1;identity\"", .plain),
    CodingRow(
      "13.1.5 a weak tag", "/page", identity + [("Range", "bytes=10-19"), ("If-Range", "W/\"g1;identity\"")],
      tag: "W/\"g1;identity\"", .plain),
    CodingRow(
      "14.2 ranges of what is stored", "/page", gzip + [("Range", "bytes=10-19")], status: 206, tag: "\"g1\"",
      coding: "gzip", .part(10..<20)),
    CodingRow(
      "13.1.2 its own tag", "/page", identity + [("If-None-Match", "W/\"g1;identity\"")], status: 304,
      tag: "W/\"g1;identity\"", .none),
    CodingRow(
      "13.1.2 its own tag in a list", "/page", identity + [("If-None-Match", "\"x\", W/\"g1;identity\"")], status: 304,
      tag: "W/\"g1;identity\"", .none),
    CodingRow(
      "13.1.2 the other's tag", "/page", identity + [("If-None-Match", "\"g1\"")], tag: "W/\"g1;identity\"", .plain),
    CodingRow(
      "13.1.2 the stored tag", "/page", gzip + [("If-None-Match", "\"g1\"")], status: 304, tag: "\"g1\"", .none),
    CodingRow("9.3.2", "/page", identity, method: "HEAD", tag: "W/\"g1;identity\"", .none),
    CodingRow("9.3.2 stored", "/page", gzip, method: "HEAD", tag: "\"g1\"", coding: "gzip", .none),
    CodingRow(
      "13.1.1 what is stored", "/page", identity + [("If-Match", "\"g1\"")], tag: "\"g1\"", coding: "gzip", .coded),
    CodingRow(
      "9111 5.2.1.6", "/page", identity + [("Cache-Control", "no-transform")], tag: "\"g1\"", coding: "gzip", .coded),
    CodingRow("9111 5.2.2.6", "/no-transform", identity, tag: "\"g1\"", coding: "gzip", .coded),
    CodingRow("9111 4.1", "/vary", identity, tag: "\"g1\"", coding: "gzip", .coded),
    CodingRow("a gzip file", "/file.tar.gz", identity, tag: "\"g1\"", coding: "gzip", .coded),
  ]

  @Test func whoDoesNotAcceptGzipGetsItDecoded() throws {
    try withRig { rig in
      let plain = lines(30_000)
      let coded = try gzipped(plain, rig)
      let origin = try rig.origin { exchange in
        var resource = FixedResource(coded, Self.fields)
        switch exchange.request.target {
        case "/no-transform": resource = FixedResource(coded, Self.fields, caching: "max-age=3600, no-transform")
        case "/vary": resource.fields.append(("Vary", "Accept-Encoding"))
        default: break
        }
        try resource.serve(exchange)
      }
      let larder = try rig.larder()
      for path in Set(Self.rows.map(\.path)) {
        try demand(try RawClient.fetch(origin.url(path), Self.gzip, through: larder.port).body == coded, "a miss")
      }
      let asked = origin.requests.count
      let failures = try runTable(Self.rows, name: \.name) { row in
        let response = try RawClient.fetch(origin.url(row.path), row.request, through: larder.port, method: row.method)
        try row.check(response, plain: plain, coded: coded)
        if row.tag?.hasPrefix("W/") == true {
          try demandNothingOfOtherBytes(response)
          try demand(isHit(response), "not from the store: \(response.cacheStatus)")
          if row.status == 200 {
            try demand(cacheStatus(response).contains("detail=decoded"), response.cacheStatus)
            try demandEqual(response.field("Transfer-Encoding"), "chunked", "the framing")
          }
        }
      }
      #expect(failures == [])
      // Only the variant that the origin itself has to choose was asked for.
      #expect(origin.requests.count == asked + 1)
      #expect(try larder.metric("larder_decoded_responses_total") ?? 0 > 5)
    }
  }

  /// What is decoded while it comes looks no other than what is decoded later; small and large, stored in either tier.
  @Test(arguments: [0, 1, 50, 5000, 100_000]) func theMissItselfIsDecodedToo(_ count: Int) throws {
    try withRig { rig in
      let plain = lines(count)
      let coded = try gzipped(plain, rig)
      let resource = FixedResource(coded, Self.fields)
      let origin = try rig.origin { try resource.serve($0) }
      let larder = try rig.larder()
      for isHit in [false, true, true] {
        let response = try RawClient.fetch(origin.url("/"), Self.identity, through: larder.port)
        #expect(response.status == 200 && response.end == .clean)
        #expect(response.field("ETag") == "W/\"g1;identity\"" && response.field("Content-Encoding") == nil)
        #expect(cacheStatus(response).contains("detail=decoded"))
        #expect(ProgramTests.isHit(response) == isHit)
        expectBytes(response.body, plain)
      }
      expectBytes(try RawClient.fetch(origin.url("/"), Self.gzip, through: larder.port).body, coded)
      #expect(origin.requests.count == 1 && origin.bodyBytesSent == coded.count)
    }
  }

  @Test func contentOfNoBytesIsDecodedToNone() throws {
    try withRig { rig in
      let origin = try rig.origin { try FixedResource([], Self.fields).serve($0) }
      let larder = try rig.larder()
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), Self.identity, through: larder.port)
        #expect(response.status == 200 && response.end == .clean && response.body.isEmpty)
      }
    }
  }

  @Test func aClientOfHTTP10GetsItDelimitedByTheClose() throws {
    try withRig { rig in
      let plain = lines(20_000)
      let coded = try gzipped(plain, rig)
      let origin = try rig.origin { try FixedResource(coded, Self.fields).serve($0) }
      let larder = try rig.larder()
      for _ in 0..<2 {
        let client = try RawClient(port: larder.port)
        try client.send(
          "GET \(origin.url("/")) HTTP/1.0\r\nAccept-Encoding: identity\r\nConnection: keep-alive\r\n\r\n")
        let response = try client.response()
        #expect(response.field("Transfer-Encoding") == nil && response.field("Content-Length") == nil)
        #expect(response.field("Connection") == "close" && response.end == .clean)
        expectBytes(response.body, plain)
      }
    }
  }

  @Test func partsThatAreStoredAreCompletedAndDecoded() throws {
    try withRig { rig in
      let plain = lines(60_000)
      let coded = try gzipped(plain, rig)
      let origin = try rig.origin { try FixedResource(coded, Self.fields).serve($0) }
      let larder = try rig.larder()
      for range in ["bytes=0-99999", "bytes=150000-159999"] {
        let part = try RawClient.fetch(origin.url("/"), Self.gzip + [("Range", range)], through: larder.port)
        #expect(part.status == 206)
      }
      let response = try RawClient.fetch(
        origin.url("/"), Self.identity + [("Range", "bytes=5-9")], through: larder.port)
      #expect(response.status == 200 && response.field("ETag") == "W/\"g1;identity\"")
      expectBytes(response.body, plain)
      #expect(origin.bodyBytesSent == coded.count, "no byte is fetched twice")
    }
  }

  @Test func aStaleResponseIsValidatedByItsOwnTagAndServedByTheDerivedOne() throws {
    try withRig { rig in
      let plain = lines(1000)
      let coded = try gzipped(plain, rig)
      let origin = try rig.origin { try FixedResource(coded, Self.fields, caching: "max-age=0").serve($0) }
      let larder = try rig.larder()
      let url = origin.url("/")
      _ = try RawClient.fetch(url, Self.gzip, through: larder.port)
      let second = try RawClient.fetch(url, Self.identity, through: larder.port)
      #expect(second.status == 200 && second.field("ETag") == "W/\"g1;identity\"")
      expectBytes(second.body, plain)
      let third = try RawClient.fetch(
        url, Self.identity + [("If-None-Match", "W/\"g1;identity\"")], through: larder.port)
      #expect(third.status == 304 && third.field("ETag") == "W/\"g1;identity\"")
      #expect(origin.bodyBytesSent == coded.count)
      for request in origin.requests.dropFirst() {
        #expect(request.field("If-None-Match")?.contains("\"g1\"") == true)
      }
    }
  }

  /// Both that begin with it and that follow: decoded content is there before the origin has sent the rest.
  @Test(arguments: [false, true]) func aRunningFillIsDecodedWhileItComes(_ isChunked: Bool) throws {
    try withRig { rig in
      let plain = lines(100_000)
      let coded = try gzipped(plain, rig)
      let gate = rig.gate("the second half")
      let half = coded.count / 2
      let origin = try rig.origin { exchange in
        let fields = Self.fields + [("Cache-Control", "max-age=60")]
        if isChunked {
          try exchange.head("200 OK", fields + [("Transfer-Encoding", "chunked")])
          try exchange.chunk(Array(coded[..<half]))
          try gate.pass()
          try exchange.chunk(Array(coded[half...]))
          try exchange.lastChunk()
        } else {
          try exchange.head("200 OK", fields + [("Content-Length", "\(coded.count)")])
          try exchange.body(Array(coded[..<half]))
          try gate.pass()
          try exchange.body(Array(coded[half...]))
        }
      }
      // On a busy machine the gate stays closed for so long that a second connection would seem worth it.
      let larder = try rig.larder(["fills.connections_per_object": "1"])
      let arrived = Monitor(0)
      let clients = (0..<3).map { number in
        Background("client \(number)") {
          let client = try RawClient(port: larder.port)
          try client.send(RawClient.request("GET", origin.url("/"), Self.identity))
          var received: [UInt8] = []
          var hasArrived = false
          var response = try client.responseHead()
          try client.readBody(of: &response) { piece in
            received.append(contentsOf: piece)
            // Far more than half of what the first half comes to.
            guard !hasArrived, received.count > plain.count / 3 else { return }
            hasArrived = true
            if arrived.withLock({ count in
              count += 1; return count
            }) == 3 {
              gate.open()
            }
          }
          try demandEqual(response.end, .clean, "the end")
          try demand(received == plain, "\(received.count) bytes that are not the \(plain.count) expected")
        }
      }
      for client in clients { try client.join() }
      #expect(origin.requests.count == 1)
    }
  }
}
