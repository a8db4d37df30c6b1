// Range and Content-Range (RFC 9110 §14).

import HTTPMessage
import Testing

@Suite struct RangeTests {
  static let largest = ByteRange.largest

  @Test(
    "RFC 9110 §14.1.2: byte ranges",
    arguments: [
      ("bytes=0-0", [.bounded(first: 0, last: 0)]), ("bytes=0-499", [.bounded(first: 0, last: 499)]),
      ("bytes=500-", [.from(500)]), ("bytes=-500", [.suffix(500)]), ("bytes=-0", [.suffix(0)]),
      ("BYTES=1-2", [.bounded(first: 1, last: 2)]), ("bytes=001-02", [.bounded(first: 1, last: 2)]),
      ("bytes=0-0,-1", [.bounded(first: 0, last: 0), .suffix(1)]),
      ("bytes= 0-1 ,\t5-", [.bounded(first: 0, last: 1), .from(5)]),
      ("bytes=,,0-1,,", [.bounded(first: 0, last: 1)]),
      ("bytes=5-6,1-2", [.bounded(first: 5, last: 6), .bounded(first: 1, last: 2)]),
      ("bytes=0-18446744073709551615", [.bounded(first: 0, last: largest)]),
      ("bytes=0-99999999999999999999999999", [.bounded(first: 0, last: largest)]),
      ("bytes=99999999999999999999999999-", [.from(largest)]),
      ("bytes=-99999999999999999999999999", [.suffix(largest)]),
    ] as [(String, [ByteRange])])
  func ranges(_ text: String, _ expected: [ByteRange]) {
    #expect(RangeField.parse(FieldListTests.fields(.range, [text]), limit: 8) == .bytes(expected))
  }

  @Test(
    "RFC 9110 §14.2: what is malformed or unknown is ignored",
    arguments: [
      "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=1-a", "bytes=5-4", "bytes=1", "bytes=1-2-3",
      "bytes=--1", "bytes=+1-2", "bytes=1 - 2", "bytes=1- 2", "bytes=0x1-2", "bytes 1-2", "bytes = 1-2", "bytes=1-2;",
      "bytes=1-2, x", "bytes=0-1, 5-4", "items=1-2", "byte=1-2", "=1-2", "bytes=1.0-2", "bytes=1-2=3", "seconds=0-1",
    ])
  func ignored(_ text: String) {
    #expect(RangeField.parse(FieldListTests.fields(.range, [text]), limit: 8) == .ignored)
  }

  @Test("RFC 9110 §14.2: no field, several fields, too many ranges") func others() {
    #expect(RangeField.parse(Fields(), limit: 8) == .absent)
    #expect(RangeField.parse(FieldListTests.fields(.range, ["bytes=0-1", "bytes=0-1"]), limit: 8) == .ignored)
    #expect(RangeField.parse("bytes=1-2,3-4,5-6", limit: 2) == .ignored)
    #expect(
      RangeField.parse("bytes=1-2,3-4", limit: 2) == .bytes([.bounded(first: 1, last: 2), .bounded(first: 3, last: 4)]))
  }

  @Test(
    "One range alone is read as among others",
    arguments: [
      ("bytes=0-499", .bounded(first: 0, last: 499)), ("bytes=500-", .from(500)), ("BYTES=-7", .suffix(7)),
      ("bytes=0-99999999999999999999999999", .bounded(first: 0, last: largest)), ("bytes=0-1,", nil),
      ("bytes= 0-1", nil), ("bytes=0-1,5-6", nil), ("bytes=5-4", nil), ("items=0-1", nil), ("bytes=", nil),
    ] as [(String, ByteRange?)])
  func single(_ text: String, _ expected: ByteRange?) {
    let fields = FieldListTests.fields(.range, [text])
    #expect(RangeField.single(fields) == expected)
    if let expected { #expect(RangeField.parse(fields, limit: 1) == .bytes([expected])) }
    #expect(RangeField.single(FieldListTests.fields(.range, [text, text])) == nil)
  }

  @Test("There is room for the longest Content-Range") func longest() {
    let most = UInt64.max
    #expect(
      ContentRange.satisfied(first: most, last: most, total: most).fieldValue.string == "bytes \(most)-\(most)/\(most)")
  }

  @Test("Ranges are written as they are read", arguments: ["0-1", "5-", "-7", "-0"])
  func text(_ text: String) throws {
    guard case .bytes(let ranges) = RangeField.parse(try fieldValue("bytes=\(text)"), limit: 1) else {
      Issue.record("not read")
      return
    }
    #expect(ranges.map(\.text) == [text])
  }

  @Test(
    "RFC 9110 §14.4: Content-Range",
    arguments: [
      ("bytes 0-499/1234", .satisfied(first: 0, last: 499, total: 1234)),
      ("bytes 42-1233/*", .satisfied(first: 42, last: 1233, total: nil)),
      ("Bytes 0-0/1", .satisfied(first: 0, last: 0, total: 1)), ("bytes */1234", .unsatisfied(total: 1234)),
      ("bytes */0", .unsatisfied(total: 0)),
    ] as [(String, ContentRange)])
  func contentRange(_ text: String, _ expected: ContentRange) throws {
    let found = ContentRange.parse(try fieldValue(text))
    #expect(found == expected)
    #expect(found.map { ContentRange.parse($0.fieldValue) } == expected)
    #expect(found?.fieldValue.equalsIgnoringCase(text) == true)
  }

  @Test(
    "RFC 9110 §14.4: invalid Content-Range",
    arguments: [
      "", "bytes", "bytes 0-499", "bytes 0-499/", "bytes */*", "bytes 5-4/10", "bytes 0-10/10", "bytes 0-9/9",
      "bytes -5/10",
      "bytes 5-/10", "bytes=0-4/10", "bytes 0-4/-1", "bytes +0-4/10", "bytes 0 - 4/10", "bytes  0-4/10",
      "bytes 0-4 /10",
      "bytes 0-4/10 ,", "bytes 0-4/10, bytes 5-6/10", "items 0-4/10", "bytes 0-4/99999999999999999999",
      "bytes 0-9223372036854775807/*", "bytes a-b/c", "0-4/10", "bytes 0-4/10/11",
    ])
  func badContentRange(_ text: String) throws {
    #expect(ContentRange.parse(try fieldValue(text)) == nil)
  }
}
