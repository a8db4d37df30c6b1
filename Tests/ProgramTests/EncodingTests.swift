// Text that is stored without a coding, gzip-coded for clients that accept it where the owner wants so.
import TestSupport
import Testing

@Suite struct EncodingTests {
  private static let gzip = [("Accept-Encoding", "gzip, br")]
  private static let identity = [("Accept-Encoding", "identity")]
  private static let fields = [
    ("Content-Type", "text/plain; charset=utf-8"), ("ETag", "\"t1\""), ("Content-MD5", "of-the-plain"),
    ("Repr-Digest", "sha-256=:b2YtdGhlLXBsYWlu:"),
  ]
  private static let settings = ["coding.gzip": "yes", "coding.gzip_minimum": "2K"]

  /// The coded form is what `coded` stands for here, so that parts are parts of the plain one.
  private static let rows: [CodingRow] = [
    CodingRow("12.5.3 accepted", "/text", gzip, tag: "W/\"t1;gzip\"", coding: "gzip", .coded),
    CodingRow(
      "12.5.3 weights", "/text", [("Accept-Encoding", "identity;q=0.2, gzip;q=0.3")], tag: "W/\"t1;gzip\"",
      coding: "gzip", .coded),
    CodingRow("12.5.3 star", "/text", [("Accept-Encoding", "*")], tag: "W/\"t1;gzip\"", coding: "gzip", .coded),
    CodingRow("12.5.3 no field", "/text", [], tag: "\"t1\"", .plain),
    CodingRow("12.5.3 identity", "/text", identity, tag: "\"t1\"", .plain),
    CodingRow("12.5.3 q=0", "/text", [("Accept-Encoding", "br, gzip;q=0")], tag: "\"t1\"", .plain),
    CodingRow(
      "12.5.3 identity preferred", "/text", [("Accept-Encoding", "identity, gzip;q=0.9")], tag: "\"t1\"", .plain),
    CodingRow("14.2", "/text", gzip + [("Range", "bytes=100-199")], status: 206, tag: "\"t1\"", .part(100..<200)),
    CodingRow(
      "13.1.5", "/text", gzip + [("Range", "bytes=100-199"), ("If-Range", "\"t1\"")], status: 206, tag: "\"t1\"",
      .part(100..<200)),
    CodingRow(
      "13.1.5 a weak tag", "/text", gzip + [("Range", "bytes=100-199"), ("If-Range", "W/\"t1;gzip\"")], tag: "\"t1\"",
      .plain),
    CodingRow(
      "13.1.2 its own tag", "/text", gzip + [("If-None-Match", "W/\"t1;gzip\"")], status: 304, tag: "W/\"t1;gzip\"",
      .none),
    CodingRow(
      "13.1.2 the plain one's tag", "/text", gzip + [("If-None-Match", "\"t1\"")], status: 304, tag: "\"t1\"", .none),
    CodingRow(
      "13.1.2 another's tag", "/text", gzip + [("If-None-Match", "\"t0\"")], tag: "W/\"t1;gzip\"", coding: "gzip",
      .coded),
    CodingRow(
      "13.1.2 the coded one's tag", "/text", identity + [("If-None-Match", "W/\"t1;gzip\"")], tag: "\"t1\"", .plain),
    CodingRow("9.3.2", "/text", gzip, method: "HEAD", tag: "W/\"t1;gzip\"", coding: "gzip", .none),
    CodingRow("9.3.2 plain", "/text", identity, method: "HEAD", tag: "\"t1\"", .none),
    CodingRow(
      "9111 5.2.1.6", "/text", gzip + [("Cache-Control", "no-transform")], tag: "\"t1\"", .plain),
    CodingRow("9111 5.2.2.6", "/no-transform", gzip, tag: "\"t1\"", .plain),
    CodingRow("8.3 no text", "/image", gzip, tag: "\"t1\"", .plain),
  ]

