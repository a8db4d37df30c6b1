// A stored response answers exactly the requests that RFC 9111 §4 lets it answer.
import CachePolicy
import HTTPMessage
import Testing

@Suite struct Reusing {
  struct Row: Sendable {
    let section: String
    let lines: [String]
    let request: [String]
    let after: Int64
    let method: Method
    let expected: ReuseDecision

    init(
      _ section: String, _ lines: [String], _ request: [String], after: Int64 = 10, method: Method = .get,
      _ expected: ReuseDecision
    ) {
      self.section = section
      self.lines = ["Date: {0}"] + lines
      self.request = request
      self.after = after
      self.method = method
      self.expected = expected
    }

    init(
      _ section: String, _ lines: [String], after: Int64 = 10, method: Method = .get, _ expected: ReuseDecision
    ) {
      self.init(section, lines, [], after: after, method: method, expected)
    }
  }

  static let minute = ["Cache-Control: max-age=60"]
  static let rows: [Row] = [
    Row("4", minute, .serve(age: 10, ttl: 50)),
    Row("4", minute, method: .head, .serve(age: 10, ttl: 50)),
    Row("4", minute, method: .post, .forward(.method)),
    Row("4.2", minute, after: 60, .validate(.stale)),
    Row("4.2", ["Age: 30"] + minute, after: 30, .validate(.stale)),
    Row("5.2.2.4", ["Cache-Control: max-age=60, no-cache"], .validate(.noCache)),
    Row("5.2.2.4 with names", ["Cache-Control: max-age=60, no-cache=\"x\""], .serve(age: 10, ttl: 50)),
    Row("5.2.2.4 not with max-stale", ["Cache-Control: no-cache"], ["Cache-Control: max-stale"], .validate(.noCache)),
    Row("5.2.2.2 fresh", ["Cache-Control: max-age=60, must-revalidate"], .serve(age: 10, ttl: 50)),
    Row("5.2.1.4", minute, ["Cache-Control: no-cache"], .validate(.requestNoCache)),
    Row("5.4", minute, ["Pragma: no-cache"], .validate(.requestNoCache)),
    Row("5.2.1.5", minute, ["Cache-Control: no-store"], .serve(age: 10, ttl: 50)),
    Row("5.2.1.1", minute, ["Cache-Control: max-age=9"], .validate(.requestMaxAge)),
    Row("5.2.1.1", minute, ["Cache-Control: max-age=10"], .serve(age: 10, ttl: 50)),
    Row("5.2.1.1 zero", minute, ["Cache-Control: max-age=0"], after: 0, .validate(.requestMaxAge)),
    Row("5.2.1.1 does not make it fresh", minute, ["Cache-Control: max-age=900"], after: 61, .validate(.stale)),
    Row("5.2.1.3", minute, ["Cache-Control: min-fresh=50"], .serve(age: 10, ttl: 50)),
    Row("5.2.1.3", minute, ["Cache-Control: min-fresh=51"], .validate(.requestMinFresh)),
    Row("5.2.1.2", minute, ["Cache-Control: max-stale"], after: 900, .serve(age: 900, ttl: -840)),
    Row("5.2.1.2", minute, ["Cache-Control: max-stale=40"], after: 100, .serve(age: 100, ttl: -40)),
    Row("5.2.1.2", minute, ["Cache-Control: max-stale=39"], after: 100, .validate(.stale)),
    Row("5.2.1.2 zero", minute, ["Cache-Control: max-stale=0"], after: 60, .serve(age: 60, ttl: 0)),
    Row(
      "5.2.1.2 with max-age", minute, ["Cache-Control: max-stale, max-age=80"], after: 100, .validate(.requestMaxAge)),
    Row(
      "5.2.2.2", ["Cache-Control: max-age=60, must-revalidate"], ["Cache-Control: max-stale"], after: 61,
      .validate(.stale)),
    Row(
      "5.2.2.8", ["Cache-Control: max-age=60, proxy-revalidate"], ["Cache-Control: max-stale"], after: 61,
      .validate(.stale)),
    Row("5.2.2.10", ["Cache-Control: s-maxage=60"], ["Cache-Control: max-stale"], after: 61, .validate(.stale)),
    Row("5.2.1.7", minute, ["Cache-Control: only-if-cached"], .serve(age: 10, ttl: 50)),
    Row("5.2.1.7", minute, ["Cache-Control: only-if-cached"], after: 61, .onlyIfCachedUnsatisfied),
    Row("5.2.1.7", minute, ["Cache-Control: only-if-cached, no-cache"], .onlyIfCachedUnsatisfied),
    Row(
      "5.2.1.7 with max-stale", minute, ["Cache-Control: only-if-cached, max-stale=5"], after: 61,
      .serve(age: 61, ttl: -1)),
    Row(
      "8246 2", ["Cache-Control: max-age=60, immutable"], ["Cache-Control: max-age=0"], .serve(age: 10, ttl: 50)),
    Row(
      "8246 2", ["Cache-Control: max-age=60, immutable"], ["Cache-Control: no-cache"], .validate(.requestNoCache)),
    Row(
      "8246 2 stale", ["Cache-Control: max-age=60, immutable"], ["Cache-Control: max-age=0"], after: 60,
      .validate(.requestMaxAge)),
    Row("4.2.2", ["Last-Modified: {-1000}"], after: 99, .serve(age: 99, ttl: 1)),
    Row("4.2.2", ["Last-Modified: {-1000}"], after: 100, .validate(.stale)),
  ]

