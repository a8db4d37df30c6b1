// List fields and the fields of one hop (RFC 9110 §5.6.1, §7.6.1), and Accept (§12.5.1).

import HTTPMessage
import Testing

@Suite struct FieldListTests {
  struct List: Sendable {
    let lines: [String]
    let members: [String]
  }

  static func fields(_ name: FieldName, _ lines: [String]) -> Fields {
    var fields = Fields()
    for value in lines.compactMap({ FieldValue($0) }) { fields.append(name, value) }
    return fields
  }

  @Test(
    "RFC 9110 §5.6.1: members of lists",
    arguments: [
      List(lines: [], members: []),
      List(lines: [""], members: []),
      List(lines: ["a"], members: ["a"]),
      List(lines: ["a,b"], members: ["a", "b"]),
      List(lines: [" a ,\tb "], members: ["a", "b"]),
      List(lines: [",,a, ,b,"], members: ["a", "b"]),
      List(lines: ["a, b", "c"], members: ["a", "b", "c"]),
      List(lines: ["a=\"b, c\", d"], members: ["a=\"b, c\"", "d"]),
      List(lines: ["a=\"b\\\", c\", d"], members: ["a=\"b\\\", c\"", "d"]),
      List(lines: ["a=\"b, c"], members: ["a=\"b, c"]),
      List(lines: ["\"a\\"], members: ["\"a\\"]),
      List(lines: ["a=\"b", "c\", d"], members: ["a=\"b", "c\", d"]),
      List(lines: ["a b, c"], members: ["a b", "c"]),
    ])
  func members(_ list: List) {
    #expect(FieldListTests.fields(.cacheControl, list.lines).listMembers(.cacheControl) == list.members)
  }

  @Test(
    "RFC 9110 §5.6.1: a member is found whole and in any case",
    arguments: [("close", true), ("CLOSE", true), ("clos", false), ("closed", false), ("x", true), ("y\"", false)])
  func hasMember(_ token: String, _ isThere: Bool) {
    let fields = FieldListTests.fields(.connection, ["x, Close", "\"y\""])
    #expect(fields.hasListMember(.connection, token) == isThere)
  }

  @Test("RFC 9110 §7.6.1: Connection, what it names, and the fields of one hop go; the rest stays") func hopByHop() {
    var fields: Fields = [
      "Connection": "close, X-Named", "Keep-Alive": "timeout=5", "Host": "a", "connection": "\tx-too ,TE",
      "TE": "trailers",
      "Proxy-Connection": "keep-alive", "Transfer-Encoding": "chunked", "Upgrade": "websocket", "x-named": "1",
      "X-Too": "2",
      "Proxy-Authorization": "Basic x", "Proxy-Authenticate": "Basic", "Proxy-Authentication-Info": "x",
      "X-Named-Not": "3", "Trailer": "X-Sum", "Cache-Control": "no-cache",
    ]
    fields.removeHopByHop()
    #expect(fields == ["Host": "a", "X-Named-Not": "3", "Trailer": "X-Sum", "Cache-Control": "no-cache"])
  }

  @Test("RFC 9112 §11.2: Connection can't strip what says where a message goes and ends") func guarded() {
    var fields: Fields = [
      "Connection": "Host, Content-Length, Cookie", "Host": "a", "Content-Length": "5", "Cookie": "x",
    ]
    fields.removeHopByHop()
    #expect(fields == ["Host": "a", "Content-Length": "5"])
  }

  @Test("Without fields of one hop nothing changes") func nothingToRemove() {
    var fields: Fields = ["Host": "a", "A": "b"]
    fields.removeHopByHop()
    #expect(fields == ["Host": "a", "A": "b"])
  }

  @Test(
    "RFC 9110 §12.5.1: who gets HTML",
    arguments: [
      ("text/html,application/xhtml+xml,*/*;q=0.8", true), ("TEXT/HTML", true), ("text/html;q=0.1", true),
      ("a/b, text/html ; q=0.001", true), ("*/*", false), ("text/*", false), ("text/html;q=0", false),
      ("text/html; q=0.000", false), ("text/plain", false), ("", false), ("text/htmlx", false),
    ])
  func html(_ accept: String, _ isPreferred: Bool) {
    #expect(prefersHTML(FieldListTests.fields(.accept, [accept])) == isPreferred)
  }

  @Test("Without Accept nobody gets HTML") func noAccept() { #expect(!prefersHTML(Fields())) }
}

/// A value that a test takes for granted.
func fieldValue(_ text: String) throws -> FieldValue { try #require(FieldValue(text)) }
