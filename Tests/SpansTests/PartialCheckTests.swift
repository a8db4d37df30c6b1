// Every kind of answer to an upstream Range request, honest or not (design rule 5).
import HTTPMessage
import Spans
import Testing

private let now = Timestamp(seconds: 1_700_000_000)
private let modified = Timestamp(seconds: 784_111_777)

private func answer(
  _ status: Int = 206, tag: String? = "\"a\"", range: String? = "bytes 10-19/100", length: String? = "10",
  more: (FieldName, String)...
) -> ResponseHead {
  var fields = Fields()
  let pairs: [(FieldName, String?)] = [("ETag", tag), ("Content-Range", range), ("Content-Length", length)]
  for (name, text) in pairs + more.map({ ($0.0, Optional($0.1)) }) {
    if let text, let value = FieldValue(text) { fields.append(name, value) }
  }
  return ResponseHead(status: status, fields: fields)
}

private func judge(
  _ head: ResponseHead, asked: ByteSpan = ByteSpan(10, 20), validator: Validator? = nil, total: UInt64? = 100,
  coding: FieldValue? = nil
) throws -> PartialVerdict {
  let tag = try #require(EntityTag(opaque: "a"))
  let stored = PartialExpectation.Stored(validator: validator ?? .strongTag(tag), total: total, coding: coding)
  return PartialCheck.judge(head, expected: PartialExpectation(asked: asked, stored: stored), now: now)
}

