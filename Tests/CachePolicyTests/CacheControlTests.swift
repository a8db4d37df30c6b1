// Cache-Control is read as RFC 9111 demands, however it is written.
import CachePolicy
import HTTPMessage
import Testing

@Suite struct ResponseDirectives {
  struct Row: Sendable {
    let section: String
    let lines: [String]
    let maxAge: Int64?
    let sMaxAge: Int64?

    init(_ section: String, _ lines: [String], maxAge: Int64? = nil, sMaxAge: Int64? = nil) {
      self.section = section
      self.lines = lines.map { "Cache-Control: " + $0 }
      self.maxAge = maxAge
      self.sMaxAge = sMaxAge
    }
  }

  static let rows: [Row] = [
    Row("5.2", ["max-age=60"], maxAge: 60),
    Row("5.2 case", ["MaX-aGe=60"], maxAge: 60),
    Row("5.2 quoted", ["max-age=\"60\""], maxAge: 60),
    Row("5.2 escaped", ["max-age=\"6\\0\""], maxAge: 60),
    Row("5.2 single quotes are no quotes", ["max-age='60'"], maxAge: 0),
    Row("1.2.2 leading zeros", ["max-age=0060"], maxAge: 60),
    Row("1.2.2 2^31", ["max-age=2147483648"], maxAge: 2_147_483_648),
    Row("1.2.2 beyond 2^31", ["max-age=2147483649"], maxAge: 2_147_483_648),
    Row("1.2.2 beyond 2^64", ["max-age=99999999999999999999999"], maxAge: 2_147_483_648),
    Row("4.2.1 negative is invalid", ["max-age=-60"], maxAge: 0),
    Row("4.2.1 plus is invalid", ["max-age=+60"], maxAge: 0),
    Row("4.2.1 fraction is invalid", ["max-age=60.0"], maxAge: 0),
    Row("4.2.1 letters are invalid", ["max-age=60s"], maxAge: 0),
    Row("4.2.1 empty is invalid", ["max-age="], maxAge: 0),
    Row("4.2.1 no argument is invalid", ["max-age"], maxAge: 0),
    Row("4.2.1 space before =", ["max-age =60"], maxAge: 0),
    Row("4.2.1 space after =", ["max-age= 60"], maxAge: 0),
    Row("4.2.1 text after the quotes", ["max-age=\"60\"0"], maxAge: 0),
    Row("4.2.1 the first of two, one line", ["max-age=1, max-age=3600"], maxAge: 1),
    Row("4.2.1 the first of two, two lines", ["max-age=3600", "max-age=1"], maxAge: 3600),
    Row("4.2.1 the first of two, even if invalid", ["max-age=x, max-age=60"], maxAge: 0),
    Row("5.2.3 unknown directives", ["foo, max-age=60, bar=\"baz\", qux=1"], maxAge: 60),
    Row("5.6.1 of 9110: empty members", [",, max-age=60 ,,"], maxAge: 60),
    Row("5.2 in a string, before", ["ext=\"max-age=3600\", max-age=1"], maxAge: 1),
    Row("5.2 in a string, after", ["max-age=1, ext=\"max-age=3600\""], maxAge: 1),
    Row("5.2 in a string, with a comma", ["ext=\"a, max-age=3600\""]),
    Row("5.2 in a string, with an escaped quote", ["ext=\"\\\", max-age=3600\", max-age=1"], maxAge: 1),
    Row("5.2.2.10", ["s-maxage=5, max-age=60"], maxAge: 60, sMaxAge: 5),
    Row("5.2.2.10 invalid", ["s-maxage=abc, max-age=60"], maxAge: 60, sMaxAge: 0),
    Row("5.2 not a prefix", ["max-ages=60, xmax-age=60"]),
  ]

  @Test(arguments: rows) func giveSeconds(_ row: Row) {
    let control = ResponseCacheControl(fields(row.lines))
    #expect(control.maxAge == row.maxAge, "RFC 9111 §\(row.section)")
    #expect(control.sMaxAge == row.sMaxAge, "RFC 9111 §\(row.section)")
  }

  @Test func areAllKept() {
    let control = ResponseCacheControl(
      fields([
        "Cache-Control: No-Store, PUBLIC, must-revalidate", "Cache-Control: proxy-revalidate, must-understand",
        "Cache-Control: no-transform, immutable, stale-while-revalidate=3, stale-if-error=\"4\"",
      ]))
    #expect(control.noStore && control.isPublic && control.mustRevalidate && control.proxyRevalidate)
    #expect(control.mustUnderstand && control.noTransform && control.immutable)
    #expect(control.staleWhileRevalidate == 3 && control.staleIfError == 4)
    #expect(control.noCache == nil && control.isPrivate == nil && !control.isUnreadable)
    let none = ResponseCacheControl(fields(["Cache-Control: no-storm, publicly, x-no-cache"]))
    #expect(none == ResponseCacheControl(Fields()))
  }

