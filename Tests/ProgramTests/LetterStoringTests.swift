// What may be stored, and which of its fields (RFC 9111 §3), against the whole program.
import Testing

@Suite(.larder()) struct LetterStoringTests {
  static let hit = Step.stored()
  static let miss = Step.fetched()
  static let tag = "ETag: \"v1\""

  /// §3 and §5.2.2: directives that decide about storing.
  static let directives: [Row] = [
    twice("9111 §5.2.2.5 no-store", ["Cache-Control: no-store"], miss, first: .fetched(says: ["detail=no-store"])),
    twice("9111 §5.2.2.5 no-store beside max-age", ["Cache-Control: max-age=6000, no-store"], miss),
    twice("9111 §5.2.2.5 no-store beside Expires", ["Cache-Control: no-store", "Expires: {+6000}"], miss),
    twice("9111 §5.2 No-Store", ["Cache-Control: max-age=6000, No-StOrE"], miss),
    twice("9111 §5.2.2.5 on another line", ["Cache-Control: max-age=6000", "Cache-Control: no-store"], miss),
    twice(
      "9111 §5.2.2.7 private", ["Cache-Control: private, max-age=6000"], miss,
      first: .fetched(says: ["detail=private"])),
    twice("9111 §5.2.2.7 private beside public", ["Cache-Control: public, private, max-age=6000"], miss),
    Row(
      "9111 §5.2.2.4 no-cache", [["Cache-Control: no-cache, max-age=6000", tag], ["304", tag]],
      [.fetched(), .validated(asks: ["If-None-Match: \"v1\""])]),
    twice("9111 §5.2.2.4 no-cache without a validator", ["Cache-Control: no-cache, max-age=6000"], miss),
    twice("9111 §5.2.2.4 No-CaChE", ["Cache-Control: No-CaChE, max-age=6000"], miss),
    twice(
      "9111 §5.2.2.3 must-understand overrides no-store", ["Cache-Control: no-store, must-understand, max-age=6000"],
      hit),
    Row(
      "9111 §5.2.2.3 a status that is not understood",
      [["599", "Cache-Control: no-store, must-understand, max-age=6000"]],
      [.fetched(status: 599, says: ["detail=must-understand"]), .fetched(status: 599)]),
    Row(
      "9111 §5.2.2.3 without no-store as well", [["599", "Cache-Control: must-understand, max-age=6000"]],
      [.fetched(status: 599), .fetched(status: 599)]),
    twice("9111 §5.2.2.2 must-revalidate while fresh", ["Cache-Control: max-age=6000, must-revalidate"], hit),
    twice("9111 §5.2.2.8 proxy-revalidate while fresh", ["Cache-Control: max-age=6000, proxy-revalidate"], hit),
    twice("9111 §5.4 Pragma in a response says nothing", ["Cache-Control: max-age=6000", "Pragma: no-cache"], hit),
    twice(
      "9111 §4.1 Vary: *", ["Cache-Control: max-age=6000", "Vary: *"], miss, first: .fetched(says: ["detail=vary-star"])
    ),
    twice(
      "9111 §7.3 Set-Cookie does not forbid it", ["Cache-Control: max-age=6000", "Set-Cookie: a=b"],
      .stored(has: ["Set-Cookie: a=b"])),
    twice("8246 §2 immutable", ["Cache-Control: max-age=6000, immutable"], hit),
    Row(
      "9111 §3 a validator alone is worth storing", [["Cache-Control: max-age=0", tag], ["304", tag]],
      [.fetched(), .validated(asks: ["If-None-Match: \"v1\""])]),
    twice(
      "9111 §3 neither freshness nor validator", ["Cache-Control: max-age=0"], miss,
      first: .fetched(says: ["detail=not-reusable"])),
    Row(
      "9111 §5.2.2.5 an older response stays", [["Cache-Control: max-age=6000"], ["Cache-Control: no-store"]],
      [.fetched(), .fetched("Cache-Control: no-cache")]),
    Row("9112 §6.1 in chunks", [["Cache-Control: max-age=6000", "chunked"]], [.fetched(), hit]),
    Row(
      "9110 §15.2 an unknown final status with freshness", [["299", "Cache-Control: max-age=6000"]],
      [.fetched(status: 299), .stored(status: 299)]),
  ]
  @Test(arguments: directives) func directive(_ row: Row) throws { try play(row) }

  /// §3: every final status with explicit freshness, but those whose own rules forbid it.
  static let statuses = rows(
    for: [200, 201, 202, 203, 204, 300, 301, 302, 303, 307, 308, 400, 403, 404, 410, 418, 499, 500, 502, 503, 504, 599]
  ) { code in
    Row(
      "9111 §3 \(code) with max-age", [["\(code)", "Cache-Control: max-age=6000"]],
      [.fetched(status: code), .stored(status: code)])
  }
  @Test(arguments: statuses) func status(_ row: Row) throws { try play(row) }

  static let never = rows(for: [412, 416, 417, 428, 429, 431, 511]) { code in
    Row(
      "9110 §15, 6585 \(code) is never stored", [["\(code)", "Cache-Control: max-age=6000"]],
      [.fetched(status: code, says: ["detail=status"]), .fetched(status: code)])
  }
  @Test(arguments: never) func neverStored(_ row: Row) throws { try play(row) }

  static let stale = rows(for: [200, 301, 404, 503]) { code in
    Row(
      "9111 §4.2 \(code) stale", [["\(code)", "Cache-Control: max-age=6000", "Age: 6100"]],
      [.fetched(status: code), .fetched(status: code)])
  }
  @Test(arguments: stale) func staleStatus(_ row: Row) throws { try play(row) }

  /// §3.5.
  static let authorised: [Row] = {
    let first = Step.fetched("Authorization: Basic eDp5", asks: ["Authorization: Basic eDp5"])
    return [
      Row("9111 §3.5 not for another", [["Cache-Control: max-age=6000"]], [first, miss]),
      Row(
        "9111 §3.5 not for the same either", [["Cache-Control: max-age=6000"]],
        [first, .fetched("Authorization: Basic eDp5")]),
      Row("9111 §3.5 public", [["Cache-Control: max-age=6000, public"]], [first, hit]),
      Row("9111 §3.5 must-revalidate", [["Cache-Control: max-age=6000, must-revalidate"]], [first, hit]),
      Row("9111 §3.5 s-maxage", [["Cache-Control: s-maxage=6000"]], [first, hit]),
      Row("9111 §3.5 proxy-revalidate does not", [["Cache-Control: max-age=6000, proxy-revalidate"]], [first, miss]),
      Row("9111 §3.5 public does not beat private", [["Cache-Control: max-age=6000, public, private"]], [first, miss]),
      Row(
        "9111 §3.5 what is stored may answer it", [["Cache-Control: max-age=6000"]],
        [.fetched(), .stored("Authorization: Basic eDp5")]),
    ]
  }()
  @Test(arguments: authorised) func authorisation(_ row: Row) throws { try play(row) }

  /// §3.1: which fields are stored.
  static let kept = rows(for: [
    "Content-Type: text/x-a", "Content-Language: de", "Content-Location: /x", "X-Any: 1", "Set-Cookie: a=b",
    "Warning: 110 - \"x\"", "Content-Disposition: attachment", "Strict-Transport-Security: max-age=100", "Server: x",
    "Content-MD5: rL0Y20zC+Fzt72VPzMSk2A==", "Content-Encoding: x-own", "Link: </a>; rel=next",
  ]) { field in
    twice(
      "9111 §3.1 stored: \(field)", ["Cache-Control: max-age=6000", field], .stored(has: [field]),
      first: .fetched(has: [field]))
  }
  @Test(arguments: kept) func keptField(_ row: Row) throws { try play(row) }

  static let dropped = rows(for: [
    "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "Proxy-Authenticate: Basic realm=x",
    "Proxy-Authentication-Info: x", "TE: x", "Upgrade: x",
  ]) { field in
    twice("9111 §3.1 not stored: \(field)", ["Cache-Control: max-age=6000", field], .stored(lacks: [field]))
  }
  @Test(arguments: dropped) func droppedField(_ row: Row) throws { try play(row) }

  static let fields: [Row] = [
    twice(
      "9111 §3.1 what Connection names",
      [
        "Cache-Control: max-age=6000", "Connection: X-Hop, y-hop", "X-Hop: 1",
        "Y-Hop: 1", "X-End: 1",
      ], .stored(has: ["X-End: 1"], lacks: ["X-Hop", "Y-Hop"])),
    twice(
      "9111 §5.2.2.7 private=\"…\" is its client's alone",
      ["Cache-Control: private=\"set-cookie, x-a\", max-age=6000", "Set-Cookie: a=b", "X-A: 1", "X-B: 2"],
      .stored(has: ["X-B: 2"], lacks: ["Set-Cookie", "X-A"]),
      first: .fetched(has: ["Set-Cookie: a=b", "X-A: 1", "X-B: 2"])),
    twice(
      "9111 §5.2.2.4 no-cache=\"…\" as well",
      ["Cache-Control: no-cache=\"x-a\", max-age=6000", "X-A: 1", "X-B: 2"],
      .stored(has: ["X-B: 2"], lacks: ["X-A"]), first: .fetched(has: ["X-A: 1"])),
    twice(
      "9111 §5.2.2.4 on two lines",
      ["Cache-Control: no-cache=\"x-a\"", "Cache-Control: no-cache=\"x-b\", max-age=6000", "X-A: 1", "X-B: 2"],
      .stored(lacks: ["X-A", "X-B"])),
    twice("9111 §5.2.2.7 and without names in all", ["Cache-Control: private=\"x-a\", private, max-age=6000"], miss),
    Row(
      "9111 §5.2.2.4 a 304's field of that kind too",
      [
        ["Cache-Control: max-age=6000", "Age: 6100", tag],
        ["304", "Cache-Control: max-age=6000, private=\"set-cookie\"", tag, "Set-Cookie: c=d"],
      ],
      [.fetched(), .validated(has: ["Set-Cookie: c=d"]), .stored(lacks: ["Set-Cookie"])]),
    twice(
      "9110 §6.6.1 Date is put in", ["Cache-Control: max-age=6000"], .stored(has: ["Date"]),
      first: .fetched(has: ["Date"])),
    twice(
      "9110 §6.6.1 Date stays as it came", ["Cache-Control: max-age=60000", "Date: {-6000}"],
      .stored(has: ["Date: {-6000}"])),
    twice(
      "9111 §5.3 Expires stays as it came", ["Date: {-6000}", "Expires: {+6000}"], .stored(has: ["Expires: {+6000}"])),
  ]
  @Test(arguments: fields) func field(_ row: Row) throws { try play(row) }

  /// RFC 9110 §9.3.3.
  static let posts: [Row] = {
    let post = Step.fetched(method: "POST", body: "x", says: ["stored"])
    func row(_ name: String, _ fields: [String], _ steps: Step...) -> Row {
      Row("9110 §9.3.3 \(name)", [Answer(fields)], steps)
    }
    return [
      row(
        "explicit freshness and its own place", ["Cache-Control: max-age=6000", "Content-Location: {path}"], post, hit),
      row("Expires is explicit", ["Expires: {+6000}", "Content-Location: {path}"], post, hit),
      row("HEAD as well", ["Cache-Control: max-age=6000", "Content-Location: {path}"], post, .stored(method: "HEAD")),
      row(
        "never for another POST", ["Cache-Control: max-age=6000", "Content-Location: {path}"], post,
        .fetched(method: "POST", body: "x")),
      row("not without Content-Location", ["Cache-Control: max-age=6000"], .fetched(method: "POST", body: "x"), miss),
      row(
        "not for another place", ["Cache-Control: max-age=6000", "Content-Location: /x"],
        .fetched(method: "POST", body: "x"), miss),
      row(
        "not by a heuristic", ["Last-Modified: {-6000}", "Content-Location: {path}"],
        .fetched(method: "POST", body: "x"),
        miss),
      row(
        "not with no-store", ["Cache-Control: max-age=6000, no-store", "Content-Location: {path}"],
        .fetched(method: "POST", body: "x"), miss),
      row(
        "not of a 201", ["201", "Cache-Control: max-age=6000", "Content-Location: {path}"],
        .fetched(method: "POST", body: "x", status: 201), .fetched(status: 201)),
      row(
        "PUT never", ["Cache-Control: max-age=6000", "Content-Location: {path}"], .fetched(method: "PUT", body: "x"),
        miss
      ),
    ]
  }()
  @Test(arguments: posts) func post(_ row: Row) throws { try play(row) }
}

@Suite(.larder(["freshness.store_set_cookie": "no", "cache.status_key": "yes"])) struct LetterStricterTests {
  static let rows: [Row] = [
    twice(
      "9111 §7.3 Set-Cookie, by a setting", ["Cache-Control: max-age=6000", "Set-Cookie: a=b"], .fetched(),
      first: .fetched(says: ["detail=set-cookie"])),
    twice("9111 §7.3 without it all is as ever", ["Cache-Control: max-age=6000"], .stored()),
    twice("9211 §2.7 key", ["Cache-Control: max-age=6000"], .stored(says: ["hit"])),
  ]
  @Test(arguments: rows) func stricter(_ row: Row) throws { try play(row) }
}