  @Test(arguments: rows) func followsTheRule(_ row: Row) {
    let decision = reuse(
      ReuseTerms(stored(row.lines)), for: request(row.request, method: row.method), now: start + row.after)
    #expect(decision == row.expected, "RFC 9111 §\(row.section)")
  }

  @Test(arguments: ValidationReason.allCases) func saysWhoseWishAValidationIs(_ reason: ValidationReason) {
    let isClients = reason.rawValue.hasPrefix("request")
    #expect(reason.forwardReason == (isClients ? .request : .stale), "RFC 9211 §2.2")
  }
}

@Suite struct StaleReusing {
  struct Row: Sendable {
    let section: String
    let directives: String
    let request: [String]
    let occasion: StaleOccasion
    let expected: Bool

    init(
      _ section: String, _ directives: String, _ request: [String], _ occasion: StaleOccasion, _ expected: Bool
    ) {
      self.section = section
      self.directives = directives
      self.request = request
      self.occasion = occasion
      self.expected = expected
    }

    init(_ section: String, _ directives: String, _ occasion: StaleOccasion, _ expected: Bool) {
      self.init(section, directives, [], occasion, expected)
    }
  }

  /// All are stale by 40 seconds.
  static let rows: [Row] = [
    Row("5861 3", "stale-while-revalidate=40", .revalidating, true),
    Row("5861 3", "stale-while-revalidate=39", .revalidating, false),
    Row("5861 3", "stale-while-revalidate=x", .revalidating, false),
    Row("5861 3", "stale-if-error=40", .revalidating, false),
    Row("5861 4", "stale-if-error=40", .error, true),
    Row("5861 4", "stale-if-error=39", .error, false),
    Row("5861 4", "stale-while-revalidate=40", .error, false),
    Row("5861 4 of the request", "foo", ["Cache-Control: stale-if-error=40"], .error, true),
    Row("5861 4 of the request", "foo", ["Cache-Control: stale-if-error=39"], .error, false),
    Row("9111 4.2.4", "foo", .disconnected, true),
    Row("9111 4.2.4", "must-revalidate, stale-if-error=99", .error, false),
    Row("9111 4.2.4", "proxy-revalidate, stale-if-error=99", .error, false),
    Row("9111 4.2.4", "no-cache, stale-if-error=99", .error, false),
    Row("9111 5.2.2.10", "s-maxage=60, stale-if-error=99", .error, false),
    Row("9111 5.2.2.2", "must-revalidate", .disconnected, false),
    Row("9111 5.2.1.4", "stale-if-error=99", ["Cache-Control: no-cache"], .error, false),
    Row("9111 5.2.1 advice, where nobody can be asked", "foo", ["Cache-Control: no-cache"], .disconnected, true),
    Row("9111 5.2.1.1", "stale-while-revalidate=99", ["Cache-Control: max-age=60"], .revalidating, false),
    Row("9111 5.2.1.3", "stale-while-revalidate=99", ["Cache-Control: min-fresh=1"], .revalidating, false),
  ]

  @Test(arguments: rows) func followsTheRule(_ row: Row) {
    let response = stored(["Date: {0}", "Cache-Control: max-age=60, \(row.directives)"])
    let found = mayServeStale(ReuseTerms(response), for: request(row.request), on: row.occasion, now: start + 100)
    #expect(found == row.expected, "RFC \(row.section)")
  }

  /// RFC 9111 §4.2.4: by configuration, where neither response nor request say anything.
  @Test(
    arguments: [
      ("foo", 40, true), ("foo", 39, false), ("stale-if-error=39", 99, false), ("stale-if-error=40", 1, true),
      ("must-revalidate", 99, false),
    ] as [(String, Int64, Bool)])
  func followsTheSetting(_ directives: String, _ seconds: Int64, _ expected: Bool) {
    let response = stored(["Date: {0}", "Cache-Control: max-age=60, \(directives)"])
    let rules = CacheRules(staleIfError: seconds)
    #expect(mayServeStale(ReuseTerms(response, rules: rules), for: request(), on: .error, now: start + 100) == expected)
  }
}
