// Stored responses are asked about, updated and dropped as RFC 9111 §4.3 says.
import CachePolicy
import HTTPMessage
import Testing

@Suite struct Validators {
  static let tag = EntityTag(opaque: "a")
  static let weak = EntityTag(isWeak: true, opaque: "a")

  @Test(
    arguments: [
      (["ETag: \"a\"", "Last-Modified: {-999}", "Date: {0}"], tag.map { .strongTag($0) }),
      (["ETag: W/\"a\"", "Last-Modified: {-999}", "Date: {0}"], weak.map { .weakTag($0) }),
      (["Last-Modified: {-60}", "Date: {0}"], .strongDate(start + -60)),
      (["Last-Modified: {-59}", "Date: {0}"], .weakDate(start + -59)),
      (["Last-Modified: {60}", "Date: {0}"], .weakDate(start + 60)),
      (["Last-Modified: {-999}"], .weakDate(start + -999)),
      (["Last-Modified: {-999}", "Date: now"], .weakDate(start + -999)),
      (["Last-Modified: {-999}", "Last-Modified: {-998}", "Date: {0}"], Validator.none),
      (["Last-Modified: never", "Date: {0}"], Validator.none),
      (["ETag: a", "Last-Modified: {-999}", "Date: {0}"], .weakDate(start + -999)),
      (["ETag: \"a\"", "ETag: \"b\""], Validator.none),
      (["ETag: \"a\"", "ETag: \"a\""], tag.map { .strongTag($0) }),
      (["Date: {0}"], Validator.none),
    ] as [([String], Validator?)])
  func areRanked(_ lines: [String], _ expected: Validator?) {
    #expect(validator(of: fields(lines), responseTime: start) == expected, "RFC 9110 §8.8.2.2, §8.8.3")
  }
}

@Suite struct ValidationRequests {
  struct Row: Sendable {
    let section: String
    let stored: [[String]]
    let client: [String]
    let noneMatch: String?
    let since: String?

    init(_ section: String, _ stored: [[String]], client: [String] = [], _ noneMatch: String?, _ since: String?) {
      self.section = section
      self.stored = stored
      self.client = client
      self.noneMatch = noneMatch
      self.since = since
    }
  }

  static let date = HTTPDate.format(start + -999).string
  static let rows: [Row] = [
    Row("4.3.1", [["ETag: \"a\"", "Last-Modified: {-999}"]], "\"a\"", date),
    Row("4.3.1", [["ETag: W/\"a\""]], "W/\"a\"", nil),
    Row("4.3.1", [["Last-Modified: {-999}"]], nil, date),
    Row("4.3.1", [["Foo: 1"]], nil, nil),
    Row("4.3.1 several", [["ETag: \"a\"", "Last-Modified: {-999}"], ["ETag: \"b\""]], "\"a\", \"b\"", nil),
    Row("4.3.1 several, one tag", [["ETag: \"a\""], ["ETag: \"a\""]], "\"a\"", nil),
    Row("4.3.2", [["ETag: \"a\""]], client: ["If-None-Match: \"c\", \"a\""], "\"a\", \"c\"", nil),
    Row("4.3.2", [["ETag: \"a\""]], client: ["If-None-Match: *"], "\"a\"", nil),
    Row("4.3.2", [["Last-Modified: {-999}"]], client: ["If-None-Match: \"c\""], nil, date),
    Row(
      "9110 13.1.3 the octets as they came", [["Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT"]], nil,
      "Sunday, 06-Nov-94 08:49:37 GMT"),
    Row("9110 8.8.2 no date", [["Last-Modified: never"]], nil, nil),
  ]

  @Test(arguments: rows) func nameWhatIsStored(_ row: Row) {
    let found = conditionalFields(for: row.stored.map { stored($0) }, client: fields(row.client))
    #expect(found.first(.ifNoneMatch)?.string == row.noneMatch, "RFC 9111 §\(row.section)")
    #expect(found.first(.ifModifiedSince)?.string == row.since, "RFC 9111 §\(row.section)")
    #expect(found.count == [row.noneMatch, row.since].compactMap(\.self).count)
  }
}