@Suite struct PartialCheckTests {
  @Test func goodPartialsProceed() throws {
    let span = ByteSpan(10, 20)
    #expect(try judge(answer()) == .proceed(span, total: 100))
    #expect(try judge(answer(), total: nil) == .proceed(span, total: 100))
    #expect(try judge(answer(length: nil)) == .proceed(span, total: 100))
    #expect(
      try judge(answer(range: "bytes 90-99/100"), asked: ByteSpan(90, .max)) == .proceed(ByteSpan(90, 100), total: 100))
    #expect(
      try judge(answer(range: "bytes 90-99/100"), asked: ByteSpan(90, 150)) == .proceed(ByteSpan(90, 100), total: 100))
  }

  @Test func honestShorterPartialsAreNamedSo() throws {
    #expect(try judge(answer(), asked: ByteSpan(10, 30)) == .shorter(ByteSpan(10, 20), total: 100))
    #expect(try judge(answer(), asked: ByteSpan(10, .max)) == .shorter(ByteSpan(10, 20), total: 100))
  }

  @Test func liesAreRefusedByName() throws {
    #expect(try judge(answer(range: nil)) == .wrong(.badContentRange))
    #expect(try judge(answer(range: "bytes 10-19")) == .wrong(.badContentRange))
    #expect(try judge(answer(range: "bytes */100")) == .wrong(.badContentRange))
    #expect(try judge(answer(more: ("Content-Range", "bytes 10-19/100"))) == .wrong(.badContentRange))
    #expect(try judge(answer(range: "bytes 10-99/50", length: "90")) == .wrong(.badContentRange))
    #expect(
      try judge(answer(range: nil, more: ("Content-Type", "multipart/byteranges; boundary=x"))) == .wrong(.multipart))
    #expect(try judge(answer(more: ("Content-Type", "multipart/byteranges; boundary=x"))) == .wrong(.multipart))
    #expect(try judge(answer(range: "bytes 9-18/100")) == .wrong(.wrongStart))
    #expect(try judge(answer(range: "bytes 10-20/100", length: "11")) == .wrong(.wrongEnd))
    #expect(try judge(answer(length: "11")) == .wrong(.lengthMismatch))
    #expect(try judge(answer(length: "ten")) == .wrong(.lengthMismatch))
    #expect(try judge(answer(range: "bytes 10-19/*")) == .wrong(.unknownTotal))
    #expect(try judge(answer(tag: nil)) == .wrong(.missingValidator))
    #expect(try judge(answer(more: ("Content-Encoding", "gzip"))) == .wrong(.coding))
    #expect(try judge(answer(), coding: "gzip") == .wrong(.coding))
  }

  @Test func anotherVersionIsAChange() throws {
    #expect(try judge(answer(tag: "\"b\"")) == .changed(.validator))
    #expect(try judge(answer(tag: "W/\"a\"")) == .changed(.validator))
    #expect(try judge(answer(tag: "a")) == .changed(.validator))
    #expect(try judge(answer(range: "bytes 10-19/101")) == .changed(.total))
    #expect(try judge(answer(412, range: nil)) == .changed(.preconditionFailed))
    #expect(try judge(answer(416, range: "bytes */101")) == .changed(.total))
    #expect(try judge(answer(416, tag: "\"b\"", range: "bytes */100")) == .changed(.validator))
    #expect(try judge(answer(416, tag: "\"b\"", range: "bytes */100"), total: nil) == .changed(.validator))
    #expect(try judge(answer(200, tag: "\"b\"", range: nil, length: "100")) == .changed(.validator))
    #expect(try judge(answer(200, tag: nil, range: nil, length: "100")) == .changed(.validator))
    #expect(try judge(answer(200, range: nil, length: "99")) == .changed(.total))
    #expect(try judge(answer(200, range: nil, length: "100", more: ("Content-Encoding", "br"))) == .changed(.coding))
  }

  @Test func datesMustBeRepeatedExactly() throws {
    let date = Validator.strongDate(modified)
    let same = answer(tag: nil, more: ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"))
    let later = answer(tag: nil, more: ("Last-Modified", "Sun, 06 Nov 1994 08:49:38 GMT"))
    #expect(try judge(same, validator: date) == .proceed(ByteSpan(10, 20), total: 100))
    #expect(try judge(later, validator: date) == .changed(.validator))
    #expect(try judge(answer(tag: nil), validator: date) == .wrong(.missingValidator))
  }

  @Test func weakValidatorsAreNeverCombined() throws {
    let weak = try #require(EntityTag(isWeak: true, opaque: "a"))
    #expect(try judge(answer(tag: "W/\"a\""), validator: .weakTag(weak)) == .wrong(.missingValidator))
    #expect(try judge(answer(tag: nil), validator: Validator.none) == .wrong(.missingValidator))
  }

  @Test func otherStatusesKeepTheirMeaning() throws {
    #expect(try judge(answer(200, range: nil, length: "100")) == .wholeFromZero(total: 100))
    #expect(try judge(answer(200, range: nil, length: nil)) == .wholeFromZero(total: nil))
    #expect(try judge(answer(416, range: "bytes */100")) == .unsatisfied(total: 100))
    #expect(try judge(answer(416, range: nil)) == .unsatisfied(total: nil))
    #expect(try judge(answer(416, tag: nil, range: "bytes */100"), total: nil) == .unsatisfied(total: 100))
    for status in [408, 425, 429, 500, 502, 503, 504] {
      #expect(try judge(answer(status)) == .retryLater(status: status))
    }
    for status in [204, 301, 304, 401, 403, 404, 410] { #expect(try judge(answer(status)) == .refused(status: status)) }
  }

  @Test func whereNothingIsStoredAnyVersionWillDo() {
    let asked = PartialExpectation(asked: ByteSpan(10, 20), stored: nil)
    let cases: [(ResponseHead, PartialVerdict)] = [
      (answer(tag: nil), .proceed(ByteSpan(10, 20), total: 100)),
      (answer(range: "bytes 10-19/*"), .proceed(ByteSpan(10, 20), total: nil)),
      (answer(range: "bytes 10-14/*", length: "5"), .shorter(ByteSpan(10, 15), total: nil)),
      (answer(range: "bytes 0-9/100"), .wrong(.wrongStart)),
      (answer(200, range: nil, length: "7"), .wholeFromZero(total: 7)),
      (answer(412), .refused(status: 412)),
    ]
    for (head, verdict) in cases { #expect(PartialCheck.judge(head, expected: asked, now: now) == verdict) }
  }
}
