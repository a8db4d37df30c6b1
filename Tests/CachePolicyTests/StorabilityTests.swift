// What may be stored is stored, and every refusal has its reason.
import CachePolicy
import Glibc
import HTTPMessage
import Testing

@Suite struct Storing {
  struct Row: Sendable {
    let section: String
    let method: Method
    let request: [String]
    let status: Int
    let lines: [String]
    let refusal: RefusalReason?

    init(
      _ section: String, _ refusal: RefusalReason?, _ lines: [String], status: Int = 200, request: [String] = [],
      method: Method = .get
    ) {
      self.section = section
      self.method = method
      self.request = request
      self.status = status
      self.lines = lines
      self.refusal = refusal
    }

    init(_ section: String, _ lines: [String], status: Int = 200, request: [String] = []) {
      self.init(section, nil, lines, status: status, request: request)
    }
  }

  /// Why a response that is received at `start` may not be stored; nil where it may.
  private func refusal(
    of response: ResponseHead, to asked: RequestHead = request(), rules: CacheRules = .standard
  ) -> RefusalReason? {
    switch storing(response, to: asked, requestTime: start, responseTime: start, rules: rules) {
    case .store: nil
    case .refuse(let reason): reason
    }
  }

  static let fresh = "Cache-Control: max-age=60"
  static let range = "Range: bytes=0-9"

  static let rows: [Row] = [
    Row("9111 3", [fresh]),
    Row("9111 3", ["Expires: {60}"]),
    Row("9111 3", ["Cache-Control: s-maxage=60"]),
    Row("9111 3 method", .method, [fresh], method: .post),
    Row("9111 3 method", .method, [fresh], method: .head),
    Row("9111 3 method", .method, [fresh], method: .options),
    Row("9110 9.3.1", .requestBody, [fresh], request: ["Content-Length: 5"]),
    Row("9110 9.3.1", .requestBody, [fresh], request: ["Transfer-Encoding: chunked"]),
    Row("9110 9.3.1 nothing is no content", [fresh], request: ["Content-Length: 0"]),
    Row("9111 5.2.1.5", .requestNoStore, [fresh], request: ["Cache-Control: no-store"]),
    Row("9111 5.2.2.5", .noStore, ["Cache-Control: max-age=60, no-store"]),
    Row("9111 5.2.2.5", .noStore, ["Cache-Control: max-age=60", "Cache-Control: nO-StOrE"]),
    Row("9111 5.2.2.7", .isPrivate, ["Cache-Control: private, max-age=60"]),
    Row("9111 5.2.2.7 with names", ["Cache-Control: private=\"set-cookie\", max-age=60"]),
    Row("9111 5.2.2.7 no list", .isPrivate, ["Cache-Control: private=\"\", max-age=60"]),
    Row("9111 5.2.2.7 essential", .isPrivate, ["Cache-Control: private=\"vary\", max-age=60"]),
    Row("9111 5.2.2.4 with validator", ["Cache-Control: no-cache", "ETag: \"a\""]),
    Row("9111 5.2.2.4 without", .notReusable, ["Cache-Control: no-cache, max-age=60"]),
    Row("9111 5.2 open quote", .cacheControlUnreadable, ["Cache-Control: max-age=60, a=\"b"]),
    Row("9111 3.5", .authorization, [fresh], request: ["Authorization: Basic eA=="]),
    Row("9111 3.5", ["Cache-Control: public, max-age=60"], request: ["Authorization: Basic eA=="]),
    Row("9111 3.5", ["Cache-Control: must-revalidate, max-age=60"], request: ["Authorization: Basic eA=="]),
    Row("9111 3.5", ["Cache-Control: s-maxage=60"], request: ["Authorization: Basic eA=="]),
    Row("9111 3.5", .authorization, ["Cache-Control: proxy-revalidate, max-age=60"], request: ["Authorization: x"]),
    Row("9111 4.1", .varyStar, [fresh, "Vary: *"]),
    Row("9111 4.1", .varyStar, [fresh, "Vary: Foo", "Vary: , *"]),
    Row("9111 4.1", .varyUnreadable, [fresh, "Vary: foo bar"]),
    Row("9111 4.1", [fresh, "Vary: Foo, Bar"]),
    Row("9111 5.2.2.3", ["Cache-Control: max-age=60, no-store, must-understand"]),
    Row("9111 5.2.2.3", .mustUnderstand, ["Cache-Control: max-age=60, must-understand"], status: 299),
    Row("9111 5.2.2.3", .mustUnderstand, ["Cache-Control: max-age=60, no-store, must-understand"], status: 499),
    Row("9111 3 last note", .notReusable, ["Cache-Control: max-age=0"]),
    Row("9111 3 last note", .notReusable, ["Date: {0}"]),
    Row("9111 4.2.4 stale on arrival may serve max-stale", ["Date: {0}", "Age: 100", fresh]),
    Row("5861 4 stale on arrival may serve errors", ["Cache-Control: max-age=0, stale-if-error=9"]),
    Row("9111 4.3 stale but can be validated", ["Cache-Control: max-age=0", "ETag: W/\"a\""]),
    Row("9111 4.3 stale but can be validated", ["Expires: 0", "Last-Modified: {-9}"]),
    Row("9110 15.1", ["Last-Modified: {-1000}"]),
    Row("6265 3: Set-Cookie says nothing about caching", [fresh, "Set-Cookie: a=b"]),
    Row("9111 3.3", [fresh, "Content-Range: bytes 0-9/100"], status: 206, request: [range]),
    Row("9111 3.3 unknown total", [fresh, "Content-Range: bytes 0-9/*"], status: 206, request: [range]),
    Row("9111 3.3", .partialUnasked, [fresh, "Content-Range: bytes 0-9/100"], status: 206),
    Row("9111 3.3", .partialUnreadable, [fresh], status: 206, request: [range]),
    Row("9111 3.3", .partialUnreadable, [fresh, "Content-Range: pages 1-2/9"], status: 206, request: [range]),
    Row("9111 3.3", .partialUnreadable, [fresh, "Content-Range: bytes */100"], status: 206, request: [range]),
    Row(
      "9111 3.3", .partialUnreadable, [fresh, "Content-Range: bytes 0-9/100", "Content-Range: bytes 0-8/100"],
      status: 206, request: [range]),
    Row(
      "9110 14.6", .partialUnreadable, [fresh, "Content-Type: multipart/byteranges; boundary=x"], status: 206,
      request: [range]),
  ]