@Suite struct Freshening {
  @Test(
    arguments: [
      ("strong tags", ["ETag: \"a\""], [["ETag: \"a\""], ["ETag: \"b\""], ["ETag: \"a\""]], [0, 2]),
      ("strong tag of none", ["ETag: \"c\""], [["ETag: \"a\""]], []),
      ("strong tag, weak stored", ["ETag: \"a\""], [["ETag: W/\"a\""]], []),
      ("strong tag, none stored", ["ETag: \"a\""], [["Last-Modified: {-999}"]], []),
      (
        "weak tag: the most recent", ["ETag: W/\"a\""],
        [["ETag: W/\"a\"", "Date: {1}"], ["ETag: \"a\"", "Date: {2}"]], [1]
      ),
      ("weak tag of none", ["ETag: W/\"a\""], [["ETag: W/\"b\""]], []),
      (
        "strong dates", ["Last-Modified: {-999}", "Date: {0}"], [["Last-Modified: {-999}"], ["Last-Modified: {-999}"]],
        [0, 1]
      ),
      (
        "weak date: the most recent", ["Last-Modified: {-999}"],
        [["Last-Modified: {-999}", "Date: {2}"], ["Last-Modified: {-999}", "Date: {1}"]], [0]
      ),
      ("another date", ["Last-Modified: {-999}"], [["Last-Modified: {-998}"]], []),
      ("no validator, one stored", ["Foo: 1"], [["ETag: \"a\""]], [0]),
      ("no validator, two stored", ["Foo: 1"], [["ETag: \"a\""], ["ETag: \"b\""]], []),
    ] as [(String, [String], [[String]], [Int])])
  func findsWhatIsMeant(_ what: String, _ lines: [String], _ among: [[String]], _ expected: [Int]) {
    let found = freshened(by: response(304, lines), among: among.map { stored($0) }, now: start)
    #expect(found == expected, "RFC 9111 §4.3.4: \(what)")
  }

  struct Row: Sendable {
    let name: FieldName
    let old: String?
    let new: String?
    let expected: String?
    var status = 304

    init(_ name: FieldName, _ old: String?, _ new: String?, _ expected: String?, status: Int = 304) {
      self.name = name
      self.old = old
      self.new = new
      self.expected = expected
      self.status = status
    }
  }

  static let rows: [Row] = [
    Row("X-Test", "a", "b", "b"), Row("X-Test", "a", nil, "a"), Row("X-Test", nil, "b", "b"),
    Row(.contentType, "text/plain", "text/html", "text/html"), Row("Content-Foo", "a", "b", "b"),
    Row(.contentLocation, "/a", "/b", "/b"), Row(.cacheControl, "max-age=1", "max-age=60", "max-age=60"),
    Row(.expires, "0", "1", "1"), Row(.setCookie, "a=b", "a=c", "a=c"), Row(.vary, "A", "B", "B"),
    Row(.age, "50", nil, nil), Row(.age, "50", "7", "7"),
    Row(.contentLength, "100", "0", "100"), Row(.contentLength, nil, "0", nil),
    Row(.contentEncoding, "gzip", "br", "gzip"), Row(.contentEncoding, nil, "br", nil),
    Row(.contentRange, nil, "bytes 0-9/10", nil, status: 206), Row(.contentLength, "100", "10", "100", status: 206),
    Row(.contentType, "text/plain", "multipart/byteranges; boundary=x", "text/plain", status: 206),
    Row(.etag, "\"a\"", "W/\"a\"", "\"a\""), Row(.etag, nil, "\"a\"", nil), Row(.lastModified, nil, "{-999}", nil),
    Row(.proxyAuthenticate, nil, "Basic", nil), Row(.keepAlive, nil, "timeout=5", nil),
  ]

  @Test(arguments: rows) func replacesFields(_ row: Row) {
    let before = stored(row.old.map { ["\(row.name): \($0)"] } ?? [])
    let lines = row.new.map { ["\(row.name): \($0)"] } ?? []
    let after = updated(
      before, with: response(row.status, lines), to: request(), requestTime: start + 9, responseTime: start + 10)
    #expect(after.fields.combined(row.name)?.string == row.expected, "RFC 9111 §3.2: \(row.name)")
    #expect(after.status == 200 && after.requestTime == start + 9 && after.responseTime == start + 10)
  }

  @Test func replacesAllLinesOfAName() {
    let before = stored(["A: 1", "B: 1", "A: 2"])
    let after = updated(
      before, with: response(304, ["a: 3", "a: 4"]), to: request(), requestTime: start, responseTime: start)
    #expect(after.fields.all("A").map(\.string) == ["3", "4"])
    #expect(after.fields.all("B").map(\.string) == ["1"])
  }

  @Test func dropsWhatTheUpdateForbidsToStore() {
    let after = updated(
      stored(["A: 1", "B: 1"]), with: response(304, ["Cache-Control: no-cache=\"a\"", "Connection: c", "C: 1"]),
      to: request(), requestTime: start, responseTime: start)
    #expect(!after.fields.contains("A") && !after.fields.contains("C") && after.fields.contains("B"), "RFC 9111 §3.1")
  }

  /// A validation that the origin answers without a Date must not leave the response as old as it was.
  @Test(arguments: [([], 0), (["Date: {95}"], 5), (["Age: 30"], 30)] as [([String], Int64)])
  func beginsTheAgeAnew(_ lines: [String], _ age: Int64) {
    let before = stored(["Date: {-500}", "Age: 500", "Cache-Control: max-age=60"])
    let after = updated(
      before, with: response(304, lines), to: request(), requestTime: start + 100, responseTime: start + 100)
    #expect(ReuseTerms(after).freshness(at: start + 100).age == age, "RFC 9111 §4.2.3")
  }

