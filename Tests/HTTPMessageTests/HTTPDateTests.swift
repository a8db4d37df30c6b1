// Dates (RFC 9110 §5.6.7).

import HTTPMessage
import Testing

@Suite struct HTTPDateTests {
  /// 2026-03-01T00:00:00Z
  static let now = Timestamp(seconds: 1_772_323_200)

  @Test(
    "RFC 9110 §5.6.7: the three formats",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
      ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
      ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
      ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
    ])
  func formats(_ text: String, _ seconds: Int64) {
    #expect(HTTPDate.parse(text, now: HTTPDateTests.now) == Timestamp(seconds: seconds))
  }

  @Test(
    "RFC 9111 §4.2: caches read names in any case, and the weekday need not fit",
    arguments: [
      "sun, 06 nov 1994 08:49:37 gmt", "SUN, 06 NOV 1994 08:49:37 GMT", "sUNDAY, 06-nOV-94 08:49:37 Gmt",
      "sun nov  6 08:49:37 1994", "Mon, 06 Nov 1994 08:49:37 GMT",
    ])
  func lenient(_ text: String) {
    #expect(HTTPDate.parse(text, now: HTTPDateTests.now) == Timestamp(seconds: 784_111_777))
  }

  @Test(
    "RFC 9110 §5.6.7: a two-digit year is never more than 50 years ahead",
    arguments: [
      ("Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"),
      ("Sunday, 01-Mar-26 00:00:00 GMT", "Sun, 01 Mar 2026 00:00:00 GMT"),
      ("Friday, 28-Feb-76 00:00:00 GMT", "Fri, 28 Feb 2076 00:00:00 GMT"),
      ("Tuesday, 02-Mar-76 00:00:00 GMT", "Tue, 02 Mar 1976 00:00:00 GMT"),
      ("Saturday, 01-Jan-00 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"),
      ("Friday, 31-Dec-99 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:59 GMT"),
    ])
  func twoDigitYears(_ short: String, _ long: String) {
    let found = HTTPDate.parse(short, now: HTTPDateTests.now)
    #expect(found != nil)
    #expect(found == HTTPDate.parse(long, now: HTTPDateTests.now))
  }

  @Test("RFC 9110 §5.6.7: the next century's years are read before it begins") func centuryAhead() {
    // 2090-01-01
    let now = Timestamp(seconds: 3_786_912_000)
    #expect(
      HTTPDate.parse("Friday, 01-Jan-10 00:00:00 GMT", now: now)
        == HTTPDate.parse("Wed, 01 Jan 2110 00:00:00 GMT", now: now))
  }

  @Test(
    "RFC 9110 §5.6.7: anything else is no date",
    arguments: [
      "", "0", "-1", "784111777", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
      "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37 AEST", "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
      "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT",
      "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
      "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 2023 08:49:37 GMT",
      "Mon, 29 Feb 1900 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Foo, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 November 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMTx", "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
      "Sunday, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
      "Sun Nov 06 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT", "Sunday, 30-Feb-94 08:49:37 GMT",
      "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    ])
  func noDates(_ text: String) { #expect(HTTPDate.parse(text, now: HTTPDateTests.now) == nil) }

  @Test(
    "RFC 9110 §5.6.7: dates are written as IMF-fixdate",
    arguments: [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
      (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
      (Int64.min, "Sat, 01 Jan 0000 00:00:00 GMT"),
    ])
  func format(_ seconds: Int64, _ text: String) {
    #expect(HTTPDate.format(Timestamp(seconds: seconds)).string == text)
  }

  @Test("parse(format(x)) = x over ten thousand years") func roundTrip() {
    var seconds: Int64 = -62_167_219_200
    var failures: [Int64] = []
    while seconds <= 253_402_300_799 {
      let moment = Timestamp(seconds: seconds)
      if HTTPDate.parse(HTTPDate.format(moment), now: HTTPDateTests.now) != moment { failures.append(seconds) }
      // A prime number of seconds (near 116 days) meets every second of the day, month and leap year.
      seconds += 10_000_019
    }
    #expect(failures.isEmpty)
  }

  @Test("Timestamps saturate instead of overflowing") func saturation() {
    let last = Timestamp(seconds: .max)
    let first = Timestamp(seconds: .min)
    #expect(last + 1 == last)
    #expect(first + -1 == first)
    #expect(last - first == .max)
    #expect(first - last == .min)
    #expect(Timestamp(seconds: 5) - Timestamp(seconds: 7) == -2)
    #expect(Timestamp(seconds: 5) < Timestamp(seconds: 7))
  }
}