  @Test(arguments: rows) func followsTheRule(_ row: Row) {
    let found = refusal(of: response(row.status, row.lines), to: request(row.request, method: row.method))
    #expect(found == row.refusal, "RFC \(row.section): \(row.lines)")
  }

  /// RFC 9110 §9.3.3.
  @Test(arguments: [
    (200, ["Cache-Control: max-age=60", "Content-Location: /"], true),
    (200, ["Expires: {9}", "Content-Location: http://h/"], true),
    (200, ["Expires: {9}", "Content-Location: http://h/#part"], true),
    (201, ["Cache-Control: max-age=60", "Content-Location: /"], false),
    (200, ["Cache-Control: max-age=60"], false),
    (200, ["Last-Modified: {-9000}", "Content-Location: /"], false),
    (200, ["Cache-Control: max-age=60", "Content-Location: /x"], false),
    (200, ["Cache-Control: max-age=60", "Content-Location: http://other/"], false),
    (200, ["Cache-Control: max-age=60", "Content-Location: /", "Content-Location: /"], false),
  ])
  func aPostMayAnswerAGet(_ status: Int, _ lines: [String], _ expected: Bool) throws {
    let target = try target("http://h/")
    #expect(answersLaterGet(response(status, lines), to: .post, target: target) == expected)
    #expect(!answersLaterGet(response(status, lines), to: .put, target: target))
  }

  /// RFC 9111 §7.3, RFC 9213 §2.2: what the rules of one cache change.
  @Test func dependsOnTheRules() {
    let withCookie = response(200, [Self.fresh, "Set-Cookie: a=b"])
    let strict = CacheRules(storesSetCookie: false)
    #expect(refusal(of: withCookie, rules: strict) == .setCookie)
    let targeted = CacheRules(targetedFields: ["CDN-Cache-Control"])
    let both = response(200, ["CDN-Cache-Control: max-age=60", "Cache-Control: no-store"])
    #expect(refusal(of: both, rules: targeted) == nil)
    #expect(refusal(of: both) == .noStore)
    let expired = response(200, ["CDN-Cache-Control: x", "Expires: {60}"])
    #expect(refusal(of: expired, rules: targeted) == .notReusable)
  }

