// A client's conditions are answered from the store where a cache may, and go up untouched where it may not.
import CachePolicy
import HTTPMessage
import Testing

@Suite struct Conditionals {
  struct Row: Sendable {
    let section: String
    let request: [String]
    let lines: [String]
    let status: Int
    let expected: ConditionalOutcome

    init(_ section: String, _ request: [String], _ lines: [String], status: Int = 200, _ expected: ConditionalOutcome) {
      self.section = section
      self.request = request
      self.lines = lines
      self.status = status
      self.expected = expected
    }

    init(_ section: String, _ request: [String], status: Int = 200, _ expected: ConditionalOutcome) {
      self.init(section, request, Self.both, status: status, expected)
    }

    static let both = ["Date: {0}", "ETag: \"a\"", "Last-Modified: {-100}"]
  }

  static let rows: [Row] = [
    Row("13", [], .serve),
    Row("13.1.2", ["If-None-Match: \"a\""], .notModified),
    Row("13.1.2", ["If-None-Match: \"b\""], .serve),
    Row("13.1.2 list", ["If-None-Match: \"b\", \"a\""], .notModified),
    Row("13.1.2 lines", ["If-None-Match: \"b\"", "If-None-Match: \"a\""], .notModified),
    Row("13.1.2 weak comparison", ["If-None-Match: W/\"a\""], .notModified),
    Row("13.1.2 weak stored", ["If-None-Match: \"a\""], ["ETag: W/\"a\""], .notModified),
    Row("13.1.2 star", ["If-None-Match: *"], .notModified),
    Row("13.1.2 star without a tag", ["If-None-Match: *"], ["Date: {0}"], .notModified),
    Row("13.1.2 no stored tag", ["If-None-Match: \"a\""], ["Date: {0}"], .serve),
    Row("13.1.2 unquoted", ["If-None-Match: a"], .serve),
    Row("13.1.2 half readable", ["If-None-Match: \"a\", b"], .serve),
    Row("13.1.2 case", ["If-None-Match: \"A\""], .serve),
    Row("13.1.2 comma in a tag", ["If-None-Match: \"x,a\""], ["ETag: \"x,a\""], .notModified),
    Row("13.1.3", ["If-Modified-Since: {-100}"], .notModified),
    Row("13.1.3 later", ["If-Modified-Since: {-50}"], .notModified),
    Row("13.1.3 earlier", ["If-Modified-Since: {-101}"], .serve),
    Row("13.1.3 other format", ["If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT"], .notModified),
    Row("13.1.3 no date", ["If-Modified-Since: yesterday"], .serve),
    Row("13.1.3 two", ["If-Modified-Since: {0}", "If-Modified-Since: {0}"], .serve),
    Row("9111 4.3.2 Date stands in", ["If-Modified-Since: {0}"], ["Date: {0}"], .notModified),
    Row("9111 4.3.2 Date stands in", ["If-Modified-Since: {-1}"], ["Date: {0}"], .serve),
    Row("9111 4.3.2 receipt stands in", ["If-Modified-Since: {-1}"], ["Foo: 1"], .serve),
    Row("13.2.2 tags come first", ["If-None-Match: \"b\"", "If-Modified-Since: {0}"], .serve),
    Row("13.2.2 tags come first", ["If-None-Match: \"a\"", "If-Modified-Since: {-999}"], .notModified),
    Row("13.2.2 even unreadable", ["If-None-Match: b", "If-Modified-Since: {0}"], .serve),
    Row("13.1.1", ["If-Match: \"a\""], .serve),
    Row("13.1.1", ["If-Match: \"b\""], .passUntouched),
    Row("13.1.1 list", ["If-Match: \"b\", \"a\""], .serve),
    Row("13.1.1 strong comparison", ["If-Match: W/\"a\""], .passUntouched),
    Row("13.1.1 weak stored", ["If-Match: \"a\""], ["ETag: W/\"a\""], .passUntouched),
    Row("13.1.1 star", ["If-Match: *"], .serve),
    Row("13.1.1 unreadable", ["If-Match: a"], .passUntouched),
    Row("13.1.1 no stored tag", ["If-Match: \"a\""], ["Date: {0}"], .passUntouched),
    Row("13.1.1 then none-match", ["If-Match: \"a\"", "If-None-Match: \"a\""], .notModified),
    Row("13.1.4", ["If-Unmodified-Since: {0}"], .passUntouched),
    Row("13.1.4 If-Match takes its place", ["If-Match: \"a\"", "If-Unmodified-Since: {-999}"], .serve),
    Row("13.2.1 not a success", ["If-None-Match: \"a\""], status: 404, .serve),
    Row("13.2.1 not a success", ["If-None-Match: *"], status: 301, .serve),
    Row("13.2.1 not a success", ["If-Match: *"], status: 404, .passUntouched),
  ]

