// Age and lifetime are what RFC 9111 §4.2 computes, for origins and caches of any quality.
import CachePolicy
import HTTPMessage
import Testing

@Suite struct Ages {
  struct Row: Sendable {
    let what: String
    let lines: [String]
    let delay: Int64
    let resident: Int64
    let age: Int64

    init(_ what: String, _ lines: [String], delay: Int64 = 0, resident: Int64 = 0, _ age: Int64) {
      self.what = what
      self.lines = lines
      self.delay = delay
      self.resident = resident
      self.age = age
    }
  }

  static let rows: [Row] = [
    Row("fresh from the origin", ["Date: {0}"], 0),
    Row("resident time", ["Date: {0}"], resident: 30, 30),
    Row("apparent age", ["Date: {-20}"], 20),
    Row("apparent age and resident time", ["Date: {-20}"], resident: 5, 25),
    Row("a Date in the future is no negative age", ["Date: {500}"], resident: 5, 5),
    Row("no Date", [], resident: 5, 5),
    Row("an unreadable Date", ["Date: yesterday"], resident: 5, 5),
    Row("Age", ["Date: {0}", "Age: 100"], resident: 5, 105),
    Row("Age and delay", ["Date: {0}", "Age: 100"], delay: 3, resident: 5, 108),
    Row("delay alone", ["Date: {0}"], delay: 3, 3),
    Row("the larger of both ways", ["Date: {-200}", "Age: 100"], delay: 3, resident: 5, 205),
    Row("a clock put back between request and response", ["Date: {0}"], delay: -50, 0),
    Row("a clock put back since", ["Date: {-20}"], resident: -1000, 20),
    Row("5.1 the first member", ["Date: {0}", "Age: 100, 5"], 100),
    Row("5.1 the first line", ["Date: {0}", "Age: 0", "Age: 7200"], 0),
    Row("5.1 not a number", ["Date: {0}", "Age: abc"], 0),
    Row("5.1 negative", ["Date: {0}", "Age: -5"], 0),
    Row("5.1 fraction", ["Date: {0}", "Age: 7200.0"], 0),
    Row("5.1 empty", ["Date: {0}", "Age: "], 0),
    Row("1.2.2 too large", ["Date: {0}", "Age: 99999999999999999999"], resident: 5, 2_147_483_648),
    Row("Date of 1970", ["Date: Thu, 01 Jan 1970 00:00:00 GMT"], 784_111_777),
  ]

  @Test(arguments: rows) func areCorrected(_ row: Row) {
    let response = StoredResponse(
      storing: response(200, row.lines), to: request(), requestTime: start + -row.delay, responseTime: start)
    #expect(ReuseTerms(response).freshness(at: start + row.resident).age == row.age, "RFC 9111 §4.2.3: \(row.what)")
  }
}

@Suite struct Lifetimes {
  struct Row: Sendable {
    let section: String
    let status: Int
    let lines: [String]
    let lifetime: Int64
    let source: Freshness.Source

    init(_ section: String, _ lines: [String], _ lifetime: Int64, _ source: Freshness.Source, status: Int = 200) {
      self.section = section
      self.status = status
      self.lines = lines
      self.lifetime = lifetime
      self.source = source
    }
  }

