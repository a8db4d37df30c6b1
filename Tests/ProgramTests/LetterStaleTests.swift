// Serving what is stale (RFC 9111 §4.2.4, RFC 5861), by directives and by settings, against the whole program.
import Foundation
import TestSupport
import Testing

@Suite(.larder()) struct LetterStaleTests {
  static let tag = "ETag: \"v1\""
  static func control(_ directives: String) -> [String] {
    ["Cache-Control: max-age=6000, \(directives)", "Age: 8000", tag]
  }
  static let instead = Step.validated(says: ["fwd=stale", "detail=stale-if-error", "ttl=-2000"])

  static let failures = rows(for: [500, 502, 503, 504]) { code in
    Row(
      "5861 §4 stale-if-error and a \(code)", [Answer(control("stale-if-error=6000")), ["\(code)"]],
      [.fetched(), .validated(says: ["fwd-status=\(code)", "detail=stale-if-error"])])
  }
  @Test(arguments: failures) func failure(_ row: Row) throws { try play(row) }

  static let answers = rows(for: [400, 404, 410, 429, 501]) { code in
    Row(
      "5861 §4 a \(code) is no such error", [Answer(control("stale-if-error=6000")), ["\(code)"]],
      [.fetched(), .fetched(status: code)])
  }
  @Test(arguments: answers) func answer(_ row: Row) throws { try play(row) }

  static let errors: [Row] = [
    Row(
      "5861 §4 stale-if-error and a closed connection", [Answer(control("stale-if-error=6000")), ["close"]],
      [.fetched(), instead]),
    Row(
      "5861 §4 without a validator", [["Cache-Control: max-age=6000, stale-if-error=6000", "Age: 8000"], ["503"]],
      [.fetched(), .validated(says: ["detail=stale-if-error"])]),
    Row(
      "5861 §4 HEAD", [Answer(control("stale-if-error=6000")), ["503"]],
      [.fetched(), .validated(method: "HEAD", says: ["detail=stale-if-error"])]),
    Row("5861 §4 too old", [Answer(control("stale-if-error=1900")), ["503"]], [.fetched(), .fetched(status: 503)]),
    Row("5861 §4 no number", [Answer(control("stale-if-error=x")), ["503"]], [.fetched(), .fetched(status: 503)]),
    Row(
      "5861 §4 of the request", [Answer(control("foo")), ["503"]],
      [.fetched(), .validated("Cache-Control: stale-if-error=6000", says: ["detail=stale-if-error"])]),
    Row("9111 §4.2.4 nothing said", [Answer(control("foo")), ["503"]], [.fetched(), .fetched(status: 503)]),
    Row(
      "9111 §4.2.4 nothing said and no origin", [Answer(control("foo")), ["close"]],
      [.fetched(), .fetched(status: 502, text: "*")]),
    Row(
      "9111 §4.3.3 and the next asks again", [Answer(control("stale-if-error=6000")), ["503"], ["304", tag]],
      [.fetched(), .validated(), .validated(says: ["fwd-status=304"])]),
    Row(
      "5861 §4 a range of it", [Answer(control("stale-if-error=6000")), ["503"]],
      [.fetched(), .validated("Range: bytes=0-2", status: 206, text: "ans")]),
    Row(
      "9111 §5.2.1.4 not against the request", [Answer(control("stale-if-error=6000")), ["503"]],
      [.fetched(), .fetched("Cache-Control: no-cache", status: 503)]),
  ]
  @Test(arguments: errors) func error(_ row: Row) throws { try play(row) }

  static let forbidding = ["must-revalidate", "proxy-revalidate", "no-cache", "s-maxage=6000"]
  static let forbiddenErrors = rows(for: forbidding) { directive in
    Row(
      "9111 §4.2.4 \(directive) against stale-if-error",
      [Answer(control("\(directive), stale-if-error=6000")), ["503"]], [.fetched(), .fetched(status: 503)])
  }
  @Test(arguments: forbiddenErrors) func forbiddenError(_ row: Row) throws { try play(row) }

  static let forbiddenWaits = rows(for: forbidding) { directive in
    Row(
      "9111 §4.2.4 \(directive) against stale-while-revalidate",
      [Answer(control("\(directive), stale-while-revalidate=6000")), ["304", tag]],
      [.fetched(), .validated(asks: ["If-None-Match: \"v1\""])])
  }
  @Test(arguments: forbiddenWaits) func forbiddenWait(_ row: Row) throws { try play(row) }

  static let forbiddenAlone = rows(for: forbidding) { directive in
    Row(
      "9111 §4.2.4 \(directive) and no origin", [Answer(control(directive)), ["close"]],
      [.fetched(), .fetched(status: 502, text: "*")])
  }
  @Test(arguments: forbiddenAlone) func forbiddenWithoutOrigin(_ row: Row) throws { try play(row) }

  static let waits: [Row] = [
    Row(
      "5861 §3 too old", [Answer(control("stale-while-revalidate=1900")), ["304", tag]], [.fetched(), .validated()]),
    Row(
      "5861 §3 no number", [Answer(control("stale-while-revalidate")), ["304", tag]], [.fetched(), .validated()]),
    Row(
      "5861 §3 not against the request", [Answer(control("stale-while-revalidate=6000")), ["304", tag]],
      [.fetched(), .validated("Cache-Control: max-age=3000")]),
  ]
  @Test(arguments: waits) func wait(_ row: Row) throws { try play(row) }

  /// Fetches until a response is as it should be; the origin is asked beside the responses, not before them.
  private func fetch(_ url: String, through larder: LarderProcess, until isRight: (RawResponse) -> Bool) throws {
    for _ in 0..<2000 where !isRight(try RawClient.fetch(url, through: larder.port)) { sched_yield() }
    let last = try RawClient.fetch(url, through: larder.port)
    #expect(isRight(last), "\(last.head)")
  }

  /// RFC 5861 §3: the stale response at once, and a 304 freshens it beside.
  @Test func staleWhileRevalidateAsksBesideTheResponse() throws {
    try withRig { rig in
      let gate = rig.gate("the validation")
      let origin = try rig.origin { exchange in
        if exchange.index == 0 {
          return try exchange.respond(
            "200 OK",
            [("Cache-Control", "max-age=6000, stale-while-revalidate=60000"), ("Age", "8000"), ("ETag", "\"v1\"")],
            body: "old")
        }
        try gate.pass()
        try exchange.head("304 Not Modified", [("ETag", "\"v1\""), ("Cache-Control", "max-age=60000"), ("X-New", "1")])
      }
      let larder = try rig.larder()
      let url = origin.url("/")
      _ = try RawClient.fetch(url, through: larder.port)
      for _ in 0..<3 {
        let second = try RawClient.fetch(url, through: larder.port)
        #expect(second.text == "old" && second.cacheStatus.contains("hit"))
        #expect(second.cacheStatus.contains("detail=stale-while-revalidate"))
      }
      try origin.waitForRequests(2)
      #expect(origin.requests[1].field("If-None-Match") == "\"v1\"")
      gate.open()
      try fetch(url, through: larder) { $0.field("X-New") == "1" && $0.text == "old" }
      #expect(origin.requests.count == 2, "one question for all of them")
    }
  }

  /// The same where the origin has another representation by now.
  @Test func staleWhileRevalidateStoresWhatIsNew() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.respond(
          "200 OK",
          [("Cache-Control", "max-age=6000, stale-while-revalidate=60000"), ("ETag", "\"v\(exchange.index)\"")]
            + (exchange.index == 0 ? [("Age", "8000")] : []), body: "answer \(exchange.index)")
      }
      let larder = try rig.larder()
      let url = origin.url("/")
      _ = try RawClient.fetch(url, through: larder.port)
      #expect(try RawClient.fetch(url, through: larder.port).text == "answer 0")
      try fetch(url, through: larder) { $0.text == "answer 1" }
      #expect(origin.requests.count == 2)
    }
  }

  /// Design: on a partial only where the whole plan is present.
  @Test func staleWhileRevalidateOfAPart() throws {
    try withRig { rig in
      let resource = Representation(
        PatternBody(seed: 61, size: 1000),
        fields: [("Cache-Control", "max-age=6000, stale-while-revalidate=60000"), ("Age", "8000")])
      let origin = try rig.origin { try resource.serve($0) }
      let larder = try rig.larder()
      let url = origin.url("/")
      _ = try RawClient.fetch(url, [("Range", "bytes=0-499")], through: larder.port)
      let inside = try RawClient.fetch(url, [("Range", "bytes=100-199")], through: larder.port)
      #expect(inside.status == 206 && inside.cacheStatus.contains("detail=stale-while-revalidate"))
      expectBytes(inside.body, resource.body.bytes(100..<200))
      let beyond = try RawClient.fetch(url, [("Range", "bytes=400-599")], through: larder.port)
      #expect(!beyond.cacheStatus.contains("stale-while-revalidate"))
      expectBytes(beyond.body, resource.body.bytes(400..<600))
    }
  }
}