  @Test func whoAcceptsGzipGetsStoredTextEncoded() throws {
    try withRig { rig in
      let plain = lines(30_000)
      let origin = try rig.origin { exchange in
        var resource = FixedResource(plain, Self.fields)
        switch exchange.request.target {
        case "/no-transform": resource = FixedResource(plain, Self.fields, caching: "max-age=3600, no-transform")
        case "/image": resource.fields[0] = ("Content-Type", "image/png")
        default: break
        }
        try resource.serve(exchange)
      }
      let larder = try rig.larder(Self.settings)
      for path in Set(Self.rows.map(\.path)) {
        let first = try RawClient.fetch(origin.url(path), Self.gzip, through: larder.port)
        try demand(first.body == plain && first.field("ETag") == "\"t1\"", "a miss is passed on while it comes")
        try demandEqual(first.field("Vary"), path == "/text" ? "Accept-Encoding" : nil, "Vary of a miss")
      }
      let asked = origin.requests.count
      let failures = try runTable(Self.rows, name: \.name) { row in
        var response = try RawClient.fetch(origin.url(row.path), row.request, through: larder.port, method: row.method)
        try demand(isHit(response), "not from the store: \(response.cacheStatus)")
        if row.path == "/text" { try demandEqual(response.field("Vary"), "Accept-Encoding", "Vary") }
        if row.tag?.hasPrefix("W/") == true {
          try demandNothingOfOtherBytes(response)
          if row.status == 200 {
            try demand(cacheStatus(response).contains("detail=encoded"), response.cacheStatus)
            try demandEqual(response.field("Transfer-Encoding"), "chunked", "the framing")
          }
        }
        guard case .coded = row.body else { return try row.check(response, plain: plain, coded: plain) }
        try demand(response.body.count < plain.count / 3, "\(response.body.count) bytes are not much less")
        response.body = try gunzipped(response.body, rig)
        try row.check(response, plain: plain, coded: plain)
      }
      #expect(failures == [])
      #expect(origin.requests.count == asked)
      #expect(try larder.metric("larder_encoded_responses_total") ?? 0 >= 4)
    }
  }

  /// Small ones, one byte below the setting's size, are left alone; equal requests give equal bytes.
  @Test(arguments: [(10, false), (2047, false), (2048, true), (65_536, true), (65_537, true), (3_000_000, true)])
  func onlyTextOfSomeSizeIsEncoded(_ size: Int, _ isEncoded: Bool) throws {
    try withRig { rig in
      let plain = Array(lines(100_000).prefix(size))
      let origin = try rig.origin { try FixedResource(plain, [("Content-Type", "application/json")]).serve($0) }
      let larder = try rig.larder(Self.settings)
      expectBytes(try RawClient.fetch(origin.url("/"), through: larder.port).body, plain)
      var seen: Set<[UInt8]> = []
      for _ in 0..<3 {
        let response = try RawClient.fetch(origin.url("/"), Self.gzip, through: larder.port)
        #expect(response.field("Content-Encoding") == (isEncoded ? "gzip" : nil) && response.end == .clean)
        #expect(response.field("ETag") == nil)
        expectBytes(isEncoded ? try gunzipped(response.body, rig) : response.body, plain)
        seen.insert(response.body)
      }
      #expect(seen.count == 1)
    }
  }

  @Test func itIsOffByDefault() throws {
    try withRig { rig in
      let plain = lines(5000)
      let origin = try rig.origin { try FixedResource(plain, Self.fields).serve($0) }
      let larder = try rig.larder()
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), Self.gzip, through: larder.port)
        #expect(response.field("ETag") == "\"t1\"" && response.field("Vary") == nil)
        expectBytes(response.body, plain)
      }
    }
  }

  @Test func aClientOfHTTP10GetsItDelimitedByTheClose() throws {
    try withRig { rig in
      let plain = lines(20_000)
      let origin = try rig.origin { try FixedResource(plain, Self.fields).serve($0) }
      let larder = try rig.larder(Self.settings)
      _ = try RawClient.fetch(origin.url("/"), through: larder.port)
      let client = try RawClient(port: larder.port)
      try client.send("GET \(origin.url("/")) HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
      let response = try client.response()
      #expect(response.field("Transfer-Encoding") == nil && response.field("Content-Length") == nil)
      #expect(response.field("Content-Encoding") == "gzip" && response.end == .clean)
      expectBytes(try gunzipped(response.body, rig), plain)
    }
  }

  /// What is still coming is passed on as it is, and so is what has only parts.
  @Test func onlyWhatIsStoredWholeIsEncoded() throws {
    try withRig { rig in
      let plain = lines(30_000)
      let origin = try rig.origin { try FixedResource(plain, Self.fields).serve($0) }
      let larder = try rig.larder(Self.settings)
      _ = try RawClient.fetch(origin.url("/"), [("Range", "bytes=0-999")], through: larder.port)
      let whole = try RawClient.fetch(origin.url("/"), Self.gzip, through: larder.port)
      #expect(whole.field("ETag") == "\"t1\"" && whole.field("Content-Encoding") == nil)
      expectBytes(whole.body, plain)
      let again = try RawClient.fetch(origin.url("/"), Self.gzip, through: larder.port)
      #expect(again.field("ETag") == "W/\"t1;gzip\"")
      expectBytes(try gunzipped(again.body, rig), plain)
    }
  }
}
