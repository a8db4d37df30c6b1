// Validation in both directions (RFC 9111 §4.3, RFC 9110 §13), against the whole program.
import Testing

@Suite(.larder()) struct LetterConditionalTests {
  static let fresh = "Cache-Control: max-age=60000", zero = "Cache-Control: max-age=0"
  static let tag = "ETag: \"v1\"", weak = "ETag: W/\"v1\"", modified = "Last-Modified: {-6000}"
  static func notModified(_ condition: String..., has: [String] = []) -> Step {
    var step = Step.stored(status: 304, has: has, lacks: ["Content-Length", "Content-Type"])
    step.fields = condition
    return step
  }
  static func served(_ condition: String...) -> Step {
    var step = Step.stored()
    step.fields = condition
    return step
  }

  /// RFC 9111 §4.3.2: conditions that the store answers.
  static let received: [Row] = [
    twice("9110 §13.1.2 the tag", [fresh, tag], notModified("If-None-Match: \"v1\"", has: [tag])),
    twice("9110 §13.1.2 another tag", [fresh, tag], served("If-None-Match: \"v2\"")),
    twice("9110 §13.1.2 the case of a tag counts", [fresh, tag], served("If-None-Match: \"V1\"")),
    twice("9110 §8.8.3.2 weakly: weak asked", [fresh, tag], notModified("If-None-Match: W/\"v1\"")),
    twice("9110 §8.8.3.2 weakly: weak stored", [fresh, weak], notModified("If-None-Match: \"v1\"")),
    twice("9110 §8.8.3.2 weakly: both weak", [fresh, weak], notModified("If-None-Match: W/\"v1\"")),
    twice("9110 §13.1.2 first of a list", [fresh, tag], notModified("If-None-Match: \"v1\", \"b\", \"c\"")),
    twice("9110 §13.1.2 within a list", [fresh, tag], notModified("If-None-Match: \"a\", \"v1\", \"c\"")),
    twice("9110 §13.1.2 last of a list", [fresh, tag], notModified("If-None-Match: \"a\",W/\"b\" ,\"v1\"")),
    twice(
      "9110 §13.1.2 over several lines", [fresh, tag], notModified("If-None-Match: \"a\"", "If-None-Match: \"v1\"")),
    twice("9110 §13.1.2 *", [fresh, tag], notModified("If-None-Match: *")),
    twice("9110 §13.1.2 * without a tag", [fresh], notModified("If-None-Match: *")),
    twice("9110 §8.8.3 a comma within a tag", [fresh, "ETag: \"a,b\""], notModified("If-None-Match: \"x\", \"a,b\"")),
    twice("9110 §13.1.2 a list that cannot be read", [fresh, tag], served("If-None-Match: v1")),
    twice(
      "9110 §13.2.2 If-None-Match before If-Modified-Since: no", [fresh, tag, modified],
      served("If-None-Match: \"v2\"", "If-Modified-Since: {0}")),
    twice(
      "9110 §13.2.2 If-None-Match before If-Modified-Since: yes", [fresh, tag, modified],
      notModified("If-None-Match: \"v1\"", "If-Modified-Since: {-9000}")),
    twice("9110 §13.1.3 the same date", [fresh, modified], notModified("If-Modified-Since: {-6000}", has: [modified])),
    twice("9110 §13.1.3 a later date", [fresh, modified], notModified("If-Modified-Since: {-5000}")),
    twice("9110 §13.1.3 an earlier date", [fresh, modified], served("If-Modified-Since: {-7000}")),
    twice("9110 §13.1.3 in the RFC 850 form", [fresh, modified], notModified("If-Modified-Since: {850:-6000}")),
    twice("9110 §13.1.3 in the asctime form", [fresh, modified], notModified("If-Modified-Since: {asctime:-6000}")),
    twice("9110 §13.1.3 what is no date", [fresh, modified], served("If-Modified-Since: yesterday")),
    twice("9110 §13.1.3 two lines", [fresh, modified], served("If-Modified-Since: {0}", "If-Modified-Since: {0}")),
    twice(
      "9111 §4.3.2 Date where there is no Last-Modified", [fresh, "Date: {-6000}"],
      notModified("If-Modified-Since: {-6000}")),
    twice(
      "9110 §15.4.5 what a 304 has",
      [fresh, tag, "Content-Location: /x", "Vary: X", "Date: {-900}", "Expires: {+90000}"],
      notModified(
        "If-None-Match: \"v1\"",
        has: [
          fresh, tag, "Content-Location: /x", "Vary: X", "Date: {-900}",
          "Expires: {+90000}", "Age",
        ])),
    Row(
      "9110 §13.2.1 not for what is no success", [["404", fresh, tag]],
      [.fetched(status: 404), .stored("If-None-Match: \"v1\"", status: 404)]),
    Row(
      "9110 §13.1.2 HEAD", [[fresh, tag]],
      [.fetched(), .stored("If-None-Match: \"v1\"", method: "HEAD", status: 304)]),
    Row(
      "9110 §13.2.2 If-None-Match before Range", [[fresh, tag]],
      [.fetched(), .stored("If-None-Match: \"v1\"", "Range: bytes=0-1", status: 304)]),
    twice("9111 §4.3.2 If-Match that holds", [fresh, tag], served("If-Match: \"v1\"")),
    twice("9111 §4.3.2 If-Match: *", [fresh, tag], served("If-Match: *")),
    Row(
      "9111 §4.3.2 If-Match that does not hold is the origin's", [[fresh, tag], ["412"]],
      [.fetched(), .fetched("If-Match: \"v2\"", status: 412, asks: ["If-Match: \"v2\""])]),
    Row(
      "9110 §13.1.1 If-Match compares strongly", [[fresh, weak], ["412"]],
      [.fetched(), .fetched("If-Match: W/\"v1\"", status: 412)]),
    Row(
      "9111 §4.3.2 If-Unmodified-Since is the origin's", [[fresh, modified], ["412"]],
      [.fetched(), .fetched("If-Unmodified-Since: {-9000}", status: 412, asks: ["If-Unmodified-Since: {-9000}"])]),
  ]
  @Test(arguments: received) func answersFromTheStore(_ row: Row) throws { try play(row) }

  /// RFC 9111 §4.3.1, §4.3.3: what the origin is asked, and what its answer means.
  static let sent: [Row] = [
    Row(
      "9111 §4.3.1 a strong tag", [[zero, tag], ["304", tag]],
      [.fetched(), .validated(asks: ["If-None-Match: \"v1\""])]),
    Row(
      "9111 §4.3.1 a weak tag", [[zero, weak], ["304", weak]],
      [.fetched(), .validated(asks: ["If-None-Match: W/\"v1\""])]),
    Row(
      "9111 §4.3.1 a date as it came", [[zero, "Last-Modified: {850:-6000}"], ["304"]],
      [.fetched(), .validated(asks: ["If-Modified-Since: {850:-6000}"])]),
    Row(
      "9111 §4.3.1 both", [[zero, tag, modified], ["304", tag]],
      [.fetched(), .validated(asks: ["If-None-Match: \"v1\"", "If-Modified-Since: {-6000}"])]),
    Row(
      "9111 §4.3.1 nothing to ask with", [["Cache-Control: max-age=6000", "Age: 8000"]],
      [.fetched(), .fetched(omits: ["If-None-Match", "If-Modified-Since"])]),
    Row(
      "9111 §4.3.1 a tag that is none", [["Cache-Control: max-age=6000", "Age: 8000", "ETag: v1"]],
      [.fetched(), .fetched(omits: ["If-None-Match"])]),
    Row(
      "9111 §4.3.1 fields that Vary nominates go along", [[zero, tag, "Vary: X"], ["304", tag]],
      [.fetched("X: 1"), .validated("X: 1", asks: ["X: 1"])]),
    Row(
      "9111 §4.3.2 the client's tags go along", [[zero, tag], ["304", tag]],
      [.fetched(), .validated("If-None-Match: \"v0\"", asks: ["If-None-Match: \"v1\", \"v0\""])]),
    Row(
      "9111 §4.3.2 a 304 about the client's tag is the client's", [[zero, tag], ["304", "ETag: \"v2\""]],
      [.fetched(), .fetched("If-None-Match: \"v2\"", status: 304, has: ["ETag: \"v2\""])]),
    Row(
      "9111 §4.3.2 the same tag once", [[zero, tag], ["304", tag]],
      [.fetched(), .validated("If-None-Match: \"v1\"", status: 304, asks: ["If-None-Match: \"v1\""])]),
    Row(
      "9111 §4.3.2 the client's date after validation", [[zero, modified], ["304"]],
      [.fetched(), .validated("If-Modified-Since: {-6000}", status: 304)]),
    Row(
      "9111 §4.3.3 a 200 replaces it", [[zero, tag], [fresh, "ETag: \"v2\""]],
      [.fetched(), .fetched(says: ["fwd=stale", "stored"]), .stored(answer: 1, has: ["ETag: \"v2\""])]),
    Row(
      "9111 §4.3.3 a 200 that is not stored removes it", [[zero, tag], ["Cache-Control: no-store"]],
      [.fetched(), .fetched(), .fetched(omits: ["If-None-Match"])]),
    Row(
      "9111 §4.3.3 a 5xx is passed on and leaves it", [[zero, tag], ["503"], ["304", tag]],
      [.fetched(), .fetched(status: 503), .validated(asks: ["If-None-Match: \"v1\""])]),
    Row(
      "9111 §4.3.4 a 304 about something else", [[zero, tag], ["304", "ETag: \"v9\""], [fresh]],
      [.fetched(), .fetched(answer: 2)]),
    Row(
      "9110 §13.1.2 on a miss the client's condition goes up", [["304", tag]],
      [.fetched("If-None-Match: \"v1\"", status: 304, asks: ["If-None-Match: \"v1\""])]),
    Row(
      "9110 §13.1.3 and its date", [["304"]],
      [.fetched("If-Modified-Since: {-6000}", status: 304, asks: ["If-Modified-Since: {-6000}"])]),
    Row(
      "9110 §13.1.2 unchanged, as it came", [[zero]],
      [.fetched("If-None-Match: v1", asks: ["If-None-Match: v1"])]),
    Row(
      "9110 §13.1.2 and a 200 to it is stored", [[fresh, tag]],
      [.fetched("If-None-Match: \"v0\""), .stored()]),
    Row(
      "9110 §13.1.1 If-Match on a miss", [["412"]],
      [.fetched("If-Match: \"v1\"", status: 412, asks: ["If-Match: \"v1\""])]),
    Row("9110 §15.4.5 a 304 that was not asked for is an error", [["304"]], [.fetched(status: 502, text: "*")]),
  ]
  @Test(arguments: sent) func asksTheOrigin(_ row: Row) throws { try play(row) }

  /// RFC 9111 §3.2, §4.3.4: what a 304 changes.
  static let updates: [Row] = {
    func update(_ name: String, _ before: String, _ after: String?, _ expected: String) -> Row {
      Row(
        "9111 §3.2 \(name)", [[zero, tag, before], Answer(["304", tag, fresh, after ?? "X-No: 1"])],
        [.fetched(), .validated(has: [expected]), .stored(has: [expected])])
    }
    return [
      update("a field is replaced", "X-A: 1", "X-A: 2", "X-A: 2"),
      update("a field that the 304 lacks stays", "X-A: 1", nil, "X-A: 1"),
      update("a field is added", "X-B: 1", "X-A: 2", "X-A: 2"),
      update("Cache-Control", "X-B: 1", nil, fresh),
      update("Content-Location", "Content-Location: /a", "Content-Location: /b", "Content-Location: /b"),
      update("Content-Type", "Content-Type: text/a", "Content-Type: text/b", "Content-Type: text/b"),
      update("Expires", "Expires: {+6000}", "Expires: {+9000}", "Expires: {+9000}"),
      update("Date", "Date: {-6000}", "Date: {-100}", "Date: {-100}"),
      update("Content-Length never", "X-B: 1", "Content-Length: 99", "Content-Length: 8"),
      update("Content-Encoding never", "Content-Encoding: x-a", "Content-Encoding: x-b", "Content-Encoding: x-a"),
      update("Content-Range never", "X-B: 1", "Content-Range: bytes 0-1/2", "X-B: 1"),
      update("ETag never", "Last-Modified: {-9000}", nil, tag),
      Row(
        "9111 §4.3.4 the age begins anew", [["Cache-Control: max-age=6000", "Age: 8000", tag], ["304", tag]],
        [.fetched(), .validated(), .stored()]),
      Row(
        "9111 §4.3.4 with the 304's own Age",
        [["Cache-Control: max-age=6000", "Age: 8000", tag], ["304", tag, "Age: 5000"]],
        [.fetched(), .validated(has: ["Age: 5000"]), .stored()]),
      Row(
        "9111 §3 a 304 that says no-store: it is not stored any more",
        [[zero, tag], ["304", tag, "Cache-Control: no-store"], [fresh]],
        [.fetched(), .validated(), .fetched(omits: ["If-None-Match"])]),
      Row(
        "9111 §3 a 304 that says private",
        [[zero, tag], ["304", tag, "Cache-Control: private, max-age=6000"], [fresh]],
        [.fetched(), .validated(), .fetched()]),
    ]
  }()
  @Test(arguments: updates) func updatesWhatIsStored(_ row: Row) throws { try play(row) }

  /// RFC 9111 §4.3.5.
  static let heads: [Row] = [
    Row(
      "9110 §9.3.2 HEAD from a stored GET", [[fresh, "X-A: 1"]],
      [.fetched(), .stored(method: "HEAD", has: ["X-A: 1", "Content-Length: 8"])]),
    Row("9111 §4.3.5 HEAD on a miss is not stored", [[fresh]], [.fetched(method: "HEAD"), .fetched()]),
    Row(
      "9111 §4.3.5 stale: HEAD goes up as HEAD", [["Cache-Control: max-age=6000", "Age: 8000"], [fresh]],
      [.fetched(), .fetched(method: "HEAD", says: ["fwd=stale"])]),
    Row(
      "9111 §4.3.5 and freshens", [["Cache-Control: max-age=6000", "Age: 8000", "X-A: 1"], [fresh, "X-A: 2"]],
      [.fetched(), .fetched(method: "HEAD"), .stored(has: ["X-A: 2", fresh])]),
    Row(
      "9111 §4.3.5 by the same tag", [["Cache-Control: max-age=6000", "Age: 8000", tag], [fresh, tag]],
      [.fetched(), .fetched(method: "HEAD"), .stored()]),
    Row(
      "9111 §4.3.5 another tag: stale", [["Cache-Control: max-age=60000", tag], [fresh, "ETag: \"v2\""]],
      [.fetched(), .fetched("Cache-Control: no-cache", method: "HEAD"), .fetched()]),
    Row(
      "9111 §4.3.5 another Last-Modified: stale",
      [["Cache-Control: max-age=60000", modified], [fresh, "Last-Modified: {-50000}"]],
      [.fetched(), .fetched("Cache-Control: no-cache", method: "HEAD"), .fetched()]),
    Row(
      "9111 §4.3.5 another length: stale", [[fresh], [fresh, "body=0123456789"]],
      [.fetched(), .fetched("Cache-Control: no-cache", method: "HEAD"), .fetched(text: "0123456789")]),
    Row(
      "9111 §4.3.5 stale is not gone: a 304 makes it fresh again",
      [[fresh, tag], [fresh, tag, "Content-Length: 7"], ["304", tag]],
      [
        .fetched(), .fetched("Cache-Control: no-cache", method: "HEAD"),
        .validated(asks: ["If-None-Match: \"v1\""], says: ["fwd=stale", "fwd-status=304"]), .stored(),
      ]),
    Row(
      "9111 §4.3.5 a HEAD that forbids storing", [[fresh, tag], ["Cache-Control: no-store", tag], [fresh, tag]],
      [
        .fetched(), .fetched("Cache-Control: no-cache", method: "HEAD"),
        .fetched(omits: ["If-None-Match"]),
      ]),
    Row(
      "9111 §4.3.5 a 404 to HEAD says nothing of it", [[fresh], ["404", "Content-Length: 0"]],
      [.fetched(), .fetched("Cache-Control: no-cache", method: "HEAD", status: 404), .stored()]),
    Row(
      "9111 §4.3.5 only the variant that the HEAD selects",
      [
        [fresh, "Vary: X", tag], [fresh, "Vary: X", tag],
        [fresh, "Vary: X", "ETag: \"v2\""],
      ],
      [
        .fetched("X: 1"), .fetched("X: 2"), .fetched("X: 2", "Cache-Control: no-cache", method: "HEAD"),
        .stored("X: 1"),
      ]),
  ]
  @Test(arguments: heads) func head(_ row: Row) throws { try play(row) }
}