@Suite(.larder(["freshness.stale_if_error": "6000s"])) struct LetterStaleBySettingTests {
  static func control(_ directives: String) -> Answer {
    Answer(["Cache-Control: max-age=6000\(directives)", "Age: 8000"])
  }
  static let rows: [Row] = [
    Row(
      "9111 §4.2.4 by configuration", [control(""), ["503"]], [.fetched(), .validated(says: ["detail=stale-if-error"])]),
    Row(
      "9111 §4.2.4 and no origin", [control(""), ["close"]], [.fetched(), .validated(says: ["detail=stale-if-error"])]),
    Row(
      "5861 §4 what the response says counts first", [control(", stale-if-error=1000"), ["503"]],
      [.fetched(), .fetched(status: 503)]),
    Row(
      "9111 §4.2.4 never against must-revalidate", [control(", must-revalidate"), ["503"]],
      [.fetched(), .fetched(status: 503)]),
  ]
  @Test(arguments: rows) func row(_ row: Row) throws { try play(row) }
}

/// RFC 9111 §4.2.4: disconnected operation, which the operator declares.
@Suite struct LetterOfflineTests {
  @Test func ofAPartOnlyThePartIsServed() throws {
    try withRig { rig in
      let resource = Representation(PatternBody(seed: 62, size: 1000), fields: [("Cache-Control", "max-age=0")])
      let origin = try rig.origin { try resource.serve($0) }
      let folders = try rig.folders()
      let first = try rig.larder(on: folders)
      #expect(
        try RawClient.fetch(origin.url("/"), [("Range", "bytes=0-499")], through: first.port).status == 206)
      try first.stop()
      let larder = try rig.larder(["offline": "yes"], on: folders)
      let inside = try RawClient.fetch(origin.url("/"), [("Range", "bytes=100-199")], through: larder.port)
      #expect(inside.status == 206 && inside.cacheStatus.contains("detail=offline"))
      expectBytes(inside.body, resource.body.bytes(100..<200))
      for fields in [[], [("Range", "bytes=400-599")]] {
        let beyond = try RawClient.fetch(origin.url("/"), fields, through: larder.port)
        #expect(beyond.status == 504 && beyond.cacheStatus.contains("detail=offline"))
      }
      #expect(origin.requests.count == 1)
    }
  }

  @Test func whatIsStoredIsServedWhateverItsAge() throws {
    try withRig { rig in
      let lines: [String: String] = [
        "/fresh": "max-age=60000", "/stale": "max-age=0", "/must": "max-age=0, must-revalidate", "/no": "no-cache",
        "/must-fresh": "max-age=60000, must-revalidate",
      ]
      let origin = try rig.origin { exchange in
        try exchange.respond(
          "200 OK", [("Cache-Control", lines[exchange.request.target] ?? "no-store"), ("ETag", "\"v1\"")], body: "body")
      }
      let folders = try rig.folders()
      let first = try rig.larder(on: folders)
      for path in lines.keys.sorted() { _ = try RawClient.fetch(origin.url(path), through: first.port) }
      try first.stop()
      let asked = origin.requests.count
      let larder = try rig.larder(["offline": "yes"], on: folders)
      for path in ["/fresh", "/stale", "/must-fresh"] {
        for fields in [[], [("Cache-Control", "no-cache")], [("Range", "bytes=1-2")]]
        where path == "/stale" || fields.isEmpty {
          let response = try RawClient.fetch(origin.url(path), fields, through: larder.port)
          #expect(response.status == (fields.first?.0 == "Range" ? 206 : 200), "\(path) \(fields)")
          #expect(response.cacheStatus.contains("hit") && response.cacheStatus.contains("detail=offline"))
        }
      }
      for path in ["/must", "/no", "/unknown"] {
        let response = try RawClient.fetch(origin.url(path), through: larder.port)
        #expect(response.status == 504 && response.cacheStatus.contains("detail=offline"), "\(path)")
      }
      #expect(
        try RawClient.fetch(origin.url("/fresh"), [("Content-Length", "0")], through: larder.port, method: "POST")
          .status == 504)
      let tunnel = try RawClient(port: larder.port)
      try tunnel.send("CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: 127.0.0.1:443\r\n\r\n")
      #expect(try tunnel.response(to: "GET").status == 504)
      #expect(origin.requests.count == asked)
    }
  }
}
