// One URI has one key, two URIs have two, and unsafe requests invalidate the right ones.
import CachePolicy
import HTTPMessage
import Testing

@Suite struct CacheKeys {
  @Test(arguments: [
    ("http://a/", "http://a/"), ("HTTP://A.Example:80", "http://a.example/"), ("https://a:443/x", "https://a/x"),
    ("http://a:443/x", "http://a:443/x"), ("http://[2001:DB8::1]/", "http://[2001:db8::1]/"),
    ("http://a/%7euser", "http://a/~user"), ("http://a/%41%2d%5F", "http://a/A-_"),
    ("http://a/%c3%a9", "http://a/%C3%A9"),
    ("http://a/%2f", "http://a/%2F"), ("http://a/%", "http://a/%"), ("http://a/%4", "http://a/%4"),
    ("http://a/%zz%4a", "http://a/%zzJ"), ("http://a?q", "http://a/?q"), ("http://a/?q=%61&b", "http://a/?q=a&b"),
    ("http://a/%252f", "http://a/%252f"), ("http://a/A", "http://a/A"), ("http://a/x/", "http://a/x/"),
    ("http://a/b/../c", "http://a/b/../c"), ("http://a/%2e%2e/c", "http://a/%2E%2E/c"), ("http://a/?", "http://a/?"),
  ])
  func haveANormalForm(_ text: String, _ key: String) throws {
    #expect(CacheKey(try target(text)).text == key, "RFC 9110 §4.2.3, RFC 3986 §6.2.2")
  }

  @Test(arguments: [
    "http://a/", "https://a/", "http://a:81/", "http://b/", "http://a/A", "http://a/a", "http://a/a?", "http://a/a?b",
    "http://a/a?B", "http://a/a/", "http://a/%2F", "http://a//", "http://a/%252F",
  ])
  func keepDifferentURIsApart(_ text: String) throws {
    let key = CacheKey(try target(text))
    // Normalising a key again changes nothing, and no other URI of the list has it.
    #expect(CacheKey(try target(key.text)) == key)
    let others = [
      "http://a/", "https://a/", "http://a:81/", "http://b/", "http://a/A", "http://a/a", "http://a/a?",
      "http://a/a?b", "http://a/a?B", "http://a/a/", "http://a/%2F", "http://a//", "http://a/%252F",
    ].filter { $0 != text }
    for other in others { #expect(CacheKey(try target(other)) != key) }
  }
}

@Suite struct Invalidation {
  struct Row: Sendable {
    let method: String
    let status: Int
    let lines: [String]
    let expected: [String]

    init(_ method: String, _ status: Int, _ lines: [String], _ expected: [String]) {
      self.method = method
      self.status = status
      self.lines = lines
      self.expected = expected
    }

    init(_ method: String, _ status: Int, _ expected: [String]) {
      self.init(method, status, [], expected)
    }
  }

  static let rows: [Row] = [
    Row("POST", 200, ["http://a/x/y"]), Row("PUT", 204, ["http://a/x/y"]), Row("DELETE", 302, ["http://a/x/y"]),
    Row("PATCH", 200, ["http://a/x/y"]), Row("M-SEARCH", 200, ["http://a/x/y"]), Row("POST", 399, ["http://a/x/y"]),
    Row("GET", 200, []), Row("HEAD", 200, []), Row("OPTIONS", 200, []), Row("TRACE", 200, []),
    Row("POST", 400, []), Row("POST", 500, []), Row("PUT", 404, []), Row("POST", 100, []),
    Row("POST", 201, ["Location: http://a/n"], ["http://a/x/y", "http://a/n"]),
    Row("POST", 201, ["Location: n"], ["http://a/x/y", "http://a/x/n"]),
    Row("POST", 201, ["Location: /%6e"], ["http://a/x/y", "http://a/n"]),
    Row("POST", 200, ["Content-Location: ../m"], ["http://a/x/y", "http://a/m"]),
    Row("POST", 201, ["Location: /n", "Content-Location: /m"], ["http://a/x/y", "http://a/n", "http://a/m"]),
    Row("POST", 201, ["Location: /n", "Content-Location: http://A:80/n"], ["http://a/x/y", "http://a/n"]),
    Row("POST", 200, ["Content-Location: http://a/x/y"], ["http://a/x/y"]),
    Row("POST", 201, ["Location: http://b/n"], ["http://a/x/y"]),
    Row("POST", 201, ["Location: https://a/n"], ["http://a/x/y"]),
    Row("POST", 201, ["Location: http://a:81/n"], ["http://a/x/y"]),
    Row("POST", 201, ["Location: //b/n"], ["http://a/x/y"]),
    Row("POST", 201, ["Location: ftp://a/n"], ["http://a/x/y"]),
    Row("POST", 400, ["Location: /n"], []),
  ]

  @Test(arguments: rows) func concernsTheOriginsOwnURIs(_ row: Row) throws {
    let method = try #require(Method(row.method))
    let keys = invalidatedKeys(
      by: response(row.status, row.lines), to: method, target: try target("http://a/x/y"))
    #expect(keys.map(\.text) == row.expected, "RFC 9111 §4.4: \(row.method) \(row.status) \(row.lines)")
  }
}
