// Cache-Status tells what happened, in the words of RFC 9211.
import CachePolicy
import HTTPMessage
import Testing

@Suite struct CacheStatusFields {
  struct Row: Sendable {
    let section: String
    let status: CacheStatus
    let text: String

    init(_ section: String, _ status: CacheStatus, _ text: String) {
      self.section = section
      self.status = status
      self.text = text
    }
  }

  static let rows: [Row] = [
    Row("2.1", CacheStatus(.hit), "hit"),
    Row("2.4", CacheStatus(.hit, ttl: 376), "hit; ttl=376"),
    Row("2.4", CacheStatus(.hit, ttl: -412), "hit; ttl=-412"),
    Row("2.2", CacheStatus(.forwarded(.uriMiss)), "fwd=uri-miss"),
    Row("2.3", CacheStatus(.forwarded(.stale, status: 304)), "fwd=stale; fwd-status=304"),
    Row("2.5", CacheStatus(.forwarded(.varyMiss, stored: true)), "fwd=vary-miss; stored"),
    Row("2.6", CacheStatus(.forwarded(.uriMiss, collapsed: true)), "fwd=uri-miss; collapsed"),
    Row("2.6", CacheStatus(.forwarded(.uriMiss, collapsed: false)), "fwd=uri-miss; collapsed=?0"),
    Row("2.7", CacheStatus(.hit, key: "http://a/\"b\\c"), "hit; key=\"http://a/\\\"b\\\\c\""),
    Row("2.8 of this proxy alone", CacheStatus(.local, detail: "refused"), "detail=refused"),
    Row("2.7 not ASCII", CacheStatus(.hit, key: "é\r\n"), "hit; key=\"????\""),
    Row("2.8 token", CacheStatus(.forwarded(.bypass), detail: "no-store"), "fwd=bypass; detail=no-store"),
    Row("2.8 string", CacheStatus(.hit, detail: "not a token"), "hit; detail=\"not a token\""),
    Row("2.8 string", CacheStatus(.hit, detail: "9lives"), "hit; detail=\"9lives\""),
    Row(
      "2", CacheStatus(.forwarded(.partial, status: 206, stored: true), ttl: 9, key: "k", detail: "d"),
      "fwd=partial; fwd-status=206; stored; ttl=9; key=\"k\"; detail=d"),
  ]

  @Test(arguments: rows) func spellOut(_ row: Row) {
    #expect(
      row.status.fieldValue(cache: CacheName("larder")).string == "larder; \(row.text)", "RFC 9211 §\(row.section)")
  }

  @Test func thereIsRoomForTheLongestOfAll() {
    let quotes = String(repeating: "\"", count: 99)
    let status = CacheStatus(
      .forwarded(.varyMiss, status: .min, stored: true, collapsed: false), ttl: .min, key: quotes, detail: quotes)
    let escaped = "\"" + String(repeating: "\\\"", count: 99) + "\""
    #expect(
      status.fieldValue(cache: CacheName(quotes)).string
        == "\(escaped); fwd=vary-miss; fwd-status=\(Int.min); collapsed=?0; stored; ttl=\(Int64.min); key=\(escaped); "
        + "detail=\(escaped)")
  }

  @Test(arguments: [
    ("larder-1f", "larder-1f"), ("a.example:80/x", "a.example:80/x"), ("CDN Company", "\"CDN Company\""),
    ("127.0.0.1", "\"127.0.0.1\""), ("", "\"\""),
  ])
  func nameTheCache(_ identifier: String, _ text: String) {
    #expect(CacheStatus(.hit).fieldValue(cache: CacheName(identifier)).string == "\(text); hit", "RFC 9211 §2")
  }

  @Test(arguments: rows) func areReadByOthers(_ row: Row) throws {
    let list = try #require(StructuredField.parseList(row.status.fieldValue(cache: CacheName("larder"))))
    guard list.count == 1, case .item(let item) = list[0] else {
      Issue.record("not one item")
      return
    }
    #expect(item.value == .token("larder"))
    #expect(item["ttl"] == row.status.ttl.map { .integer($0) }, "RFC 8941 §3.1.2")
    #expect((item["hit"] == .boolean(true)) == (row.status.handling == .hit), "RFC 8941 §3.3.6")
    #expect((item["fwd"] == nil) == [.hit, .local].contains(row.status.handling))
  }

  @Test func useTheRegisteredTokens() {
    let tokens = ["bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial"]
    #expect(ForwardReason.allCases.map(\.rawValue) == tokens, "RFC 9211 §2.2")
  }
}