  @Test(arguments: rows) func followTheOrder(_ row: Row) {
    let found = evaluateConditionals(
      of: request(row.request), against: stored(row.lines, status: row.status), now: start)
    #expect(found == row.expected, "RFC 9110 §\(row.section)")
  }

  @Test(arguments: [
    (["ETag: \"a\"", "Last-Modified: {-9}"], ["date", "cache-control", "vary", "etag"]),
    (["Last-Modified: {-9}"], ["date", "cache-control", "vary", "last-modified"]),
    (["Content-Location: /x", "Expires: {9}"], ["date", "cache-control", "vary", "content-location", "expires"]),
    (
      ["Content-Type: a/b", "Content-Length: 5", "Content-Encoding: br", "X: 1"],
      ["date", "cache-control", "vary", "x"]
    ),
  ])
  func giveA304ItsFields(_ lines: [String], _ expected: [String]) {
    let response = stored(["Date: {0}", "Cache-Control: max-age=60", "Vary: X"] + lines)
    #expect(notModifiedFields(of: response).map(\.name.lowercased) == expected, "RFC 9110 §15.4.5")
  }
}

@Suite struct IfRangeConditions {
  struct Row: Sendable {
    let section: String
    let request: [String]
    let lines: [String]
    let expected: IfRangeOutcome

    init(_ section: String, _ request: [String], _ lines: [String], _ expected: IfRangeOutcome) {
      self.section = section
      self.request = ["Range: bytes=0-9"] + request
      self.lines = ["Date: {0}"] + lines
      self.expected = expected
    }
  }

  static let rows: [Row] = [
    Row("absent", [], ["ETag: \"a\""], .absentOrMatches),
    Row("tag", ["If-Range: \"a\""], ["ETag: \"a\""], .absentOrMatches),
    Row("another tag", ["If-Range: \"b\""], ["ETag: \"a\""], .mismatch),
    Row("no stored tag", ["If-Range: \"a\""], ["Last-Modified: {-999}"], .mismatch),
    Row("a weak tag", ["If-Range: W/\"a\""], ["ETag: W/\"a\""], .mismatch),
    Row("a weak stored tag", ["If-Range: \"a\""], ["ETag: W/\"a\""], .mismatch),
    Row("date", ["If-Range: {-999}"], ["Last-Modified: {-999}"], .absentOrMatches),
    Row("date in another format", ["If-Range: Sun Nov  6 08:48:37 1994"], ["Last-Modified: {-60}"], .absentOrMatches),
    Row("date beside a strong tag", ["If-Range: {-999}"], ["Last-Modified: {-999}", "ETag: \"a\""], .absentOrMatches),
    Row("date beside a weak tag", ["If-Range: {-999}"], ["Last-Modified: {-999}", "ETag: W/\"a\""], .mismatch),
    Row("a later date is no match", ["If-Range: {-998}"], ["Last-Modified: {-999}"], .mismatch),
    Row("an earlier date is no match", ["If-Range: {-1000}"], ["Last-Modified: {-999}"], .mismatch),
    Row("a date that is not strong", ["If-Range: {-59}"], ["Last-Modified: {-59}"], .mismatch),
    Row("no stored date", ["If-Range: {-999}"], ["ETag: \"a\""], .mismatch),
    Row("neither", ["If-Range: a"], ["ETag: \"a\""], .mismatch),
    Row("two", ["If-Range: \"a\"", "If-Range: \"a\""], ["ETag: \"a\""], .mismatch),
  ]

  @Test(arguments: rows) func areExact(_ row: Row) {
    let found = evaluateIfRange(of: request(row.request), against: stored(row.lines), now: start)
    #expect(found == row.expected, "RFC 9110 §13.1.5: \(row.section)")
  }

  @Test func countOnlyBesideARangeOfAGet() {
    let response = stored(["ETag: \"a\""])
    let alone = request(["If-Range: \"b\""])
    #expect(evaluateIfRange(of: alone, against: response, now: start) == .absentOrMatches, "RFC 9110 §13.1.5")
    let head = request(["Range: bytes=0-9", "If-Range: \"b\""], method: .head)
    #expect(evaluateIfRange(of: head, against: response, now: start) == .absentOrMatches, "RFC 9110 §14.2")
  }
}