  @Test func keepsTheSelectionOfItsOwnRequest() {
    let before = stored(["Vary: A"], to: request(["A: 1", "B: 1"]))
    let after = updated(
      before, with: response(304, ["Vary: A, B"]), to: request(["A: 2", "B: 2"]), requestTime: start,
      responseTime: start)
    #expect(after.matches(fields(["A: 1", "B: 2"])), "RFC 9111 §4.1")
    #expect(!after.matches(fields(["A: 2", "B: 2"])))
  }
}

/// RFC 9111 §3: what an update has forbidden is not stored any more.
@Suite struct StayingStored {
  @Test(arguments: [
    ("max-age=60", true), ("no-cache", true), ("no-store", false), ("no-store, must-understand", true),
    ("private", false), ("private=\"a\"", true), ("private=\"vary\"", false), ("foo=\"", false),
  ])
  func dependsOnTheDirectives(_ control: String, _ expected: Bool) {
    #expect(mayStayStored(stored(["Cache-Control: \(control)"])) == expected)
  }

  @Test func dependsOnVary() {
    #expect(!mayStayStored(stored(["Vary: *"])) && mayStayStored(stored(["Vary: A"])))
  }
}

/// RFC 9111 §4.3.3: what is not stored itself may say that the stored response is out of date.
@Suite struct Outdating {
  @Test(arguments: [
    (200, ["ETag: \"a\""], true), (204, [], true), (404, ["ETag: \"b\""], false), (500, [], false),
    (206, [], false), (206, ["Content-Range: bytes 0-0/9"], false), (206, ["Content-Range: bytes 0-0/*"], false),
    (206, ["Content-Range: bytes 0-0/10"], true), (206, ["ETag: \"a\""], false), (206, ["ETag: W/\"a\""], false),
    (206, ["ETag: \"b\""], true), (206, ["ETag: a"], false), (206, ["Last-Modified: {-999}"], false),
    (206, ["Last-Modified: {-998}"], true), (206, ["ETag: \"a\"", "Last-Modified: {-998}"], false),
    (206, ["ETag: \"a\"", "Content-Range: bytes 0-0/10"], true),
  ])
  func byFullResponsesAndPartsOfOtherVersions(_ status: Int, _ lines: [String], _ expected: Bool) {
    let before = stored(["ETag: \"a\"", "Last-Modified: {-999}"])
    #expect(outdates(before, total: 9, by: response(status, lines)) == expected)
  }

  @Test func notByWhatTheStoredResponseHasNothingToCompareWith() {
    let part = response(206, ["ETag: \"a\"", "Last-Modified: {-999}", "Content-Range: bytes 0-0/10"])
    #expect(!outdates(stored([]), total: nil, by: part))
  }
}

@Suite struct HeadUpdates {
  @Test(arguments: [
    (200, ["ETag: \"a\"", "Content-Length: 9"], "updated"), (200, ["X: 1"], "updated"),
    (200, ["ETag: \"b\""], "outdated"), (200, ["ETag: W/\"a\""], "outdated"),
    (200, ["Last-Modified: {-999}"], "updated"), (200, ["Last-Modified: {-998}"], "outdated"),
    (200, ["Content-Length: 10"], "outdated"), (200, ["ETag: \"a\"", "Content-Length: 10"], "outdated"),
    (200, ["ETag: \"a\"", "Cache-Control: no-store"], "forbidden"),
    (404, ["ETag: \"b\""], "unaffected"), (304, ["ETag: \"b\""], "unaffected"),
  ])
  func updateOrOutdate(_ status: Int, _ lines: [String], _ expected: String) {
    let before = stored(["ETag: \"a\"", "Last-Modified: {-999}", "Content-Length: 9", "X: 0"])
    let found = updated(
      before, withHead: response(status, lines + ["Y: 2"]), to: request(method: .head), requestTime: start,
      responseTime: start)
    switch found {
    case .updated(let after):
      #expect(expected == "updated", "RFC 9111 §4.3.5")
      #expect(after.fields.first("Y")?.string == "2")
      #expect(after.fields.first(.contentLength)?.string == "9")
    case .outdated(let after):
      #expect(expected == "outdated", "RFC 9111 §4.3.5")
      #expect(!ReuseTerms(after).freshness(at: start).isFresh)
      #expect(after.fields.first(.etag)?.string == "\"a\"")
    case .forbidden: #expect(expected == "forbidden", "RFC 9111 §5.2.2.5")
    case .unaffected: #expect(expected == "unaffected", "RFC 9111 §4.3.5")
    }
  }
}
