// Field sections, names and values (RFC 9110 §5).

import HTTPMessage
import Testing

@Suite struct FieldsTests {
  @Test("RFC 9110 §5.1: names compare without regard to case and keep their spelling") func names() {
    #expect(("content-LENGTH" as FieldName) == .contentLength)
    #expect(("content-LENGTH" as FieldName).spelling == "content-LENGTH")
    #expect(("X-Own" as FieldName) == "x-oWN")
    #expect(("X-Own" as FieldName).hashValue == ("x-oWN" as FieldName).hashValue)
    #expect(("ETAG" as FieldName).hashValue == FieldName.etag.hashValue)
    #expect(("X-Own" as FieldName) != "X-Owm")
    #expect(("X-Own" as FieldName).lowercased == "x-own")
    #expect(Set<FieldName>(["A", "a", "Vary", "vary", .vary]).count == 2)
  }

  @Test(
    "RFC 9110 §5.6.2: a name is a token",
    arguments: ["", " ", "a b", "a:", "a\r\n", "a\0", "ä", "(", "a,b", "\"a\"", "a/b", "[", "a@"])
  func badNames(_ text: String) { #expect(FieldName(text) == nil) }

  @Test("RFC 9110 §5.6.2: all token characters make a name", arguments: ["!#$%&'*+-.^_`|~", "0", "aZ9"])
  func goodNames(_ text: String) { #expect(FieldName(text)?.spelling == text) }

  static let wellKnown: [FieldName] = [
    .host, .connection, .contentLength, .transferEncoding, .te, .trailer, .upgrade, .via, .date, .age, .cacheControl,
    .pragma, .expires, .etag, .lastModified, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    .range, .contentRange, .acceptRanges, .contentType, .contentEncoding, .contentLocation, .vary, .location,
    .authorization, .proxyAuthorization, .proxyAuthenticate, .proxyConnection, .keepAlive, .expect, .maxForwards,
    .cacheStatus, .retryAfter, .server, .setCookie, .acceptEncoding, .accept, .warning, .contentMD5, .reprDigest,
    .digest, .proxyAuthenticationInfo, .allow, .userAgent,
  ]

  @Test("Names we have a word for are recognised in any case, and told from each other", arguments: wellKnown)
  func recognised(_ name: FieldName) throws {
    for spelling in [name.spelling, name.spelling.lowercased(), name.spelling.uppercased()] {
      #expect(FieldName(spelling) == name)
      var fields = Fields()
      try fields.append(line: Array("\(spelling): v".utf8).span.bytes)
      #expect(fields.first(name) == "v")
      #expect(fields.map(\.name.spelling) == [spelling])
    }
    #expect(FieldsTests.wellKnown.count { $0 == name } == 1)
    #expect(FieldName("X" + name.spelling) != name)
  }

  @Test(
    "RFC 9110 §5.5: controls make no value",
    arguments: ["a\rb", "a\nb", "a\r\nX: y", "a\0b", "\u{1}", "a\u{7F}", "a\u{1B}[0m", "\u{0B}", "a\u{0C}"])
  func badValues(_ text: String) {
    #expect(FieldValue(text) == nil)
    #expect(FieldValue(bytes: Array(text.utf8)) == nil)
  }

  @Test(
    "RFC 9110 §5.5: whitespace around a value is no part of it",
    arguments: [("", ""), (" ", ""), ("\t a \t", "a"), ("a\tb", "a\tb"), ("é ", "é")])
  func goodValues(_ text: String, _ trimmed: String) { #expect(FieldValue(text)?.string == trimmed) }

  @Test("Numbers become digits", arguments: [0, 7, 10, 1234567890, Int.max, -1, Int.min])
  func numbers(_ number: Int) { #expect(FieldValue(number).string == String(number)) }

  @Test("The largest unsigned number becomes digits") func largest() {
    #expect(FieldValue(UInt64.max).string == "18446744073709551615")
    #expect(FieldValue(UInt64.max).decimal == .max)
  }

  @Test(
    "Digits become a number, all else nothing",
    arguments: [
      ("0", 0), ("007", 7), ("18446744073709551615", UInt64.max), ("18446744073709551616", nil), ("", nil), ("+1", nil),
      ("-1", nil), ("1 2", nil), ("0x1", nil), ("1.0", nil), ("٣", nil),
    ] as [(String, UInt64?)])
  func decimal(_ text: String, _ number: UInt64?) { #expect(FieldValue(text)?.decimal == number) }

  @Test("RFC 9110 §5.3: order is kept, first and all see every spelling") func order() {
    let fields: Fields = ["A": "1", "B": "2", "a": "3", "X-Long-Enough-For-The-Heap": "4"]
    #expect(fields.map { "\($0.name)=\($0.value)" } == ["A=1", "B=2", "a=3", "X-Long-Enough-For-The-Heap=4"])
    #expect(fields.count == 4)
    #expect(fields.first("A") == "1")
    #expect(fields.all("a") == ["1", "3"])
    #expect(fields.count(of: "A") == 2)
    #expect(fields.first("C") == nil)
    #expect(!fields.contains("C"))
    #expect(fields.contains("x-long-enough-for-the-heap"))
    #expect(Fields().isEmpty)
  }

  @Test(
    "RFC 9110 §5.3: several lines are one list",
    arguments: [
      ([], nil), (["a"], "a"), (["a", "b"], "a, b"), (["a, b", "c"], "a, b, c"), (["", "b"], ", b"), ([""], ""),
    ]
      as [([String], String?)])
  func combined(_ lines: [String], _ joined: String?) {
    var fields: Fields = ["Before": "x"]
    for line in lines.compactMap({ FieldValue($0) }) { fields.append(.vary, line) }
    fields.append("After", "y")
    #expect(fields.combined(.vary)?.string == joined)
  }

  @Test("set leaves one line in the place of the first") func set() {
    var fields: Fields = ["A": "1", "B": "2", "a": "3", "C": "4"]
    fields.set("a", "5")
    #expect(fields == ["a": "5", "B": "2", "C": "4"])
    fields.set("C", "6")
    fields.set("D", "7")
    #expect(fields == ["A": "5", "B": "2", "C": "6", "D": "7"])
  }

  @Test("remove takes every line of the name, and nothing else") func remove() {
    var fields: Fields = ["A": "1", "B": "2", "a": "3", "C": "4"]
    let before = fields
    fields.remove("X")
    #expect(fields == before)
    fields.remove("A")
    #expect(fields == ["B": "2", "C": "4"])
    fields.removeAll { name, value in name == "B" && value == "2" }
    #expect(fields == ["C": "4"])
    fields.remove("C")
    #expect(fields.isEmpty)
    #expect(fields.serialized.isEmpty)
    #expect(before.count == 4)
  }

  @Test("A value outlives the change of its section") func slicesAreValues() {
    var fields: Fields = ["A": "1", "B": "2"]
    let value = fields.first("B")
    fields.set("A", "a much longer value than before")
    fields.remove("B")
    #expect(value == "2")
  }

  @Test("Sections are equal by lines, not by the case of names") func equality() {
    #expect(Fields(dictionaryLiteral: ("A", "1")) == ["a": "1"])
    #expect(Fields(dictionaryLiteral: ("A", "b")) != ["A": "B"])
    #expect(Fields(dictionaryLiteral: ("A", "1"), ("B", "2")) != ["B": "2", "A": "1"])
    #expect(Fields(dictionaryLiteral: ("A", "1")) != ["A": "1", "B": ""])
    // The same octets in all, cut otherwise.
    #expect(Fields(dictionaryLiteral: ("AB", "c")) != ["A": "Bc"])
  }

  @Test("What is serialised is read back") func serialized() throws {
    let fields: Fields = ["A": "1", "Empty": "", "b": "\u{80}, \"x\""]
    #expect(String(decoding: fields.serialized, as: UTF8.self) == "A: 1\r\nEmpty: \r\nb: \u{80}, \"x\"\r\n")
    let read = Fields(serialized: fields.serialized.span.bytes)
    #expect(read == fields)
    #expect(read?.serialized == fields.serialized)
  }

  @Test(
    "What is no section is not read back",
    arguments: [
      "A: 1", "A: 1\n", "A: 1\r", "A : 1\r\n", ": 1\r\n", "\r\n", "A: 1\r\n\r\n", "A: \0\r\n", "A\r\n", "\nA: 1\r\n",
    ])
  func notSerialized(_ text: String) { #expect(Fields(serialized: Array(text.utf8).span.bytes) == nil) }

  @Test(
    "RFC 9112 §5: field lines that are refused",
    arguments: [
      ("A", .noColon), ("", .noColon), (":", .emptyName), (" A: b", .folded), ("\tA: b", .folded),
      ("A : b", .blankBeforeColon), ("A\t: b", .blankBeforeColon), ("A(: b", .nameByte(UInt8(ascii: "("))),
      ("A: \u{1}", .valueByte(1)), ("A: 12345678901234567\u{7F}890", .valueByte(0x7F)), ("A:\r", .valueByte(13)),
    ] as [(String, FieldLineError)])
  func badLines(_ text: String, _ error: FieldLineError) {
    var fields = Fields()
    #expect(throws: error) { try fields.append(line: Array(text.utf8).span.bytes) }
    #expect(fields.isEmpty)
    #expect(!error.explanation.isEmpty)
  }

  @Test("RFC 9110 §5.5: every octet is judged alike at every place of a value", arguments: 0...255)
  func everyOctet(_ octet: Int) {
    let byte = UInt8(octet)
    let isAllowed = byte == 9 || (byte >= 0x20 && byte != 0x7F)
    for before in 0...17 {
      var line = Array("A:x".utf8) + [UInt8](repeating: UInt8(ascii: "y"), count: before)
      line.append(byte)
      line += [UInt8](repeating: 0xFF, count: 17 - before) + Array("z".utf8)
      var fields = Fields()
      let isTaken = (try? fields.append(line: line.span.bytes)) != nil
      #expect(isTaken == isAllowed)
      #expect((FieldValue(bytes: line) != nil) == isAllowed)
    }
  }

  @Test("Several names are looked for, left out and removed together") func nameSets() {
    let hops = FieldNameSet([.connection, .te, .via])
    let lines: Fields = ["Via": "1.1 a", "Accept": "b", "TE": "c", "X-Own": "d", "via": "1.1 e"]
    let rest: Fields = ["Accept": "b", "X-Own": "d"]
    #expect(lines.contains(anyOf: hops))
    #expect(!rest.contains(anyOf: hops))
    #expect(lines.serialized(without: hops) == rest.serialized)
    #expect(rest.serialized(without: hops) == rest.serialized)
    var removed = lines
    removed.remove(hops)
    #expect(removed == rest)
    // A line that is gone may be looked for still.
    #expect(!removed.contains(anyOf: hops))
    var appended: Fields = ["Host": "h"]
    appended.append(contentsOf: lines, without: hops)
    #expect(appended == ["Host": "h", "Accept": "b", "X-Own": "d"])
  }

  @Test("What is there once with one value is told from all else") func one() {
    let fields: Fields = ["Host": "a:80", "Accept": "x", "accept": "x"]
    #expect(fields.hasOne(.host, "a:80"))
    #expect(!fields.hasOne(.host, "A:80"))
    #expect(!fields.hasOne(.accept, "x"))
    #expect(!fields.hasOne(.via, ""))
  }
}
