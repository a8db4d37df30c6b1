// What origins state about a representation's digest: which fields count, which values, and when not.
import Digests
import HTTPMessage
import Testing

@Suite struct StatementTests {
  /// One statement as the tables write it.
  typealias Stated = (DigestAlgorithm, String, String)

  // Of "hello world", in base 64.
  static let sha512 = "MJ7MSJwS1utMxA9QyQLytNDtd+5RGnx6m808qG1M2G+YndNbxf9JlnDaNCVbRbDP2DDoH2Bdz33FVC6TrpzXbw=="
  static let sha256 = "uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek="
  static let sha1 = "Kq5sNclPz7QV2+lfQIuc6R7oRu0="
  static let md5 = "XrY7u+Ae7tCTyyK7j1rNww=="
  static let crc32c = "yZRlqg=="
  static let otherSha256 = "AAAAuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek="

  static let both = StatementRules(contentMD5: true, objectStores: true)
  static let neither = StatementRules(contentMD5: false, objectStores: false)

  private func fields(_ lines: [(String, String)]) throws -> Fields {
    var fields = Fields()
    for (name, value) in lines {
      fields.append(try #require(FieldName(name)), try #require(FieldValue(value)))
    }
    return fields
  }

  private func expect(
    _ lines: [(String, String)], content: Statements.Content = .whole, rules: StatementRules = neither,
    _ expected: [Stated], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let found = Statements.all(in: try fields(lines), content: content, rules: rules)
    let wanted = expected.compactMap { algorithm, text, field in
      Base64.decode(Array(text.utf8)).flatMap { StatedDigest(algorithm, $0, field: field) }
    }
    #expect(wanted.count == expected.count, "the table is right", sourceLocation: sourceLocation)
    #expect(found == wanted, sourceLocation: sourceLocation)
  }

  @Test func representationDigestsAreDictionariesOfByteSequences() throws {
    for name in ["Repr-Digest", "repr-digest"] {
      try expect([(name, "sha-256=:\(Self.sha256):")], [(.sha256, Self.sha256, "Repr-Digest")])
    }
    try expect(
      [("Repr-Digest", "sha-256=:\(Self.sha256):, sha-512=:\(Self.sha512):;a=1, sha=:\(Self.sha1):")],
      [
        (.sha256, Self.sha256, "Repr-Digest"), (.sha512, Self.sha512, "Repr-Digest"), (.sha1, Self.sha1, "Repr-Digest"),
      ])
    try expect(
      [("Repr-Digest", "md5=:\(Self.md5):, crc32c=:\(Self.crc32c):, adler=:GgsEXQ==:")],
      [
        (.md5, Self.md5, "Repr-Digest"), (.crc32C, Self.crc32c, "Repr-Digest"), (.adler32, "GgsEXQ==", "Repr-Digest"),
      ])
  }

  @Test func severalLinesAreOneDictionaryInWhichTheLastCounts() throws {
    try expect(
      [
        ("Repr-Digest", "sha-256=:\(Self.otherSha256):"),
        ("Repr-Digest", "md5=:\(Self.md5):, sha-256=:\(Self.sha256):"),
      ],
      [(.sha256, Self.sha256, "Repr-Digest"), (.md5, Self.md5, "Repr-Digest")])
  }

  @Test(
    arguments: [
      "", ",", "sha-256", "sha-256=\(sha256)", "sha-256=\"\(sha256)\"", "sha-256=:\(sha256)", "sha-256=::",
      "sha-256=:\(sha1):", "sha-256=:\(sha256)::", "SHA-256=:\(sha256):", "sha-256=(:\(sha256):)", "sha-256=?1",
      "sha-256=:\(sha256):, md5=:@:", "sha-384=:\(sha256):", "unixsum=:AAA=:", "sha-256=:\(sha256):,",
      "sha-256=:AA AA:",
    ])
  func malformedOrUnknownStatementsSayNothing(_ value: String) throws {
    try expect([("Repr-Digest", value)], [])
    try expect([("Content-Digest", value)], [])
  }

  @Test func anUnknownAlgorithmDoesNotHideAKnownOne() throws {
    try expect(
      [("Repr-Digest", "sha-3=:AA==:, sha-256=:\(Self.sha256):, x=1")], [(.sha256, Self.sha256, "Repr-Digest")])
  }

  @Test func aContentDigestCountsWhereTheContentIsTheWhole() throws {
    let lines = [("Content-Digest", "sha-256=:\(Self.sha256):")]
    try expect(lines, [(.sha256, Self.sha256, "Content-Digest")])
    try expect(lines, content: .part, [])
    try expect(
      [("Repr-Digest", "sha-256=:\(Self.sha256):"), ("Content-Digest", "sha-256=:\(Self.otherSha256):")],
      content: .part, [(.sha256, Self.sha256, "Repr-Digest")])
  }

  @Test func instanceDigestsAreListsOfNamesAndValues() throws {
    for value in ["SHA-256=\(Self.sha256)", "sha-256=\(Self.sha256)", "UNIXsum=30637, sha-256=\(Self.sha256) ,,"] {
      try expect([("Digest", value)], [(.sha256, Self.sha256, "Digest")])
    }
    try expect(
      [("Digest", "MD5=\(Self.md5),SHA=\(Self.sha1)"), ("Digest", "sha-512=\(Self.sha512)")], content: .part,
      [(.md5, Self.md5, "Digest"), (.sha1, Self.sha1, "Digest"), (.sha512, Self.sha512, "Digest")])
    try expect(
      [("Digest", "ADLER32=1A0b045D, CRC32c=c99465aa")],
      [
        (.adler32, "GgsEXQ==", "Digest"), (.crc32C, Self.crc32c, "Digest"),
      ])
    try expect([("Digest", "ADLER32=1")], [(.adler32, "AAAAAQ==", "Digest")])
  }

  @Test(
    arguments: [
      "", "sha-256", "sha-256=", "sha-256=:\(sha256):", "sha-256=\(sha1)", "sha-256=\(sha256)=", "adler32=",
      "adler32=123456789", "adler32=+1", "adler32=xyz", "md5;q=1", "=\(md5)", "sha-256=b94d27b9934d3e08",
      "sha-256=\(sha256), sha-256=\(otherSha256)",
    ])
  func malformedInstanceDigestsSayNothing(_ value: String) throws {
    try expect([("Digest", value)], [])
  }

  @Test func theSameValueTwiceIsNoContradiction() throws {
    let value = "sha-256=\(Self.sha256)"
    let found = Statements.all(in: try fields([("Digest", value), ("Digest", value)]), rules: Self.neither)
    #expect(Set(found).count == 1)
  }

  @Test func digestsOfTheUncodedBytesCountWithoutACodingOnly() throws {
    let lines = [("Digest", "id-sha-256=\(Self.sha256)")]
    try expect(lines, [(.sha256, Self.sha256, "Digest")])
    try expect(lines + [("Content-Encoding", "identity")], [(.sha256, Self.sha256, "Digest")])
    try expect(lines + [("Content-Encoding", "gzip")], [])
    try expect(
      [("Digest", "sha-256=\(Self.sha256)"), ("Content-Encoding", "gzip")], [(.sha256, Self.sha256, "Digest")])
  }

  @Test func contentMD5CountsByRuleAndForAWholeOnly() throws {
    let lines = [("Content-MD5", Self.md5)]
    try expect(lines, [])
    try expect(lines, rules: Self.both, [(.md5, Self.md5, "Content-MD5")])
    try expect(lines, content: .part, rules: Self.both, [])
    try expect([("Content-MD5", "5eb63bbbe01eeed093cb22bb8f5acdc3")], rules: Self.both, [])
  }

  // The checksums are of "123456789".
  @Test func fullChecksumsOfSimpleStorageCount() throws {
    let full = [("x-amz-checksum-type", "FULL_OBJECT")]
    let table: [(String, DigestAlgorithm, String)] = [
      ("x-amz-checksum-crc32", .crc32, "y/Q5Jg=="), ("x-amz-checksum-crc32c", .crc32C, "4waSgw=="),
      ("x-amz-checksum-crc64nvme", .crc64NVME, "rosUhgp5mIg="), ("x-amz-checksum-sha1", .sha1, Self.sha1),
      ("x-amz-checksum-sha256", .sha256, Self.sha256),
    ]
    for (name, algorithm, value) in table {
      try expect([(name, value)], [])
      try expect([(name, value)], rules: Self.both, [(algorithm, value, name)])
      try expect([(name, value)] + full, rules: Self.both, [(algorithm, value, name)])
      try expect([(name, value)] + full, content: .part, rules: Self.both, [])
      try expect([(name, value), ("x-amz-checksum-type", "COMPOSITE")], rules: Self.both, [])
      try expect([(name, value + "-3")], rules: Self.both, [])
      try expect([(name, value + "-3")] + full, rules: Self.both, [])
      try expect([(name, value), ("x-amz-mp-parts-count", "3")], rules: Self.both, [])
    }
  }

  @Test func hashesOfCloudStorageCountForWhatIsStored() throws {
    let line = [("x-goog-hash", "crc32c=\(Self.crc32c),md5=\(Self.md5)")]
    let expected: [Stated] = [(.crc32C, Self.crc32c, "x-goog-hash"), (.md5, Self.md5, "x-goog-hash")]
    try expect(line, [])
    try expect(line, rules: Self.both, expected)
    try expect(line, content: .part, rules: Self.both, expected)
    try expect(
      [("x-goog-hash", "crc32c=\(Self.crc32c)"), ("x-goog-hash", "md5=\(Self.md5)")], rules: Self.both, expected)
    try expect(line + [("x-goog-stored-content-encoding", "identity")], rules: Self.both, expected)
    let gzip = ("x-goog-stored-content-encoding", "gzip")
    try expect(line + [gzip, ("Content-Encoding", "gzip")], rules: Self.both, expected)
    try expect(line + [gzip], rules: Self.both, [])
  }

  @Test func checksumsOfObjectStorageServiceAreDecimalNumbers() throws {
    let line = [("x-oss-hash-crc64ecma", "11051210869376104954")]
    try expect(line, [])
    for content in [Statements.Content.whole, .part] {
      try expect(line, content: content, rules: Self.both, [(.crc64ECMA, "mV3Ju98ZOfo=", "x-oss-hash-crc64ecma")])
    }
    for value in ["", "0x10", "-1", "18446744073709551616", "1 2"] {
      try expect([("x-oss-hash-crc64ecma", value)], rules: Self.both, [])
    }
  }

  @Test func theStrongestOfSeveralIsCompared() throws {
    let lines = [
      ("x-oss-hash-crc64ecma", "1"), ("Digest", "md5=\(Self.md5), sha-256=\(Self.otherSha256)"),
      ("Repr-Digest", "sha=:\(Self.sha1):, sha-256=:\(Self.sha256):"),
    ]
    let found = Statements.strongest(of: Statements.all(in: try fields(lines), rules: Self.both))
    #expect(found?.algorithm == .sha256)
    #expect(found?.field == "Repr-Digest")
    #expect(Statements.strongest(of: []) == nil)
  }
}