  /// RFC 9111 §5.2.2.4, §5.2.2.7.
  @Test func keepsApartWhatIsItsClientsAlone() {
    let named = [
      "Cache-Control: private=\"set-cookie\", no-cache=\"a, keep-alive\"", "Set-Cookie: x=y", "A: 1", "B: 2",
    ]
    let found = unstorableFields(of: response(200, named + ["Keep-Alive: 1"]))
    #expect(
      found.map(\.name.lowercased) == ["set-cookie", "a"] || found.map(\.name.lowercased) == ["a", "set-cookie"])
    #expect(unstorableFields(of: response(200, [Self.fresh, "A: 1"])).isEmpty)
  }

  /// With explicit freshness, without any but with a heuristic, and never.
  @Test(arguments: [
    (200, true, true), (201, true, false), (203, true, true), (204, true, true), (206, false, false),
    (299, true, false), (300, true, true), (301, true, true), (302, true, false), (303, true, false),
    (304, false, false), (307, true, false), (308, true, true), (400, true, false), (401, true, false),
    (403, true, false), (404, true, true), (405, true, true), (407, false, false), (410, true, true),
    (412, false, false), (414, true, true), (416, false, false), (428, false, false), (429, false, false),
    (431, false, false), (451, true, true), (499, true, false), (500, true, false), (501, true, true),
    (502, true, false), (503, true, false), (504, true, false), (511, false, false), (599, true, false),
    (103, false, false), (999, true, false),
  ])
  func dependsOnTheStatus(_ status: Int, _ explicit: Bool, _ heuristic: Bool) {
    let withAge = refusal(of: response(status, [Self.fresh]))
    #expect((withAge == nil) == explicit, "RFC 9111 §3, status \(status)")
    let without = refusal(of: response(status, ["Last-Modified: {-9000}"]))
    #expect((without == nil) == heuristic, "RFC 9111 §4.2.2, status \(status)")
  }

  @Test func keepsWhatMayBeKept() {
    let lines = [
      "Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5", "Transfer-Encoding: chunked", "Trailer: X",
      "Proxy-Authenticate: Basic", "Proxy-Authentication-Info: x", "Upgrade: h2c", "A: 1", "B: 2", "C: 3", "Age: 7",
      "Cache-Control: max-age=60, no-cache=\"a\", private=\"B\"", "X-Unknown: kept", "Set-Cookie: a=b", "Date: {-7}",
    ]
    let kept = stored(lines).fields.map(\.name.lowercased)
    #expect(kept == ["c", "age", "cache-control", "x-unknown", "set-cookie", "date"], "RFC 9111 §3.1")
  }

  @Test(
    arguments: [
      ("bytes 0-9/100", "100"), ("bytes 0-9/*", nil),
    ] as [(String, String?)])
  func makesA206AnIncomplete200(_ range: String, _ length: String?) {
    let partial = stored(["Content-Range: \(range)", "Content-Length: 10", "ETag: \"a\""], status: 206)
    #expect(partial.status == 200 && partial.reason == "OK", "RFC 9111 §3.3")
    #expect(!partial.fields.contains(.contentRange))
    #expect(partial.fields.first(.contentLength)?.string == length)
  }

  @Test func fillsInTheDate() {
    #expect(stored(["ETag: \"a\""]).fields.first(.date) == HTTPDate.format(start), "RFC 9110 §6.6.1")
  }

  @Test func spellsReasonsAsTokens() {
    for reason in RefusalReason.allCases {
      #expect(reason.rawValue.utf8.allSatisfy { $0 == UInt8(ascii: "-") || ($0 >= 97 && $0 <= 122) })
    }
  }

  /// Who reads a reason in Cache-Status finds it there.
  @Test(arguments: RefusalReason.allCases) func theReadmeNamesEveryReason(_ reason: RefusalReason) throws {
    let path = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/README.md"
    let file = try #require(fopen(path, "r"), "\(path) is missing")
    defer { fclose(file) }
    var text = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&text, 1, text.count, file)
    #expect(String(decoding: text[..<count], as: UTF8.self).contains("`\(reason.rawValue)`"))
  }
}