  static let rows: [Row] = [
    Row("4.2.1", ["Cache-Control: max-age=60"], 60, .maxAge),
    Row("4.2.1", ["Cache-Control: max-age=60, s-maxage=5"], 5, .sMaxAge),
    Row("4.2.1", ["Cache-Control: s-maxage=600", "Cache-Control: max-age=1"], 600, .sMaxAge),
    Row("4.2.1", ["Date: {0}", "Expires: {60}"], 60, .expires),
    Row("4.2.1 Date decides, not our clock", ["Date: {-500}", "Expires: {-440}"], 60, .expires),
    Row("4.2.1 without Date, receipt decides", ["Expires: {60}"], 60, .expires),
    Row("5.3 max-age wins", ["Date: {0}", "Expires: {60}", "Cache-Control: max-age=5"], 5, .maxAge),
    Row("5.3 max-age wins over an invalid one", ["Expires: 0", "Cache-Control: max-age=5"], 5, .maxAge),
    Row("4.2.1 an invalid max-age still wins", ["Date: {0}", "Expires: {60}", "Cache-Control: max-age=x"], 0, .maxAge),
    Row("5.3 zero", ["Date: {0}", "Expires: 0"], 0, .expires),
    Row("5.3 minus one", ["Date: {0}", "Expires: -1"], 0, .expires),
    Row("5.3 empty", ["Date: {0}", "Expires: "], 0, .expires),
    Row("5.3 equal to Date", ["Date: {0}", "Expires: {0}"], 0, .expires),
    Row("5.3 past", ["Date: {0}", "Expires: {-60}"], 0, .expires),
    Row("4.2 case of the names", ["Date: {0}", "Expires: sun, 06 NOV 1994 08:50:37 gmt"], 60, .expires),
    Row("4.2 another zone", ["Date: {0}", "Expires: Sun, 06 Nov 1994 08:50:37 UTC"], 0, .expires),
    Row("5.6.7 of 9110: RFC 850", ["Date: {0}", "Expires: Sunday, 06-Nov-94 08:50:37 GMT"], 60, .expires),
    Row("5.6.7 of 9110: asctime", ["Date: {0}", "Expires: Sun Nov  6 08:50:37 1994"], 60, .expires),
    Row("4.2.1 twice the same", ["Date: {0}", "Expires: {60}", "Expires: {60}"], 60, .expires),
    Row("4.2.1 twice different", ["Date: {0}", "Expires: {60}", "Expires: {70}"], 0, .expires),
    Row("5.3 the far future", ["Date: {0}", "Expires: Fri, 31 Dec 9999 23:59:59 GMT"], 1 << 31, .expires),
    Row("4.2.2", ["Date: {0}", "Last-Modified: {-1000}"], 100, .heuristic),
    Row("4.2.2 at most a day", ["Date: {0}", "Last-Modified: {-99999999}"], 86_400, .heuristic),
    Row("4.2.2 Last-Modified in the future", ["Date: {0}", "Last-Modified: {50}"], 0, .heuristic),
    Row("4.2.2 two Last-Modified", ["Last-Modified: {-1000}", "Last-Modified: {-9000}"], 0, .unknown),
    Row("4.2.2 nothing to go by", ["Date: {0}"], 0, .unknown),
    Row("4.2.2 never beside explicit freshness", ["Expires: 0", "Last-Modified: {-1000}"], 0, .expires),
    Row("4.2.2 a 404", ["Date: {0}", "Last-Modified: {-1000}"], 100, .heuristic, status: 404),
    Row("4.2.2 not a 302", ["Date: {0}", "Last-Modified: {-1000}"], 0, .unknown, status: 302),
    Row("4.2.2 a public 302", ["Last-Modified: {-1000}", "Cache-Control: public"], 100, .heuristic, status: 302),
    Row("4.2.2 not a 599", ["Date: {0}", "Last-Modified: {-1000}"], 0, .unknown, status: 599),
  ]

  @Test(arguments: rows) func followTheFirstRuleThatMatches(_ row: Row) {
    let state = ReuseTerms(stored(row.lines, status: row.status)).freshness(at: start)
    #expect(state.lifetime == row.lifetime, "RFC 9111 §\(row.section)")
    #expect(state.source == row.source, "RFC 9111 §\(row.section)")
  }

  @Test func endWhenTheAgeReachesThem() {
    let response = stored(["Date: {0}", "Cache-Control: max-age=60"])
    #expect(ReuseTerms(response).freshness(at: start + 59).isFresh)
    #expect(!ReuseTerms(response).freshness(at: start + 60).isFresh, "RFC 9111 §4.2: lifetime > age")
    #expect(ReuseTerms(response).freshness(at: start + 70).timeToLive == -10)
  }

  @Test func followTheOperatorsHeuristics() {
    let response = stored(["Date: {0}", "Last-Modified: {-1000}"])
    let none = CacheRules(heuristicFraction: 0, heuristicMaximum: 100)
    #expect(ReuseTerms(response, rules: none).freshness(at: start).lifetime == 0)
    let short = CacheRules(heuristicFraction: 0.5, heuristicMaximum: 100)
    #expect(ReuseTerms(response, rules: short).freshness(at: start).lifetime == 100)
  }
}
