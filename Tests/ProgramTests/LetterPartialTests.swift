// Partial content (RFC 9110 §14, §15.3.7, RFC 9111 §3.3, §3.4), against the whole program.
import Testing

@Suite(.larder()) struct LetterPartialTests {
  static let fresh = "Cache-Control: max-age=60000", tag = "ETag: \"v1\"", weak = "ETag: W/\"v1\""
  static let whole = Answer(["body=0123456789", fresh, tag])
  static func part(_ bytes: String, _ range: String, _ fields: String...) -> Answer {
    Answer(["206", "body=\(bytes)", "Content-Range: bytes \(range)", fresh] + fields)
  }
  /// What is stale is asked about before anything of it is sent.
  static let stalePart = Answer([
    "206", "body=0123", "Content-Range: bytes 0-3/10", "Cache-Control: max-age=0", tag, "X-A: 1", "X-B: 1",
  ])
  static func range(_ range: String, _ text: String, _ contentRange: String) -> Step {
    .stored("Range: bytes=\(range)", status: 206, text: text, has: ["Content-Range: bytes \(contentRange)"])
  }

  static let rows: [Row] = [
    Row("9110 §14.1.2 first and last", [whole], [.fetched(text: "0123456789"), range("2-4", "234", "2-4/10")]),
    Row("9110 §14.1.2 from a place on", [whole], [.fetched(text: "0123456789"), range("7-", "789", "7-9/10")]),
    Row("9110 §14.1.2 the end", [whole], [.fetched(text: "0123456789"), range("-2", "89", "8-9/10")]),
    Row("9110 §14.1.2 beyond the end", [whole], [.fetched(text: "0123456789"), range("8-99", "89", "8-9/10")]),
    Row(
      "9110 §14.1.2 more than there is", [whole],
      [.fetched(text: "0123456789"), range("-99", "0123456789", "0-9/10")]),
    Row(
      "9110 §15.5.17 nothing of it", [whole],
      [.fetched(text: "0123456789"), .stored("Range: bytes=10-", status: 416, has: ["Content-Range: bytes */10"])]),
    Row(
      "9110 §14.2 another unit", [whole],
      [.fetched(text: "0123456789"), .stored("Range: lines=1-2", text: "0123456789")]),
    Row(
      "9110 §14.2 what cannot be read", [whole],
      [.fetched(text: "0123456789"), .stored("Range: bytes=4-2", text: "0123456789")]),
    Row(
      "9110 §14.2 not for HEAD", [whole],
      [.fetched(text: "0123456789"), .stored("Range: bytes=0-1", method: "HEAD", has: ["Content-Length: 10"])]),
    Row(
      "9110 §14.2 not of an error", [["404", fresh]], [.fetched(status: 404), .stored("Range: bytes=0-1", status: 404)]),
    Row(
      "9110 §13.1.5 If-Range that holds", [whole],
      [.fetched(text: "0123456789"), .stored("Range: bytes=0-1", "If-Range: \"v1\"", status: 206, text: "01")]),
    Row(
      "9110 §13.1.5 If-Range that does not", [whole],
      [.fetched(text: "0123456789"), .stored("Range: bytes=0-1", "If-Range: \"v2\"", text: "0123456789")]),
    Row(
      "9110 §13.1.5 If-Range with a weak tag", [["body=0123456789", fresh, weak]],
      [.fetched(text: "0123456789"), .stored("Range: bytes=0-1", "If-Range: W/\"v1\"", text: "0123456789")]),
    Row(
      "9110 §14.2 without a validator, from the complete", [["body=0123456789", fresh]],
      [.fetched(text: "0123456789"), range("2-4", "234", "2-4/10")]),
    Row(
      "9110 §14.1.2 of several the first is beyond the end, on a miss",
      [["416", "Content-Range: bytes */10"], part("01", "0-1/10", tag)],
      [
        .fetched("Range: bytes=20-, 0-1", status: 206, text: "01", says: ["stored"]),
        .stored("Range: bytes=20-, 0-1", status: 206, text: "01", has: ["Content-Range: bytes 0-1/10"]),
      ]),
    Row(
      "9110 §14.1.2 so are the first two", [["416", "Content-Range: bytes */10"], part("45", "4-5/10", tag)],
      [
        .fetched("Range: bytes=20-, 10-11, 4-5", status: 206, text: "45", says: ["stored"]),
        .stored("Range: bytes=20-, 10-11, 4-5", status: 206, text: "45", has: ["Content-Range: bytes 4-5/10"]),
      ]),
    Row(
      "9110 §15.5.17 a 416 that names no length", [["416"], part("01", "0-1/10", tag)],
      [
        .fetched("Range: bytes=20-, 0-1", status: 206, text: "01", says: ["stored"]),
        .stored("Range: bytes=20-, 0-1", status: 206, text: "01"),
      ]),
    Row(
      "9110 §15.5.17 all of them are, on a miss", [["416", "Content-Range: bytes */10"], whole],
      [
        .fetched("Range: bytes=20-, 30-", status: 416, has: ["Content-Range: bytes */10"]),
        .fetched(text: "0123456789", says: ["stored"]),
      ]),
    Row(
      "9111 §5.2.1.7 only-if-cached and a part", [part("0123", "0-3/10", tag)],
      [
        .fetched("Range: bytes=0-3", status: 206, text: "0123"),
        .stored("Range: bytes=1-2", "Cache-Control: only-if-cached", status: 206, text: "12"),
        .refused("Cache-Control: only-if-cached"), .refused("Range: bytes=2-4", "Cache-Control: only-if-cached"),
      ]),
    Row(
      "9111 §3.3 a part is stored and reused", [part("456", "4-6/10", tag)],
      [.fetched("Range: bytes=4-6", status: 206, text: "456", says: ["stored"]), range("4-6", "456", "4-6/10")]),
    Row(
      "9111 §3.3 and a part of the part", [part("456", "4-6/10", tag)],
      [.fetched("Range: bytes=4-6", status: 206, text: "456"), range("5-5", "5", "5-5/10")]),
    Row(
      "9111 §3.3 and its end", [part("789", "7-9/10", tag)],
      [.fetched("Range: bytes=-3", status: 206, text: "789"), range("8-", "89", "8-9/10")]),
    Row(
      "9111 §3.4 the rest is asked for under the validator",
      [part("0123", "0-3/10", tag), part("456789", "4-9/10", tag)],
      [
        .fetched("Range: bytes=0-3", status: 206, text: "0123"),
        .fetched(
          text: "0123456789", has: ["Content-Length: 10"], lacks: ["Content-Range"],
          asks: ["If-Match: \"v1\""]),
        .stored(text: "0123456789"),
      ]),
    Row(
      "9111 §3.4 the fields of the newer part",
      [
        stalePart,
        part("456789", "4-9/10", tag, "X-A: 2"),
      ],
      [
        .fetched("Range: bytes=0-3", status: 206, text: "0123"),
        .fetched(text: "0123456789", has: ["X-A: 2", "X-B: 1"]),
      ]),
    Row(
      "9110 §15.3.7.3 never under a weak validator",
      [part("0123", "0-3/10", weak), Answer(["body=0123456789", fresh, weak])],
      [.fetched("Range: bytes=0-3", status: 206, text: "0123"), .fetched(text: "0123456789")]),
    Row(
      "9110 §15.3.7 a 206 to no range is never a part",
      [part("0123", "0-3/10", tag), Answer(["body=0123456789", fresh, tag])],
      [.fetched(status: 206, text: "0123", says: ["detail=partial-unasked"]), .fetched(text: "0123456789")]),
    Row(
      "9111 §3.3 a changed validator: begun anew",
      [stalePart, ["412"], ["body=abcdefgh", fresh, "ETag: \"v2\""]],
      [
        .fetched("Range: bytes=0-3", status: 206, text: "0123"), .fetched(text: "abcdefgh", has: ["ETag: \"v2\""]),
        .stored(text: "abcdefgh"),
      ]),
    Row(
      "9110 §14.4 a total that is not known", [part("0123", "0-3/*", tag), whole],
      [.fetched("Range: bytes=0-3", status: 206, text: "0123"), .fetched(text: "0123456789")]),
    Row(
      "9111 §4.1 a coding is another variant",
      [
        Answer(["body=zzzz", fresh, "ETag: \"z\"", "Content-Encoding: x-z", "Vary: Accept-Encoding"]),
        Answer(["body=0123456789", fresh, tag, "Vary: Accept-Encoding"]),
      ],
      [
        .fetched("Accept-Encoding: x-z", text: "zzzz"), .fetched(text: "0123456789"),
        .stored("Accept-Encoding: x-z", "Range: bytes=0-1", status: 206, text: "zz", has: ["Content-Encoding: x-z"]),
        .stored("Range: bytes=0-1", status: 206, text: "01", lacks: ["Content-Encoding"]),
      ]),
    Row(
      "9112 §7.1 ranges of what came in chunks", [["body=0123456789", "chunked", fresh, tag]],
      [.fetched(text: "0123456789"), range("3-4", "34", "3-4/10")]),
    Row(
      "9110 §15.5.17 an origin's 416 is relayed", [["416", "Content-Range: bytes */10"]],
      [.fetched("Range: bytes=20-", status: 416), .fetched("Range: bytes=20-", status: 416)]),
    Row(
      "9110 §14.2 a 200 to a range is stored whole", [whole],
      [.fetched("Range: bytes=2-3", status: 206, text: "23"), .stored(text: "0123456789")]),
    Row(
      "9111 §4.3.1 stale and whole: the client's range goes along",
      [Answer(["body=0123456789", "Cache-Control: max-age=0", tag]), ["304", tag]],
      [
        .fetched(text: "0123456789"),
        .validated("Range: bytes=1-2", status: 206, text: "12", asks: ["If-None-Match: \"v1\"", "Range: bytes=1-2"]),
      ]),
    Row(
      "9110 §13.1.5 and under the client's own condition, for it may be of another version",
      [
        Answer(["body=0123456789", "Cache-Control: max-age=0", tag]),
        Answer(["body=abcdefgh", "Cache-Control: no-store"]),
      ],
      [
        .fetched(text: "0123456789"),
        .fetched("Range: bytes=1-2", "If-Range: \"v1\"", text: "abcdefgh", asks: ["If-Range: \"v1\""]),
      ]),
    keeping("without a validator", [fresh], part("23", "2-3/10")),
    keeping("with a weak one", [fresh, weak], part("23", "2-3/10", weak)),
    keeping("of an unknown total", [fresh, tag], part("23", "2-3/*", tag)),
    keeping("of who has credentials", [fresh, tag], part("23", "2-3/10", tag), "Authorization: Basic eA=="),
    keeping("of who wants nothing stored", [fresh, tag], part("23", "2-3/10", tag), "Cache-Control: no-store"),
    dropping("with another tag", [fresh, weak], part("cd", "2-3/10", "ETag: W/\"v2\"")),
    dropping(
      "with another date", [fresh, "Last-Modified: {-9000}"], part("cd", "2-3/10", "Last-Modified: {-8000}")),
    dropping("of another total", [fresh], part("cd", "2-3/8")),
  ]

  /// What cannot be stored of a part that was asked for with no-cache, when the whole is stored.
  private static func unstorable(
    _ words: [String], _ part: Answer, _ fields: [String], _ last: Step
  ) -> ([Answer], [Step]) {
    var ask = Step.fetched("Range: bytes=2-3", "Cache-Control: no-cache", status: 206, text: part.body)
    ask.fields += fields
    return (
      [Answer(["body=0123456789"] + words), part, Answer(["body=abcdefgh", fresh])],
      [.fetched(text: "0123456789"), ask, last]
    )
  }
  private static func keeping(_ name: String, _ words: [String], _ part: Answer, _ fields: String...) -> Row {
    let (answers, steps) = unstorable(words, part, fields, .stored(text: "0123456789"))
    return Row("9111 §4.3.3 a part is no full response, and the whole is kept: one \(name)", answers, steps)
  }
  private static func dropping(_ name: String, _ words: [String], _ part: Answer) -> Row {
    let (answers, steps) = unstorable(words, part, [], .fetched(text: "abcdefgh"))
    return Row("9111 §4.3.3 a part of another version: one \(name)", answers, steps)
  }

  @Test(arguments: rows) func part(_ row: Row) throws { try play(row) }
}
