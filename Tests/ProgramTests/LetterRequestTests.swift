// What a request says about reuse (RFC 9111 §5.2.1, §5.4), and what Cache-Status says of it (RFC 9211).
import Testing

@Suite(.larder()) struct LetterRequestTests {
  static let tag = "ETag: \"v1\""
  static let fresh: [String] = ["Cache-Control: max-age=6000", "Age: 2000"]
  static let stale: [String] = ["Cache-Control: max-age=6000", "Age: 8000"]
  static func request(_ directives: String) -> Step { .fetched("Cache-Control: \(directives)") }
  static func accepted(_ directives: String) -> Step { .stored("Cache-Control: \(directives)") }

  static let directives: [Row] = [
    twice("9111 §5.2.1.1 max-age above the age", fresh, accepted("max-age=3000")),
    twice("9111 §5.2.1.1 max-age below the age", fresh, request("max-age=1000")),
    twice("9111 §5.2.1.1 max-age=0", ["Cache-Control: max-age=6000"], request("max-age=0")),
    twice("9111 §5.2.1.1 max-age is no number", ["Cache-Control: max-age=6000"], request("max-age=x")),
    twice("9111 §5.2.1.1 does not make fresh what is stale", stale, request("max-age=100000")),
    twice("9111 §5.2.1.2 max-stale above the staleness", stale, accepted("max-stale=3000")),
    twice("9111 §5.2.1.2 max-stale below the staleness", stale, request("max-stale=1000")),
    twice("9111 §5.2.1.2 max-stale of any degree", stale, accepted("max-stale")),
    twice("9111 §5.2.1.2 max-stale is no number", stale, request("max-stale=x")),
    twice(
      "9111 §5.2.1.2 max-stale is named", stale,
      .stored("Cache-Control: max-stale", says: ["hit", "ttl=-2000", "detail=max-stale"])),
    twice("9111 §5.2.1.2 with max-age: both count", stale, request("max-stale=3000, max-age=7000")),
    Row(
      "9111 §4.2.4 max-stale against must-revalidate",
      [[tag, "Cache-Control: max-age=6000, must-revalidate", "Age: 8000"], ["304", tag]],
      [.fetched(), .validated("Cache-Control: max-stale", asks: ["If-None-Match: \"v1\""])]),
    twice(
      "9111 §4.2.4 max-stale against proxy-revalidate", ["Cache-Control: max-age=6000, proxy-revalidate", "Age: 8000"],
      request("max-stale")),
    twice(
      "9111 §4.2.4 max-stale against s-maxage", ["Cache-Control: s-maxage=6000", "Age: 8000"], request("max-stale")),
    twice("9111 §5.2.1.3 min-fresh below what is left", fresh, accepted("min-fresh=3000")),
    twice("9111 §5.2.1.3 min-fresh above what is left", fresh, request("min-fresh=5000")),
    twice("9111 §5.2.1.3 min-fresh is no number", fresh, request("min-fresh=x")),
    twice("9111 §5.2.1.4 no-cache", fresh, request("no-cache")),
    Row(
      "9111 §5.2.1.4 no-cache validates", [[tag, "Cache-Control: max-age=6000"], ["304", tag]],
      [.fetched(), .validated("Cache-Control: no-cache", asks: ["If-None-Match: \"v1\""], says: ["fwd=request"])]),
    twice("9111 §5.2.1.4 No-Cache", fresh, request("No-Cache")),
    Row(
      "9111 §5.2.1.5 no-store is not stored", [["Cache-Control: max-age=6000"]],
      [.fetched("Cache-Control: no-store", says: ["detail=request-no-store"]), .fetched()]),
    twice("9111 §5.2.1.5 no-store may be served from the store", fresh, accepted("no-store")),
    twice("9111 §5.2.1.6 no-transform changes nothing here", fresh, accepted("no-transform")),
    twice("9111 §5.2.1.7 only-if-cached, and it is", fresh, accepted("only-if-cached")),
    Row("9111 §5.2.1.7 only-if-cached, and it is not", [[]], [.refused("Cache-Control: only-if-cached")]),
    Row(
      "9111 §5.2.1.7 only-if-cached, and it is stale", [Answer(stale)],
      [.fetched(), .refused("Cache-Control: only-if-cached")]),
    twice("9111 §5.2.1.7 only-if-cached with max-stale", stale, accepted("only-if-cached, max-stale")),
    Row("9111 §5.2.1.7 only-if-cached for HEAD", [[]], [.refused("Cache-Control: only-if-cached", method: "HEAD")]),
    twice("9111 §5.2.3 unknown directives", fresh, accepted("foo, bar=\"no-cache\"")),
    Row(
      "9111 §5.2 several lines", [Answer(fresh)],
      [.fetched(), .fetched("Cache-Control: foo", "Cache-Control: no-cache")]),
    twice("9111 §5.4 Pragma: no-cache", fresh, .fetched("Pragma: no-cache")),
    twice("9111 §5.4 Pragma beside Cache-Control", fresh, .stored("Pragma: no-cache", "Cache-Control: foo")),
    twice("9111 §5.4 another Pragma", fresh, .stored("Pragma: foo")),
    twice("8246 §2 immutable against max-age=0", ["Cache-Control: max-age=6000, immutable"], accepted("max-age=0")),
    twice("8246 §2 immutable against no-cache", ["Cache-Control: max-age=6000, immutable"], request("no-cache")),
    Row(
      "8246 §2 immutable and stale", [["Cache-Control: max-age=6000, immutable", "Age: 8000", tag], ["304", tag]],
      [.fetched(), .validated(asks: ["If-None-Match: \"v1\""])]),
    twice("9111 §3 Cookie is no part of the key", fresh, .stored("Cookie: a=b")),
    Row(
      "9110 §9.3.1 a GET with content", [Answer(fresh)],
      [.fetched(body: "x", says: ["fwd=method", "detail=request-body"]), .fetched()]),
  ]
  @Test(arguments: directives) func directive(_ row: Row) throws { try play(row) }

  static let statuses: [Row] = [
    twice(
      "9211 §2.1 hit, §2.4 ttl", ["Cache-Control: max-age=1000000", "Age: 40000"], .stored(says: ["hit"]),
      first: .fetched(says: ["fwd=uri-miss", "stored"])),
    Row("9211 §2.2 uri-miss", [["Cache-Control: no-store"]], [.fetched(says: ["fwd=uri-miss"])]),
    Row(
      "9211 §2.2 vary-miss", [["Cache-Control: max-age=6000", "Vary: X"]],
      [.fetched("X: 1"), .fetched("X: 2", says: ["fwd=vary-miss", "stored"])]),
    Row("9211 §2.2 stale", [Answer(stale)], [.fetched(), .fetched(says: ["fwd=stale", "stored"])]),
    Row(
      "9211 §2.2 request", [Answer(fresh)], [.fetched(), .fetched("Cache-Control: no-cache", says: ["fwd=request"])]),
    Row("9211 §2.2 method", [Answer(fresh)], [.fetched(method: "DELETE", says: ["fwd=method"])]),
    Row(
      "9211 §2.2 partial",
      [
        ["206", "body=0123", "Content-Range: bytes 0-3/8", tag, "Cache-Control: max-age=6000"],
        ["206", "body=4567", "Content-Range: bytes 4-7/8", tag, "Cache-Control: max-age=6000"],
      ],
      [.fetched("Range: bytes=0-3", status: 206, text: "0123"), .fetched(text: "01234567", says: ["fwd=partial"])]),
    Row(
      "9211 §2.3 fwd-status", [["Cache-Control: max-age=6000", "Age: 8000", tag], ["304", tag]],
      [.fetched(), .validated(says: ["fwd=stale", "fwd-status=304"])]),
    Row(
      "9211 §2.3 a 200 to a range", [["body=01234567", "Cache-Control: max-age=6000"]],
      [.fetched("Range: bytes=2-3", status: 206, text: "23", says: ["fwd=uri-miss", "fwd-status=200", "stored"])]),
    twice(
      "9211 §2 appended to what was there", ["Cache-Control: max-age=6000", "Cache-Status: inner; hit"],
      .stored(has: ["Cache-Status: inner; hit"], says: ["hit"]), first: .fetched(says: ["fwd=uri-miss"])),
    twice(
      "9110 §7.6.3 Via is appended", ["Cache-Control: max-age=6000", "Via: 1.0 inner"],
      .stored(has: ["Via: 1.0 inner"])),
  ]
  @Test(arguments: statuses) func status(_ row: Row) throws { try play(row) }
}
