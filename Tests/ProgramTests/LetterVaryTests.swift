// Which of several stored responses answers a request (RFC 9111 §4.1), against the whole program.
import Testing

@Suite(.larder()) struct LetterVaryTests {
  static func vary(_ fields: String...) -> [String] { ["Cache-Control: max-age=6000"] + fields.map { "Vary: \($0)" } }
  static func pair(_ name: String, _ fields: [String], _ first: [String], _ second: [String], _ isMatch: Bool) -> Row {
    var before = Step.fetched()
    before.fields = first
    var after = isMatch ? Step.stored() : Step.fetched()
    after.fields = second
    return Row("9111 §4.1 \(name)", [Answer(fields)], [before, after])
  }

  static let keys: [Row] = [
    pair("equal", vary("X"), ["X: 1"], ["X: 1"], true),
    pair("not equal", vary("X"), ["X: 1"], ["X: 2"], false),
    pair("absent from both", vary("X"), [], [], true),
    pair("absent from the first", vary("X"), [], ["X: 1"], false),
    pair("absent from the second", vary("X"), ["X: 1"], [], false),
    pair("empty is not absent", vary("X"), ["X:"], [], false),
    pair("the case of its members", vary("x-NAME"), ["X-Name: 1"], ["x-name: 1"], true),
    pair("others do not count", vary("X"), ["X: 1", "Y: 1"], ["X: 1", "Y: 2"], true),
    pair("two members, equal", vary("X, Y"), ["X: 1", "Y: 2"], ["Y: 2", "X: 1"], true),
    pair("two members, one not equal", vary("X, Y"), ["X: 1", "Y: 2"], ["X: 1", "Y: 3"], false),
    pair("two lines", vary("X", "Y"), ["X: 1", "Y: 2"], ["X: 1", "Y: 3"], false),
    pair("two lines, equal", vary("X", "Y"), ["X: 1", "Y: 2"], ["X: 1", "Y: 2"], true),
    pair("a member twice", vary("X, x"), ["X: 1"], ["X: 1"], true),
    pair("one of them absent from both", vary("X, Y, Z"), ["X: 1", "Z: 3"], ["X: 1", "Z: 3"], true),
    pair("empty members", vary(", X,,"), ["X: 1"], ["X: 2"], false),
    pair("*", vary("*"), ["X: 1"], ["X: 1"], false),
    pair("* among others", vary("X, *"), ["X: 1"], ["X: 1"], false),
    pair("* first", vary("*, X"), ["X: 1"], ["X: 1"], false),
    pair("* on a later line", vary("X", "*"), ["X: 1"], ["X: 1"], false),
    pair("* after an empty line", vary("", "*"), ["X: 1"], ["X: 1"], false),
    pair("* twice", vary("*, *"), [], [], false),
    pair("what is no name", vary("X, a b"), ["X: 1"], ["X: 1"], false),
    pair("an empty Vary", vary(""), ["X: 1"], ["X: 2"], true),
    pair("whitespace between members", vary("X"), ["X: 1,2"], ["X:  1 , 2 "], true),
    pair("lines put together", vary("X"), ["X: 1, 2"], ["X: 1", "X: 2"], true),
    pair("the order of unknown fields counts", vary("X"), ["X: 1, 2"], ["X: 2, 1"], false),
    pair("the case of unknown values counts", vary("X"), ["X: a"], ["X: A"], false),
    pair(
      "codings have no order", vary("Accept-Encoding"), ["Accept-Encoding: gzip, br"],
      ["Accept-Encoding: br,gzip"], true),
    pair("codings have no case", vary("Accept-Encoding"), ["Accept-Encoding: gzip"], ["Accept-Encoding: GZIP"], true),
    pair(
      "a weight of 1 says nothing", vary("Accept-Encoding"), ["Accept-Encoding: gzip;q=1.0, br;q=0.5"],
      ["Accept-Encoding: gzip, br; q=0.500"], true),
    pair(
      "other weights do", vary("Accept-Encoding"), ["Accept-Encoding: gzip, br"],
      ["Accept-Encoding: gzip, br;q=0.5"], false),
    pair(
      "identity is not gzip", vary("Accept-Encoding"), ["Accept-Encoding: gzip"], ["Accept-Encoding: identity"],
      false),
    pair(
      "the case of languages", vary("Accept-Language"), ["Accept-Language: en, de"], ["Accept-Language: EN, De"],
      true),
    pair(
      "whitespace in languages", vary("Accept-Language"), ["Accept-Language: en, de"],
      ["Accept-Language:  en ,   de"], true),
    pair(
      "languages by weight", vary("Accept-Language"), ["Accept-Language: de;q=0.5, en"],
      ["Accept-Language: en, de;q=0.5"], true),
    pair("another language", vary("Accept-Language"), ["Accept-Language: en"], ["Accept-Language: fr"], false),
    pair("commas in User-Agent are text", vary("User-Agent"), ["User-Agent: a,b"], ["User-Agent: a, b"], false),
    pair("Cookie", vary("Cookie"), ["Cookie: a=b"], ["Cookie: a=c"], false),
    pair("Authorization in Vary", vary("Authorization"), [], ["Authorization: x"], false),
  ]
  @Test(arguments: keys) func key(_ row: Row) throws { try play(row) }

  static let tag1 = "ETag: \"v1\"", tag2 = "ETag: \"v2\"", varies = "Vary: X", fresh = "Cache-Control: max-age=6000"
  static let choices: [Row] = [
    Row(
      "9111 §4.1 two variants side by side", [[fresh, varies]],
      [.fetched("X: 1"), .fetched("X: 2"), .stored("X: 1"), .stored("X: 2", answer: 1)]),
    Row(
      "9111 §4 the most recent by Date", [[fresh, varies, "Date: {-2000}"], [fresh, "Date: {-1000}", "Vary: Y"]],
      [.fetched("X: 1", "Y: 1"), .fetched("X: 2", "Y: 1"), .stored("X: 1", "Y: 1", answer: 1)]),
    Row(
      "9111 §4.1 the one with Vary before the one without",
      [[fresh, varies], [fresh]], [.fetched("X: 1"), .fetched("X: 2"), .stored("X: 1")]),
    Row(
      "9111 §4.3.1 a miss names the tags of the others", [[fresh, varies, tag1], [fresh, varies, tag2]],
      [.fetched("X: 1"), .fetched("X: 2", asks: ["If-None-Match: \"v1\""]), .stored("X: 2", answer: 1)]),
    Row(
      "9111 §4.3.4 and a 304 chooses one of them", [[fresh, varies, tag1], [fresh, varies, tag2], ["304", tag1]],
      [.fetched("X: 1"), .fetched("X: 2"), .validated("X: 3", says: ["fwd=vary-miss", "fwd-status=304"])]),
    Row(
      "9111 §4.3.4 or the other", [[fresh, varies, tag1], [fresh, varies, tag2], ["304", tag2]],
      [.fetched("X: 1"), .fetched("X: 2"), .validated("X: 3", answer: 1)]),
    Row(
      "9111 §4.1 and is selected by the request from then on",
      [[fresh, varies, tag1], [fresh, varies, tag2], ["304", tag1]],
      [
        .fetched("X: 1"), .fetched("X: 2"), .validated("X: 3"), .stored("X: 3"), .stored("X: 1"),
        .stored("X: 2", answer: 1),
      ]),
    Row(
      "9111 §4.3.4 a strong tag updates every response that has it",
      [[fresh, varies, tag1], ["304", tag1], ["304", tag1, "X-New: 1"]],
      [
        .fetched("X: 1"), .validated("X: 2"), .validated("X: 3"), .stored("X: 1", has: ["X-New: 1"]),
        .stored("X: 2", has: ["X-New: 1"]), .stored("X: 3", has: ["X-New: 1"]),
      ]),
    Row(
      "9111 §4.1 one of them replaced leaves the others",
      [[fresh, varies, tag1], ["304", tag1], [fresh, varies, tag2]],
      [
        .fetched("X: 1"), .validated("X: 2"), .fetched("X: 1", "Cache-Control: no-cache"),
        .stored("X: 1", answer: 2), .stored("X: 2"),
      ]),
    Row(
      "9111 §4.3.4 a 304 that forbids storing leaves nothing for later",
      [[fresh, varies, tag1], ["304", tag1, "Cache-Control: no-store"], [fresh, varies, tag2]],
      [.fetched("X: 1"), .validated("X: 2"), .fetched("X: 2", answer: 2)]),
    Row(
      "9111 §4.3.4 what is chosen stays for its own requests",
      [[fresh, varies, tag1], ["304", tag1, "Cache-Control: max-age=60000"]],
      [.fetched("X: 1"), .validated("X: 2"), .stored("X: 1", has: ["Cache-Control: max-age=60000"])]),
    Row(
      "9111 §4.3.1 weak tags are not named", [[fresh, varies, "ETag: W/\"v1\""]],
      [.fetched("X: 1"), .fetched("X: 2", omits: ["If-None-Match"])]),
    Row(
      "9111 §4.3.2 nor where the client has a condition", [[fresh, varies, tag1], ["304", tag2]],
      [.fetched("X: 1"), .fetched("X: 2", "If-None-Match: \"v2\"", status: 304, asks: ["If-None-Match: \"v2\""])]),
    Row(
      "9111 §4.3.1 only the variant that matches is validated",
      [["Cache-Control: max-age=0", varies, tag1], ["Cache-Control: max-age=0", varies, tag2], ["304", tag1]],
      [.fetched("X: 1"), .fetched("X: 2"), .validated("X: 1", asks: ["If-None-Match: \"v1\"", "X: 1"])]),
  ]
  @Test(arguments: choices) func choice(_ row: Row) throws { try play(row) }
}

@Suite(.larder(["limits.variants": "2"])) struct LetterFewVariantsTests {
  static let rows: [Row] = [
    Row(
      "9111 §4.1 the newest variant stays",
      [["Cache-Control: max-age=6000", "Vary: X"]],
      [.fetched("X: 1"), .fetched("X: 2"), .fetched("X: 3"), .stored("X: 3", answer: 2)]),
    Row(
      "9111 §4.1 and so do the bytes that a variant shares with one that goes",
      [["Cache-Control: max-age=6000", "Vary: X", "ETag: \"v1\""], ["304", "ETag: \"v1\""]],
      [.fetched("X: 1"), .validated("X: 2"), .validated("X: 3"), .stored("X: 3"), .validated("X: 4"), .stored("X: 4")]),
  ]
  @Test(arguments: rows) func row(_ row: Row) throws { try play(row) }
}
