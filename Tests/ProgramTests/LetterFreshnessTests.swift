// How long a response is fresh and how old it is (RFC 9111 §4.2, §5.1, §5.3), against the whole program.
import Testing

@Suite(.larder()) struct LetterFreshnessTests {
  static let hit = Step.stored()
  static let miss = Step.fetched()

  /// §4.2.1: which of the fields gives the lifetime, and how its number is read (§1.2.2, §5.2).
  static let lifetimes: [Row] = [
    twice("9111 §4.2.1 max-age", ["Cache-Control: max-age=6000"], hit),
    twice("9111 §4.2.1 max-age=0", ["Cache-Control: max-age=0"], miss),
    twice("9111 §4.2.1 s-maxage first", ["Cache-Control: max-age=0, s-maxage=6000"], hit),
    twice("9111 §4.2.1 s-maxage first, and shorter", ["Cache-Control: max-age=6000, s-maxage=0"], miss),
    twice(
      "9111 §4.2.1 s-maxage on a line of its own", ["Cache-Control: max-age=6000", "Cache-Control: s-maxage=0"], miss),
    twice("9111 §5.3 max-age before Expires", ["Cache-Control: max-age=6000", "Expires: {-6000}"], hit),
    twice("9111 §5.3 max-age=0 before Expires", ["Cache-Control: max-age=0", "Expires: {+6000}"], miss),
    twice("9111 §5.3 s-maxage before Expires", ["Cache-Control: s-maxage=6000", "Expires: {-6000}"], hit),
    twice("9111 §5.3 Expires in the future", ["Date: {0}", "Expires: {+6000}"], hit),
    twice("9111 §5.3 Expires in the past", ["Date: {0}", "Expires: {-6000}"], miss),
    twice("9111 §4.2.1 Expires at Date", ["Date: {0}", "Expires: {0}"], miss),
    twice("9111 §4.2.1 Expires before a Date that is ahead", ["Date: {+60000}", "Expires: {+30000}"], miss),
    twice("9111 §4.2.1 Expires without Date", ["Expires: {+30000}"], hit),
    twice("9111 §4.2.1 Expires with a Date that is none", ["Date: yesterday", "Expires: {+30000}"], hit),
    twice("9111 §4.2 nothing said, no validator", ["X-Nothing: 1"], miss),
    twice("9111 §1.2.2 2³¹-1", ["Cache-Control: max-age=2147483647"], hit),
    twice("9111 §1.2.2 2³¹", ["Cache-Control: max-age=2147483648"], hit),
    twice("9111 §1.2.2 more than 2³¹", ["Cache-Control: max-age=4294967296"], hit),
    twice("9111 §1.2.2 more than 2⁶⁴", ["Cache-Control: max-age=99999999999999999999999"], hit),
    twice("9111 §1.2.2 zeros before it", ["Cache-Control: max-age=6000"], hit),
    twice("9111 §1.2.2 a sign", ["Cache-Control: max-age=+6000"], miss),
    twice("9111 §1.2.2 below zero", ["Cache-Control: max-age=-6000"], miss),
    twice("9111 §4.2.1 a fraction is no number", ["Cache-Control: max-age=6000.5"], miss),
    twice("9111 §4.2.1 letters", ["Cache-Control: max-age=sixty"], miss),
    twice("9111 §4.2.1 letters after it", ["Cache-Control: max-age=6000s"], miss),
    twice("9111 §4.2.1 nothing after =", ["Cache-Control: max-age="], miss),
    twice("9111 §4.2.1 no =", ["Cache-Control: max-age"], miss),
    twice("9111 §5.2 quoted", ["Cache-Control: max-age=\"6000\""], hit),
    twice("9111 §5.2 single quotes are no quotes", ["Cache-Control: max-age='6000'"], miss),
    twice("9111 §5.2 whitespace before =", ["Cache-Control: max-age =60"], miss),
    twice("9111 §5.2 whitespace after =", ["Cache-Control: max-age= 60"], miss),
    twice("9111 §5.2 case", ["Cache-Control: MAX-Age=6000"], hit),
    twice("9111 §5.2.3 unknown directives", ["Cache-Control: foo, bar=1, baz=\"a, b\", max-age=6000"], hit),
    twice("9110 §5.6.1.2 empty members", ["Cache-Control: ,, ,max-age=6000,,"], hit),
    twice("9110 §5.3 several lines", ["Cache-Control: foo", "X: 1", "Cache-Control: max-age=6000"], hit),
    twice("9110 §5.5 whitespace around the value", ["Cache-Control:   \tmax-age=6000 \t"], hit),
    twice("9111 §4.2.1 two values: the first", ["Cache-Control: max-age=6000, max-age=0"], hit),
    twice("9111 §4.2.1 two values: the first, not the larger", ["Cache-Control: max-age=0, max-age=6000"], miss),
    twice("9111 §4.2.1 two lines: the first", ["Cache-Control: max-age=0", "Cache-Control: max-age=6000"], miss),
    twice("9110 §5.6.4 text in quotes", ["Cache-Control: foo=\"max-age=6000\", max-age=0"], miss),
    twice("9110 §5.6.4 text in quotes after it", ["Cache-Control: max-age=0, foo=\"max-age=6000\""], miss),
    twice("9110 §5.6.4 no-store in quotes", ["Cache-Control: max-age=6000, foo=\"no-store\""], hit),
    twice("9110 §5.6.4 an escaped quote", ["Cache-Control: foo=\"a\\\", no-store\", max-age=6000"], hit),
    twice("9110 §5.6.4 a quote that does not end", ["Cache-Control: max-age=6000, foo=\"bar"], miss),
    twice("9111 §5.2 a name that only begins so", ["Cache-Control: max-age-foo=60"], miss),
  ]
  @Test(arguments: lifetimes) func lifetime(_ row: Row) throws { try play(row) }

  /// RFC 9110 §5.6.7, and §5.3 of RFC 9111: what is no date is in the past.
  static let dates: [Row] = [
    twice("9110 §5.6.7 RFC 850 form", ["Date: {0}", "Expires: {850:+60000}"], hit),
    twice("9110 §5.6.7 asctime form", ["Date: {0}", "Expires: {asctime:+60000}"], hit),
    twice("9110 §5.6.7 RFC 850 form, past", ["Date: {0}", "Expires: {850:-60000}"], miss),
    twice("9110 §5.6.7 asctime form, past", ["Date: {0}", "Expires: {asctime:-60000}"], miss),
    twice("9110 §5.6.7 50 years ahead is the past", ["Date: {0}", "Expires: {850:+1640000000}"], miss),
    twice("9110 §5.6.7 Date in the RFC 850 form", ["Date: {850:-60000}", "Cache-Control: max-age=30000"], miss),
    twice("9110 §5.6.7 beyond 32 bits", ["Date: {0}", "Expires: Sun, 21 Nov 2286 04:46:39 GMT"], hit),
    twice("9110 §5.6.7 the case of names", ["Date: {0}", "Expires: MON, 07 FEB 2107 01:00:00 gmt"], hit),
    twice("9111 §5.3 0", ["Expires: 0"], miss),
    twice("9111 §5.3 -1", ["Expires: -1"], miss),
    twice("9111 §5.3 empty", ["Expires:"], miss),
    twice("9111 §5.3 another zone", ["Expires: Mon, 07 Feb 2107 01:00:00 UTC"], miss),
    twice("9111 §5.3 no comma", ["Expires: Mon 07 Feb 2107 01:00:00 GMT"], miss),
    twice("9111 §5.3 two digits of a year", ["Expires: Mon, 07 Feb 07 01:00:00 GMT"], miss),
    twice("9111 §5.3 more blanks", ["Expires: Mon, 07  Feb  2107 01:00:00 GMT"], miss),
    twice("9111 §5.3 dashes", ["Expires: Mon, 07-Feb-2107 01:00:00 GMT"], miss),
    twice("9111 §5.3 points in the time", ["Expires: Mon, 07 Feb 2107 01.00.00 GMT"], miss),
    twice("9111 §5.3 one digit of an hour", ["Expires: Mon, 07 Feb 2107 1:00:00 GMT"], miss),
    twice("9111 §5.3 a day that is none", ["Expires: Mon, 32 Feb 2107 01:00:00 GMT"], miss),
    twice("9111 §5.3 two lines that disagree", ["Expires: {+60000}", "Expires: {+120000}"], miss),
    twice("9111 §5.3 two lines that agree", ["Expires: {+60000}", "Expires: {+60000}"], hit),
  ]
  @Test(arguments: dates) func date(_ row: Row) throws { try play(row) }

  /// §4.2.3 and §5.1: the age on arrival.
  static let ages: [Row] = [
    twice("9111 §4.2.3 Age below", ["Cache-Control: max-age=6000", "Age: 5900"], .stored(has: ["Age: 5900"])),
    twice("9111 §4.2 Age at the lifetime", ["Cache-Control: max-age=6000", "Age: 6000"], miss),
    twice("9111 §4.2 Age above", ["Cache-Control: max-age=6000", "Age: 6100"], miss),
    twice("9111 §4.2.3 Age counts with Expires", ["Date: {0}", "Expires: {+6000}", "Age: 6100"], miss),
    twice("9111 §4.2.3 Date is the age", ["Date: {-12000}", "Cache-Control: max-age=6000"], miss),
    twice("9111 §4.2.3 the larger: Date", ["Date: {-12000}", "Age: 1000", "Cache-Control: max-age=6000"], miss),
    twice("9111 §4.2.3 the larger: Age", ["Date: {-1000}", "Age: 12000", "Cache-Control: max-age=6000"], miss),
    twice("9111 §4.2.3 a Date ahead is no age", ["Date: {+60000}", "Cache-Control: max-age=6000"], hit),
    twice("9111 §4.2.3 a Date ahead with Expires", ["Date: {+1000}", "Expires: {+2000}", "Age: 1500"], miss),
    twice("9111 §5.1 Age is no number", ["Cache-Control: max-age=6000", "Age: old"], hit),
    twice("9111 §5.1 Age below zero", ["Cache-Control: max-age=6000", "Age: -7000"], hit),
    twice("9111 §5.1 Age is a fraction", ["Cache-Control: max-age=6000", "Age: 7000.0"], hit),
    twice("9111 §5.1 Age is empty", ["Cache-Control: max-age=6000", "Age:"], hit),
    twice("9111 §5.1 Age in quotes", ["Cache-Control: max-age=6000", "Age: \"7000\""], hit),
    twice("9111 §1.2.2 Age beyond 2³¹", ["Cache-Control: max-age=6000", "Age: 2147483649"], miss),
    twice("9111 §1.2.2 Age beyond 2⁶⁴", ["Cache-Control: max-age=6000", "Age: 99999999999999999999999"], miss),
    twice("9111 §1.2.2 both beyond 2³¹", ["Cache-Control: max-age=99999999999", "Age: 99999999999"], miss),
    twice("9111 §5.1 a list: the first", ["Cache-Control: max-age=6000", "Age: 7000, 0"], miss),
    twice("9111 §5.1 a list: the first, not the larger", ["Cache-Control: max-age=6000", "Age: 0, 7000"], hit),
    twice("9111 §5.1 two lines: the first", ["Cache-Control: max-age=6000", "Age: 7000", "Age: 0"], miss),
    twice(
      "9111 §5.1 two lines: the first, not the larger", ["Cache-Control: max-age=6000", "Age: 0", "Age: 7000"], hit),
    twice(
      "9111 §5.1 what is stored has one Age", ["Cache-Control: max-age=6000", "Age: 500, 600"],
      .stored(has: ["Age: 500"])),
  ]
  @Test(arguments: ages) func age(_ row: Row) throws { try play(row) }

  /// §4.2.2: only where nothing is said, and only for some statuses.
  static let heuristics: [Row] = [
    twice("9111 §4.2.2 a tenth", ["Date: {0}", "Last-Modified: {-6000}"], hit),
    Row(
      "9111 §4.2.2 a tenth is over", [["Date: {0}", "Last-Modified: {-6000}", "Age: 601"], ["304"]],
      [.fetched(), .validated(says: ["fwd=stale"])]),
    Row(
      "9111 §4.2.2 at most a day", [["Date: {0}", "Last-Modified: {-9000000}", "Age: 86401"], ["304"]],
      [.fetched(), .validated(says: ["fwd=stale"])]),
    twice("9111 §4.2.2 just modified", ["Date: {0}", "Last-Modified: {0}"], miss),
    twice("9111 §4.2.2 modified in the future", ["Date: {0}", "Last-Modified: {+6000}"], miss),
    twice("9111 §4.2.2 never against max-age", ["Cache-Control: max-age=0", "Last-Modified: {-6000}"], miss),
    twice("9111 §4.2.2 never against Expires", ["Expires: 0", "Last-Modified: {-6000}"], miss),
    Row(
      "9111 §4.2.2 a query changes nothing", [["Date: {0}", "Last-Modified: {-6000}"]],
      [.fetched(path: "?q=1"), .stored(path: "?q=1"), .fetched(path: "?q=2")]),
    Row(
      "9111 §5.2.2.9 public makes any status so",
      [["599", "Date: {0}", "Last-Modified: {-6000}", "Cache-Control: public"]],
      [.fetched(status: 599), .stored(status: 599)]),
  ]
  @Test(arguments: heuristics) func heuristic(_ row: Row) throws { try play(row) }

  static let cacheable = rows(for: [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 451, 501]) { code in
    Row(
      "9110 §15.1 \(code) is heuristically cacheable", [["\(code)", "Date: {0}", "Last-Modified: {-6000}"]],
      [.fetched(status: code), .stored(status: code)])
  }
  @Test(arguments: cacheable) func cacheableStatus(_ row: Row) throws { try play(row) }

  static let others = rows(for: [201, 202, 302, 303, 307, 400, 401, 403, 409, 418, 422, 500, 502, 503, 504, 599]) {
    code in
    Row(
      "9110 §15.1 \(code) is not", [["\(code)", "Date: {0}", "Last-Modified: {-6000}"]],
      [.fetched(status: code), .fetched(status: code)])
  }
  @Test(arguments: others) func otherStatus(_ row: Row) throws { try play(row) }
}
