// Entity tags and lists of them (RFC 9110 §8.8.3, §13.1).

import HTTPMessage
import Testing

@Suite struct EntityTagTests {
  @Test(
    "RFC 9110 §8.8.3: tags",
    arguments: [
      ("\"xyzzy\"", false, "xyzzy"), ("W/\"xyzzy\"", true, "xyzzy"), ("\"\"", false, ""), ("W/\"\"", true, ""),
      ("\"a,b\\\"", false, "a,b\\"), ("\"!#~\"", false, "!#~"),
    ])
  func tags(_ text: String, _ isWeak: Bool, _ opaque: String) throws {
    let tag = try #require(EntityTag.parse(fieldValue(text)))
    #expect(tag.isWeak == isWeak)
    #expect(tag.opaque == opaque)
    #expect(tag.fieldValue.string == text)
    #expect(EntityTag(isWeak: isWeak, opaque: opaque) == tag)
  }

  @Test(
    "RFC 9110 §8.8.3: no tags",
    arguments: [
      "", "xyzzy", "\"", "\"a", "a\"", "w/\"a\"", "W\"a\"", "W/a", "W/", "\"a\"b\"", "\"a b\"", "\"a\tb\"", "\"a\" ,",
      "\"a\", \"b\"", "'a'", "*",
    ])
  func noTags(_ text: String) throws { #expect(EntityTag.parse(try fieldValue(text)) == nil) }

  @Test("RFC 9110 §8.8.3: octets beyond ASCII are told apart and written as they came") func opaqueOctets() throws {
    let bytes: [[UInt8]] = [[0x22, 0x80, 0x22], [0x22, 0xFF, 0x22], [0x22, 0xC3, 0xBC, 0x22]]
    let tags = try bytes.map { try #require(EntityTag.parse($0[...])) }
    #expect(Set(tags).count == 3)
    #expect(tags.map { Array($0.fieldValue.bytes) } == bytes)
    #expect(EntityTag(opaque: "\u{100}") == nil)
    #expect(EntityTag(opaque: "a\"") == nil)
    #expect(EntityTag(opaque: "a\r\n") == nil)
  }

  /// The table of RFC 9110 §8.8.3.2.
  @Test(
    "RFC 9110 §8.8.3.2: comparison",
    arguments: [
      ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false), ("W/\"1\"", "\"1\"", false, true),
      ("\"1\"", "\"1\"", true, true), ("\"1\"", "\"2\"", false, false), ("\"a\"", "\"A\"", false, false),
    ])
  func comparison(_ left: String, _ right: String, _ strong: Bool, _ weak: Bool) throws {
    let one = try #require(EntityTag.parse(Array(left.utf8)[...]))
    let two = try #require(EntityTag.parse(Array(right.utf8)[...]))
    #expect(one.strongMatches(two) == strong)
    #expect(two.strongMatches(one) == strong)
    #expect(one.weakMatches(two) == weak)
    #expect(two.weakMatches(one) == weak)
  }

  @Test(
    "RFC 9110 §13.1.2: lists",
    arguments: [
      (["*"], ["*"]), (["\"a\""], ["\"a\""]), (["\"a\", W/\"b\""], ["\"a\"", "W/\"b\""]),
      (["\"a\"", "\"b\""], ["\"a\"", "\"b\""]),
      ([" , \"a,b\" ,,"], ["\"a,b\""]), (["\"a\",\"b\",\"c\""], ["\"a\"", "\"b\"", "\"c\""]),
    ])
  func lists(_ lines: [String], _ expected: [String]) throws {
    let list = try #require(EntityTagList.parse(FieldListTests.fields(.ifNoneMatch, lines), .ifNoneMatch))
    switch list {
    case .any: #expect(expected == ["*"])
    case .tags(let tags): #expect(tags.map(\.fieldValue.string) == expected)
    }
  }

  @Test(
    "RFC 9110 §13.1.2: what can't be read whole is not judged by a part",
    arguments: [[], [""], ["a"], ["\"a\", b"], ["*, \"a\""], ["\"a\"", "*"], ["\"a"], ["w/\"a\""], ["**"]] as [[String]]
  )
  func noLists(_ lines: [String]) {
    #expect(EntityTagList.parse(FieldListTests.fields(.ifMatch, lines), .ifMatch) == nil)
  }

  @Test("RFC 9110 §13.1.1, §13.1.2: a list matches by any member") func listMatches() throws {
    let strong = try #require(EntityTag(opaque: "a"))
    let weak = try #require(EntityTag(isWeak: true, opaque: "a"))
    let other = try #require(EntityTag(opaque: "b"))
    let list = EntityTagList.tags([other, weak])
    #expect(list.weakMatches(strong))
    #expect(!list.strongMatches(strong))
    #expect(list.strongMatches(other))
    #expect(EntityTagList.any.strongMatches(strong))
    #expect(EntityTagList.any.weakMatches(weak))
    #expect(!EntityTagList.tags([]).weakMatches(strong))
  }

  @Test("Validators know their strength") func validators() throws {
    let tag = try #require(EntityTag(opaque: "a"))
    let date = Timestamp(seconds: 1)
    #expect(
      [.strongTag(tag), .strongDate(date), .weakTag(tag), .weakDate(date), .none].map(\Validator.isStrong) == [
        true, true, false, false, false,
      ])
  }
}
