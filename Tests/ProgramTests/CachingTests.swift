// What may be stored, when it may be served, how it is validated (RFC 9111), seen from outside.
import TestSupport
import Testing

@Suite struct CachingTests {
  /// An origin whose answers have the given fields and name their own number; conditionals by `"v1"` are answered 304.
  private func withFields(
    _ fields: [(String, String)], _ run: (ScriptedOrigin, RawClient) throws -> Void
  ) throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let tag = fields.first { $0.0 == "ETag" }?.1
        if let tag, exchange.request.field("If-None-Match") == tag {
          return try exchange.head("304 Not Modified", fields)
        }
        try exchange.respond("200 OK", fields, body: "answer \(exchange.index)")
      }
      let larder = try rig.larder()
      try run(origin, try RawClient(port: larder.port))
    }
  }

  struct Case: CustomTestStringConvertible, Sendable {
    let fields: [(String, String)]
    var request: [(String, String)] = []
    let isStored: Bool
    init(_ fields: [(String, String)], request: [(String, String)] = [], stored: Bool) {
      self.fields = fields
      self.request = request
      isStored = stored
    }
    var testDescription: String { "\(request.map { "\($0.0): \($0.1)" }) → \(fields.map { "\($0.0): \($0.1)" })" }
  }

  /// Fresh and storable, or not: RFC 9111 §3 and §4.2.
  @Test(arguments: [
    Case([("Cache-Control", "max-age=60")], stored: true),
    Case([("Cache-Control", "s-maxage=60, max-age=0")], stored: true),
    Case([("Cache-Control", "public, MAX-AGE=\"60\"")], stored: true),
    Case([("Expires", httpDate(secondsFromNow: 86_400))], stored: true),
    Case([("Last-Modified", httpDate(secondsFromNow: -864_000))], stored: true),
    Case([("Cache-Control", "max-age=60"), ("Age", "30")], stored: true),
    Case([("Cache-Control", "max-age=60"), ("Set-Cookie", "a=b")], stored: true),
    Case([("Cache-Control", "max-age=60"), ("Age", "61")], stored: false),
    Case([("Cache-Control", "max-age=60, s-maxage=0")], stored: false),
    Case([("Cache-Control", "no-store")], stored: false),
    Case([("Cache-Control", "max-age=60, no-store")], stored: false),
    Case([("Cache-Control", "private, max-age=60")], stored: false),
    Case([("Cache-Control", "no-cache, max-age=60")], stored: false),
    Case([("Expires", "0")], stored: false),
    Case([("Expires", httpDate(secondsFromNow: -300))], stored: false),
    Case([("Vary", "*"), ("Cache-Control", "max-age=60")], stored: false),
    Case([], stored: false),
    Case([("Cache-Control", "max-age=60")], request: [("Authorization", "Basic eDp5")], stored: false),
    Case([("Cache-Control", "public, max-age=60")], request: [("Authorization", "Basic eDp5")], stored: true),
    Case([("Cache-Control", "s-maxage=60")], request: [("Authorization", "Basic eDp5")], stored: true),
    Case([("Cache-Control", "max-age=60")], request: [("Cache-Control", "no-store")], stored: false),
    Case([("Cache-Control", "max-age=60")], request: [("Cache-Control", "no-cache")], stored: false),
    Case([("Cache-Control", "max-age=60")], request: [("Pragma", "no-cache")], stored: false),
    Case([("Cache-Control", "max-age=60")], request: [("Cache-Control", "max-age=0")], stored: false),
    Case([("Cache-Control", "max-age=60")], request: [("Cache-Control", "min-fresh=120")], stored: false),
  ])
  func secondRequestIsAHitOrNot(_ item: Case) throws {
    try withFields(item.fields) { origin, client in
      let first = try client.fetch(origin.url("/"), item.request)
      let second = try client.fetch(origin.url("/"), item.request)
      #expect(first.text == "answer 0")
      #expect(second.text == (item.isStored ? "answer 0" : "answer 1"))
      #expect(isHit(second) == item.isStored)
      for response in [first, second] { #expect(response.field("Cache-Status") != nil) }
      if item.isStored { #expect(Int(second.field("Age") ?? "") != nil, "a response from the store has an Age") }
    }
  }

  @Test func staleIsValidatedAndA304UpdatesTheStoredFields() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        guard exchange.index > 0 else {
          return try exchange.respond(
            "200 OK", [("Cache-Control", "max-age=0"), ("ETag", "\"v1\""), ("X-State", "old")], body: "body")
        }
        try exchange.head(
          "304 Not Modified", [("Cache-Control", "max-age=60"), ("ETag", "\"v1\""), ("X-State", "new")])
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"))
      let second = try client.fetch(origin.url("/"))
      #expect(second.status == 200 && second.text == "body" && second.field("X-State") == "new")
      #expect(second.field("Content-Length") == "4")
      #expect(origin.requests.last?.field("If-None-Match") == "\"v1\"")
      let third = try client.fetch(origin.url("/"))
      #expect(isHit(third) && third.field("X-State") == "new" && third.text == "body")
      #expect(origin.requests.count == 2)
    }
  }

  @Test func lastModifiedValidatesWhereThereIsNoTag() throws {
    try withRig { rig in
      let modified = "Mon, 06 Jan 2025 10:00:00 GMT"
      let resource = Representation(
        PatternBody(seed: 51, size: 1000), entityTag: nil, lastModified: modified,
        fields: [("Cache-Control", "max-age=0")])
      let origin = try rig.origin { try resource.serve($0) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for _ in 0..<3 { expectBytes(try client.fetch(origin.url("/")).body, resource.body.bytes) }
      #expect(origin.bodyBytesSent == 1000)
      #expect(origin.requests.last?.field("If-Modified-Since") == modified)
    }
  }

  @Test func aChangedResourceReplacesTheStoredOne() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let version = exchange.index
        try Representation(
          PatternBody(seed: UInt64(version), size: 300_000 + version), entityTag: "\"v\(version)\"",
          fields: [("Cache-Control", "max-age=0")]
        ).serve(exchange)
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for version in 0..<4 {
        let response = try client.fetch(origin.url("/"))
        expectBytes(response.body, PatternBody(seed: UInt64(version), size: 300_000 + version).bytes)
        #expect(response.field("ETag") == "\"v\(version)\"")
      }
    }
  }

  @Test func clientConditionalsAreAnsweredFromTheStore() throws {
    let modified = "Mon, 06 Jan 2025 10:00:00 GMT"
    try withRig { rig in
      let resource = Representation(PatternBody(seed: 52, size: 5000), lastModified: modified)
      let origin = try rig.origin { try resource.serve($0) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"))
      for condition in [
        ("If-None-Match", "\"v1\""), ("If-None-Match", "W/\"v1\""), ("If-None-Match", "\"a\", \"v1\""),
        ("If-None-Match", "*"), ("If-Modified-Since", modified),
        ("If-Modified-Since", "Tue, 07 Jan 2025 10:00:00 GMT"),
      ] {
        let response = try client.fetch(origin.url("/"), [condition])
        #expect(response.status == 304, "\(condition)")
        #expect(response.field("ETag") == "\"v1\"")
      }
      for condition in [
        ("If-None-Match", "\"v2\""), ("If-Modified-Since", "Sun, 05 Jan 2025 10:00:00 GMT"), ("If-Match", "\"v1\""),
        ("If-Match", "*"),
      ] {
        let response = try client.fetch(origin.url("/"), [condition])
        #expect(response.status == 200, "\(condition)")
        expectBytes(response.body, resource.body.bytes)
      }
    }
  }

  /// A cache does not judge `If-Match` and `If-Unmodified-Since` (RFC 9111 §4.3.2): a 412 comes from the origin.
  @Test func a412IsNeverMadeUp() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        // It knows better than its own ETag says, and lets every precondition hold.
        try exchange.respond(
          "200 OK", [("Cache-Control", "max-age=60"), ("ETag", "\"v1\"")], body: "answer \(exchange.index)")
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      _ = try client.fetch(origin.url("/"))
      for condition in [("If-Match", "\"v0\""), ("If-Unmodified-Since", "Mon, 06 Jan 2020 10:00:00 GMT")] {
        #expect(try client.fetch(origin.url("/"), [condition]).status == 200)
        #expect(origin.requests.last?.field(condition.0) == condition.1)
      }
      #expect(origin.requests.count == 3)
    }
  }

  @Test func anOriginsOwn412IsRelayed() throws {
    try withRig { rig in
      let origin = try rig.origin { try Representation(PatternBody(seed: 53, size: 5000)).serve($0) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      #expect(try client.fetch(origin.url("/"), [("If-Match", "\"v0\"")]).status == 412)
      #expect(try client.fetch(origin.url("/")).status == 200)
      #expect(try client.fetch(origin.url("/"), [("If-Match", "\"v0\"")]).status == 412)
      #expect(isHit(try client.fetch(origin.url("/"))))
    }
  }

  @Test func variantsAreKeptApart() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        let language = exchange.request.field("Accept-Language") ?? "none"
        try exchange.respond(
          "200 OK", [("Cache-Control", "max-age=60"), ("Vary", "Accept-Language"), ("ETag", "\"\(language)\"")],
          body: "in \(language)")
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for round in 0..<2 {
        for language in ["en", "de", "fr"] {
          let response = try client.fetch(origin.url("/"), [("Accept-Language", language)])
          #expect(response.text == "in \(language)")
          #expect(isHit(response) == (round == 1))
        }
        #expect(try client.fetch(origin.url("/")).text == "in none")
      }
      #expect(origin.requests.count == 4)
    }
  }

  @Test func partsOfVariantsAreNeverMixed() throws {
    try withRig { rig in
      let variant = { @Sendable (coding: String) in PatternBody(seed: coding == "x" ? 54 : 55, size: 200_000) }
      let origin = try rig.origin { exchange in
        let coding = exchange.request.field("X-Kind") ?? ""
        try Representation(
          variant(coding), entityTag: "\"\(coding)\"", fields: [("Cache-Control", "max-age=60"), ("Vary", "X-Kind")]
        ).serve(exchange)
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for (kind, range) in [("x", 0..<100_000), ("y", 50_000..<150_000), ("x", 50_000..<200_000), ("y", 0..<200_000)] {
        let response = try client.fetch(
          origin.url("/"), [("X-Kind", kind), ("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")])
        expectBytes(response.body, variant(kind).bytes(range))
      }
      expectBytes(try client.fetch(origin.url("/"), [("X-Kind", "x")]).body, variant("x").bytes)
      #expect(origin.bodyBytesSent == 400_000)
    }
  }

  @Test func unsafeMethodsInvalidate() throws {
    try withFields([("Cache-Control", "max-age=60")]) { origin, client in
      #expect(try client.fetch(origin.url("/")).text == "answer 0")
      #expect(isHit(try client.fetch(origin.url("/"))))
      _ = try client.fetch(origin.url("/"), [("Content-Length", "0")], method: "POST")
      #expect(try client.fetch(origin.url("/")).text == "answer 2")
    }
  }

  @Test func onlyIfCachedIsAnswered504OnAMiss() throws {
    try withFields([("Cache-Control", "max-age=60")]) { origin, client in
      let only = [("Cache-Control", "only-if-cached")]
      #expect(try client.fetch(origin.url("/"), only).status == 504)
      _ = try client.fetch(origin.url("/"))
      #expect(try client.fetch(origin.url("/"), only).text == "answer 0")
      #expect(origin.requests.count == 1)
    }
  }

  @Test func headIsAnsweredFromAStoredGet() throws {
    try withFields([("Cache-Control", "max-age=60"), ("X-Field", "1")]) { origin, client in
      _ = try client.fetch(origin.url("/"))
      let head = try client.fetch(origin.url("/"), method: "HEAD")
      #expect(isHit(head) && head.field("X-Field") == "1" && head.field("Content-Length") == "8")
      #expect(origin.requests.count == 1)
    }
  }

  @Test func urlsAreKeptApart() throws {
    try withFields([("Cache-Control", "max-age=60")]) { origin, client in
      for (number, path) in ["/a", "/A", "/a?", "/a?b", "/a?b=c", "/a/", "/a%2Fb", "/a/b"].enumerated() {
        let response = try client.fetch(origin.url(path))
        #expect(response.text == "answer \(number)", "\(path)")
      }
    }
  }
}
