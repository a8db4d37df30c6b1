// Structured fields (RFC 8941) and base 64 (RFC 4648).

import HTTPMessage
import Testing

@Suite struct StructuredFieldTests {
  @Test(
    "RFC 8941 §3.3: bare items",
    arguments: [
      ("0", .integer(0)), ("-42", .integer(-42)), ("999999999999999", .integer(999_999_999_999_999)),
      ("007", .integer(7)),
      ("4.5", .decimal(thousandths: 4500)), ("-0.125", .decimal(thousandths: -125)),
      ("1.0", .decimal(thousandths: 1000)),
      ("\"\"", .string("")), ("\"a \\\"b\\\" \\\\\"", .string("a \"b\" \\")), ("foo123/456:x", .token("foo123/456:x")),
      ("*a", .token("*a")),
      ("::", .bytes([])), (":aGVsbG8=:", .bytes(Array("hello".utf8))), (":aGVsbG8:", .bytes(Array("hello".utf8))),
      ("?1", .boolean(true)), ("?0", .boolean(false)),
    ] as [(String, StructuredValue)])
  func bareItems(_ text: String, _ value: StructuredValue) throws {
    let item = StructuredField.parseItem(try fieldValue(text))
    #expect(item == StructuredItem(value))
    let written = try #require(StructuredField.serialize(item: StructuredItem(value)))
    #expect(StructuredField.parseItem(written) == item)
  }

  @Test(
    "RFC 8941 §4.2: what fails anywhere fails as a whole",
    arguments: [
      "", "-", "1000000000000000", "1.", "1.2345", "1234567890123.1", "--1", "1 2", "\"a", "\"a\\n\"", "\"é\"", ":a:",
      ":a b=:", ":aGVsbG8", ":=:",
      "?2", "?", "é", "a b", "a,", "a;", "a;B", "a;b=", "a; =1", "(a)", "a;b=(c)", "!a", "1a",
    ])
  func badItems(_ text: String) throws {
    #expect(StructuredField.parseItem(try fieldValue(text)) == nil)
  }

  @Test("RFC 9211 §2: a Cache-Status field") func cacheStatus() throws {
    let list = try #require(
      StructuredField.parseList(
        "OriginCache; hit; ttl=1100, \"CDN, Company\"; fwd=uri-miss;fwd-status=304;stored;ttl=-3"))
    #expect(
      list == [
        .item(StructuredItem(.token("OriginCache"), [.init("hit", .boolean(true)), .init("ttl", .integer(1100))])),
        .item(
          StructuredItem(
            .string("CDN, Company"),
            [
              .init("fwd", .token("uri-miss")), .init("fwd-status", .integer(304)), .init("stored", .boolean(true)),
              .init("ttl", .integer(-3)),
            ])),
      ])
    #expect(
      StructuredField.serialize(list: list)?.string
        == "OriginCache;hit;ttl=1100, \"CDN, Company\";fwd=uri-miss;fwd-status=304;stored;ttl=-3")
    guard case .item(let first) = list[0] else { return }
    #expect(first["ttl"] == .integer(1100))
    #expect(first["none"] == nil)
  }

  @Test(
    "RFC 8941 §3.1, §3.2: lists and dictionaries in their one written form",
    arguments: [
      ("a", "a"), ("a,b", "a, b"), ("a \t,\t b", "a, b"), ("(a b);x", "(a b);x"), ("(  a   b )", "(a b)"), ("()", "()"),
      ("a;x=1;x=2", "a;x=2"), ("a;x;y=?0", "a;x;y=?0"),
      ("1.50, 2.0", "1.5, 2.0"), ("(a;b c);d=\"e\", ?1", "(a;b c);d=\"e\", ?1"),
    ])
  func lists(_ text: String, _ written: String) throws {
    let list = try #require(StructuredField.parseList(fieldValue(text)))
    #expect(StructuredField.serialize(list: list)?.string == written)
  }

  @Test(
    "RFC 8941 §3.2: dictionaries",
    arguments: [
      ("a=1, b", "a=1, b"), ("a=1,b=2,a=3", "a=3, b=2"), ("a;x=1", "a;x=1"), ("a=?1", "a"), ("a=?0", "a=?0"),
      ("a=(1 2);x", "a=(1 2);x"),
      ("sha-256=:AAEC:, sha-512=:/+8=:", "sha-256=:AAEC:, sha-512=:/+8=:"), ("*k_.-1=t", "*k_.-1=t"),
    ])
  func dictionaries(_ text: String, _ written: String) throws {
    let entries = try #require(StructuredField.parseDictionary(fieldValue(text)))
    #expect(StructuredField.serialize(dictionary: entries)?.string == written)
  }

  @Test(
    "RFC 8941 §4.2.1: no lists", arguments: ["a,", ",a", "a,,b", "a b", "(a", "(a,b)", "(a)(b)", "(\"a\"b)", "a;;b"])
  func noLists(_ text: String) throws {
    #expect(StructuredField.parseList(try fieldValue(text)) == nil)
  }

  @Test("RFC 8941 §4.2.2: no dictionaries", arguments: ["A=1", "a=", "a=1,", "1=a", "a =1", "a= 1", "a=1 b=2", "=a"])
  func noDictionaries(_ text: String) throws {
    #expect(StructuredField.parseDictionary(try fieldValue(text)) == nil)
  }

  @Test("RFC 8941 §4.2: an empty field is an empty list") func empty() {
    #expect(StructuredField.parseList("") == [])
    #expect(StructuredField.parseDictionary("") == [])
    #expect(StructuredField.serialize(list: []) == nil)
  }

  @Test(
    "RFC 8941 §4.1: what a type can't spell is not written",
    arguments: [
      .integer(1_000_000_000_000_000), .integer(.min), .decimal(thousandths: 1_000_000_000_000_000), .string("é"),
      .string("a\r\n"),
      .token(""), .token("1a"), .token("a b"),
    ] as [StructuredValue])
  func unwritable(_ value: StructuredValue) {
    #expect(StructuredField.serialize(item: StructuredItem(value)) == nil)
    #expect(StructuredField.serialize(item: StructuredItem(.integer(1), [.init("k", value)])) == nil)
    #expect(StructuredField.serialize(item: StructuredItem(.integer(1), [.init("K", .integer(1))])) == nil)
  }

  /// The vectors of RFC 4648 §10.
  @Test(
    "RFC 4648 §10: base 64",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func base64(_ plain: String, _ text: String) {
    #expect(Base64.encode(Array(plain.utf8)) == text)
    #expect(Base64.decode(text.utf8) == Array(plain.utf8))
    #expect(Base64.decode(text.filter { $0 != "=" }.utf8) == Array(plain.utf8))
  }

  @Test(
    "RFC 4648 §3.3: no base 64", arguments: ["A", "A===", "Zg=", "Zg===", "=", "Zg==Zg==", "Z g=", "Zg-_", "Zm9v="])
  func noBase64(_ text: String) { #expect(Base64.decode(text.utf8) == nil) }
}