  @Test(
    arguments: [
      ("no-cache", true, []), ("no-cache=\"\"", true, []), ("no-cache=", true, []), ("no-cache=\"a b\"", true, []),
      ("no-cache=\"a\"", false, ["a"]), ("no-cache=a", false, ["a"]), ("no-cache=\"A, b ,c\"", false, ["a", "b", "c"]),
      ("no-cache=\"a\", no-cache=\"b\"", false, ["a", "b"]), ("no-cache=\"a\", no-cache", true, []),
      ("no-cache, no-cache=\"a\"", true, []), ("no-cache=\"cache-control\"", true, ["cache-control"]),
      ("no-cache=\"vary\"", true, ["vary"]), ("max-age=1", false, []),
    ] as [(String, Bool, [String])])
  func mayNameFields(_ text: String, _ isWhole: Bool, _ names: [String]) {
    // RFC 9111 §5.2.2.4 and §5.2.2.7 have the same grammar.
    let noCache = ResponseCacheControl(fields(["Cache-Control: \(text)"]))
    #expect(noCache.requiresValidation == isWhole)
    #expect(noCache.unstorableFields.map(\.lowercased) == names)
    let asPrivate = text.replacing("no-cache", with: "private")
    let control = ResponseCacheControl(fields(["Cache-Control: \(asPrivate)"]))
    #expect(control.forbidsSharedStoring == isWhole)
    #expect(control.unstorableFields.map(\.lowercased) == names)
  }

  @Test(arguments: [
    ("ext=\"a, no-store", true), ("ext=\"a\\\", no-store", true), ("ext=a\"b, no-store", true),
    ("ext=\"a\"b, no-store", true), ("ext=a\"b, no-store\"", true), ("\"no-store\"", true),
    ("ext=\"a\", no-store", false), ("ext=\"a\\\"b\"", false), ("ext=\"a\\\\\"", false),
  ])
  func areUnreadableBehindAnOpenQuote(_ text: String, _ isUnreadable: Bool) {
    #expect(ResponseCacheControl(fields(["Cache-Control: \(text)"])).isUnreadable == isUnreadable)
  }
}

@Suite struct RequestDirectives {
  @Test func areAllRead() {
    let asked = RequestCacheControl(
      fields(["Cache-Control: MAX-AGE=5, min-fresh=\"6\", max-stale=7, no-store, only-if-cached, no-transform"]))
    #expect(asked.maxAge == 5 && asked.minFresh == 6 && asked.maxStale == .seconds(7))
    #expect(asked.noStore && asked.onlyIfCached && asked.noTransform && !asked.noCache)
  }

  @Test(
    arguments: [
      (["max-age=9, max-age=5"], 5, nil, nil), (["max-age=x"], 0, nil, nil), (["max-age"], 0, nil, nil),
      (["min-fresh=1, min-fresh=2"], nil, 2, nil), (["min-fresh=x"], nil, 1 << 31, nil),
      (["max-stale"], nil, nil, .any), (["max-stale, max-stale=3"], nil, nil, .seconds(3)),
      (["max-stale=3, max-stale"], nil, nil, .seconds(3)), (["max-stale=9", "max-stale=3"], nil, nil, .seconds(3)),
      (["max-stale=x"], nil, nil, .seconds(0)),
    ] as [([String], Int64?, Int64?, RequestCacheControl.MaxStale?)])
  func restrictWhenInDoubt(
    _ lines: [String], _ maxAge: Int64?, _ minFresh: Int64?, _ maxStale: RequestCacheControl.MaxStale?
  ) {
    let asked = RequestCacheControl(fields(lines.map { "Cache-Control: \($0)" }))
    #expect(asked.maxAge == maxAge)
    #expect(asked.minFresh == minFresh)
    #expect(asked.maxStale == maxStale)
  }

  @Test(arguments: [
    (["Pragma: no-cache"], true), (["Pragma: foo, No-Cache"], true), (["Pragma: foo"], false),
    (["Pragma: no-cache", "Cache-Control: max-age=60"], false),
    (["Pragma: no-cache", "Cache-Control: no-cache"], true),
  ])
  func includePragmaOnlyAlone(_ lines: [String], _ noCache: Bool) {
    #expect(RequestCacheControl(fields(lines)).noCache == noCache, "RFC 9111 §5.4")
  }
}
