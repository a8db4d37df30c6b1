// A stored response is selected by every request that means the same, and by no other.
import CachePolicy
import HTTPMessage
import Testing

@Suite struct Variants {
  struct Row: Sendable {
    let what: String
    let vary: [String]
    let first: [String]
    let second: [String]
    let matches: Bool

    init(_ what: String, _ vary: [String], _ first: [String], _ second: [String], _ matches: Bool) {
      self.what = what
      self.vary = vary.map { "Vary: \($0)" }
      self.first = first
      self.second = second
      self.matches = matches
    }
  }

  static let rows: [Row] = [
    Row("no Vary", [], ["Foo: 1"], ["Foo: 2"], true),
    Row("equal", ["Foo"], ["Foo: 1"], ["Foo: 1"], true),
    Row("different", ["Foo"], ["Foo: 1"], ["Foo: 2"], false),
    Row("case of the name", ["fOO"], ["Foo: 1"], ["foo: 1"], true),
    Row("case of a value", ["Foo"], ["Foo: a"], ["Foo: A"], false),
    Row("absent from the second", ["Foo"], ["Foo: 1"], [], false),
    Row("absent from the first", ["Foo"], [], ["Foo: 1"], false),
    Row("absent from both", ["Foo"], [], [], true),
    Row("empty is not absent", ["Foo"], ["Foo: "], [], false),
    Row("not nominated", ["Foo"], ["Foo: 1", "Bar: 1"], ["Foo: 1", "Bar: 2"], true),
    Row("two, the second differs", ["Foo, Bar"], ["Foo: 1", "Bar: a"], ["Foo: 1", "Bar: b"], false),
    Row("two lines of Vary", ["Foo", "Bar"], ["Foo: 1", "Bar: a"], ["Foo: 1", "Bar: b"], false),
    Row("one of three absent from both", ["A, B, C"], ["A: 1", "C: 3"], ["C: 3", "A: 1"], true),
    Row("star", ["*"], ["Foo: 1"], ["Foo: 1"], false),
    Row("star among others", ["Foo, *"], ["Foo: 1"], ["Foo: 1"], false),
    Row("whitespace", ["Foo"], ["Foo: 1,2"], ["Foo:  1 ,  2 "], true),
    Row("lines combined", ["Foo"], ["Foo: 1, 2"], ["Foo: 1", "Foo: 2"], true),
    Row("order of an unknown list", ["Foo"], ["Foo: 1, 2"], ["Foo: 2, 1"], false),
    Row("commas in a string", ["Foo"], ["Foo: \"a,b\""], ["Foo: \"a, b\""], false),
    Row("octets that are no text", ["Foo"], ["Foo: \u{E9}"], ["Foo: \u{E8}"], false),
    Row("codings: order", ["Accept-Encoding"], ["Accept-Encoding: gzip, br"], ["Accept-Encoding: br,gzip"], true),
    Row("codings: case", ["Accept-Encoding"], ["Accept-Encoding: GZip"], ["Accept-Encoding: gzip"], true),
    Row("codings: weights", ["Accept-Encoding"], ["Accept-Encoding: gzip;q=1.0"], ["Accept-Encoding: gzip"], true),
    Row(
      "codings: spelling of weights", ["Accept-Encoding"], ["Accept-Encoding: gzip ; Q=0.50"],
      ["Accept-Encoding: gzip;q=0.5"], true),
    Row(
      "codings: other weights", ["Accept-Encoding"], ["Accept-Encoding: gzip;q=0.5"],
      ["Accept-Encoding: gzip;q=0.6"], false),
    Row("codings: refused", ["Accept-Encoding"], ["Accept-Encoding: gzip;q=0"], ["Accept-Encoding: gzip"], false),
    Row("codings: more", ["Accept-Encoding"], ["Accept-Encoding: gzip"], ["Accept-Encoding: gzip, br"], false),
    Row("codings: none", ["Accept-Encoding"], ["Accept-Encoding: gzip"], [], false),
    Row("no weight", ["Accept-Encoding"], ["Accept-Encoding: gzip;q=2"], ["Accept-Encoding: gzip"], false),
    Row("no weight", ["Accept-Encoding"], ["Accept-Encoding: gzip;q=1.5"], ["Accept-Encoding: gzip"], false),
    Row(
      "languages: order by weight", ["Accept-Language"], ["Accept-Language: en;q=0.5, de"],
      ["Accept-Language: de, en;q=0.5"], true),
    Row(
      "languages: order of equals", ["Accept-Language"], ["Accept-Language: en, de"], ["Accept-Language: de, en"],
      false),
    Row("languages: case", ["Accept-Language"], ["Accept-Language: en-GB"], ["Accept-Language: EN-gb"], true),
    Row(
      "media: order", ["Accept"], ["Accept: text/html, image/*;q=0.8"], ["Accept: image/*;q=0.8,TEXT/html"], true),
    Row("media: parameters", ["Accept"], ["Accept: text/x;a=B"], ["Accept: text/x;a=b"], false),
    Row("agents verbatim", ["User-Agent"], ["User-Agent: a (b, c)"], ["User-Agent: a (b,c)"], false),
  ]

  @Test(arguments: rows) func matchByMeaning(_ row: Row) {
    let response = stored(["Cache-Control: max-age=60"] + row.vary, to: request(row.first))
    #expect(response.matches(fields(row.second)) == row.matches, "RFC 9111 §4.1: \(row.what)")
    // Whatever it means, a request always equals itself, except under "*".
    let isStar = row.vary.contains { $0.contains("*") }
    #expect(response.matches(fields(row.first)) == !isStar)
  }

  @Test(
    arguments: [
      ([["Date: {0}"], ["Date: {5}"], ["Date: {3}"]], [], 1),
      ([["Date: {9}"], ["Date: {0}", "Vary: Foo"]], ["Foo: 1"], 1),
      ([["Date: {9}"], ["Date: {0}", "Vary: Foo"]], ["Foo: 2"], 0),
      ([["Date: {9}", "Vary: *"], ["Date: {0}"]], ["Foo: 1"], 1),
      ([["Vary: Foo"]], ["Foo: 2"], nil), ([], [], nil),
    ] as [([[String]], [String], Int?)])
  func areChosenByDate(_ variants: [[String]], _ second: [String], _ expected: Int?) {
    let among = variants.map { stored($0, to: request(["Foo: 1"])) }
    #expect(selectVariant(fields(second), among: among) == expected, "RFC 9111 §4, §4.1")
  }

  @Test func areChosenByReceiptWhereDatesAreEqual() {
    var later = stored(["Date: {0}"])
    later.responseTime = start + 1
    #expect(selectVariant(Fields(), among: [stored(["Date: {0}"]), later]) == 1)
    #expect(selectVariant(Fields(), among: [later, stored(["Date: {0}"])]) == 0)
  }
}
