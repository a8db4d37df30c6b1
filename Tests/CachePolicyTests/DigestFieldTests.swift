// Digests of a part's content are not kept for the whole (RFC 9530 §2, RFC 9111 §3.2 and §3.4).
import CachePolicy
import HTTPMessage
import Testing

@Suite struct DigestFieldTests {
  private static let ofContent = [
    "Content-Digest: sha-256=:AA==:", "Content-MD5: AA==", "x-amz-checksum-crc32: AAAAAA==",
    "X-Amz-Checksum-Type: FULL_OBJECT",
  ]
  private static let ofTheWhole = ["Repr-Digest: sha-256=:AA==:", "Digest: md5=AA==", "x-goog-hash: md5=AA=="]
  private static let range = "Content-Range: bytes 0-9/100"

  private func has(_ stored: StoredResponse, _ line: String) throws -> Bool {
    let name = try #require(FieldName(String(line.prefix { $0 != ":" })))
    return stored.fields.contains(name)
  }

  @Test(arguments: ofContent) func whatSpeaksOfAPartIsStoredWithTheWholeOnly(_ line: String) throws {
    #expect(try has(stored([line]), line))
    #expect(try !has(stored([line, Self.range], status: 206), line))
  }

  @Test(arguments: ofTheWhole) func whatSpeaksOfTheWholeIsStoredWithAPartToo(_ line: String) throws {
    #expect(try has(stored([line]), line))
    #expect(try has(stored([line, Self.range], status: 206), line))
  }

  @Test(arguments: ofContent) func aPartialAnswerDoesNotReplaceWhatWasSaidOfTheWhole(_ line: String) throws {
    let name = line.prefix { $0 != ":" }
    let before = stored(["ETag: \"a\"", "\(name): before"])
    let answer = response(206, ["ETag: \"a\"", line, Self.range])
    let after = updated(before, with: answer, to: request(), requestTime: start, responseTime: start)
    #expect(after.fields.all(try #require(FieldName(String(name)))).map(\.string) == ["before"])
  }

  @Test(arguments: [206, 304]) func aLaterAnswerMayStateTheDigestOfTheWhole(_ status: Int) throws {
    let lines = ["ETag: \"a\"", "Repr-Digest: sha-256=:AA==:"] + (status == 206 ? [Self.range] : [])
    let after = updated(
      stored(["ETag: \"a\""]), with: response(status, lines), to: request(), requestTime: start, responseTime: start)
    #expect(after.fields.first(.reprDigest)?.string == "sha-256=:AA==:")
  }

  @Test func a304HasNoContentToSpeakOf() {
    let before = stored(["ETag: \"a\"", "Content-Digest: sha-256=:AQ==:"])
    let answer = response(304, ["ETag: \"a\"", "Content-Digest: sha-256=:AA==:"])
    let after = updated(before, with: answer, to: request(), requestTime: start, responseTime: start)
    #expect(after.fields.first(.contentDigest)?.string == "sha-256=:AQ==:")
  }
}
