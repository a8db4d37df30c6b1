// What unsafe requests make invalid (RFC 9111 §4.4), against the whole program.
import Testing

@Suite(.larder()) struct LetterInvalidationTests {
  static let fresh = ["Cache-Control: max-age=60000"]

  /// One answer for all: the request in the middle is what counts.
  static func around(_ name: String, _ middle: Step, _ after: Step, by answer: [String] = fresh) -> Row {
    Row("9111 §4.4 \(name)", [Answer(fresh), Answer(answer), Answer(fresh)], [.fetched(), middle, after])
  }

  static let methods = rows(for: ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "X-UNKNOWN"]) { method in
    around(method, .fetched(method: method, body: "x"), .fetched())
  }
  @Test(arguments: methods) func method(_ row: Row) throws { try play(row) }

  static let safe = rows(for: ["OPTIONS", "TRACE"]) { method in
    around("\(method) is safe", .fetched(method: method), .stored())
  }
  @Test(arguments: safe) func safeMethod(_ row: Row) throws { try play(row) }

  static let successes = rows(for: [200, 201, 204, 301, 303]) { code in
    around("by a \(code)", .fetched(method: "POST", body: "x", status: code), .fetched(), by: ["\(code)"])
  }
  @Test(arguments: successes) func success(_ row: Row) throws { try play(row) }

  static let errors = rows(for: [400, 404, 409, 500, 503]) { code in
    around("not by a \(code)", .fetched(method: "POST", body: "x", status: code), .stored(), by: ["\(code)"])
  }
  @Test(arguments: errors) func error(_ row: Row) throws { try play(row) }

  static let targets: [Row] = [
    around("without content", .fetched(method: "DELETE"), .fetched()),
    around("HEAD for what is invalid", .fetched(method: "PUT", body: "x"), .fetched(method: "HEAD")),
    Row(
      "9111 §4.4 all variants", [["Cache-Control: max-age=60000", "Vary: X"]],
      [.fetched("X: 1"), .fetched("X: 2"), .fetched(method: "PUT", body: "x"), .fetched("X: 1"), .fetched("X: 2")]),
    Row(
      "9111 §4.4 nothing beside the target", [Answer(fresh)],
      [
        .fetched(path: "/a"), .fetched(path: "/b"), .fetched(method: "POST", body: "x", path: "/a"),
        .stored(answer: 1, path: "/b"), .fetched(path: "/a"),
      ]),
    Row(
      "9111 §4.4 a query is another target", [Answer(fresh)],
      [.fetched(path: "?a"), .fetched(method: "POST", body: "x"), .stored(path: "?a")]),
  ]
  @Test(arguments: targets) func target(_ row: Row) throws { try play(row) }

  static let places: [Row] = ["Location", "Content-Location"].flatMap { name -> [Row] in
    func place(_ what: String, _ value: String, status: Int = 200, _ after: Step) -> Row {
      Row(
        "9111 §4.4 \(name), \(what)", [Answer(fresh), Answer(["\(status)", "\(name): \(value)"]), Answer(fresh)],
        [.fetched(path: "/at"), .fetched(method: "POST", body: "x", status: status), after])
    }
    var kept = Step.stored()
    kept.path = "/at"
    var gone = Step.fetched()
    gone.path = "/at"
    return [
      place("a path", "{path}/at", gone),
      place("a 201", "{path}/at", status: 201, gone),
      place("relative", "at", status: 200, kept),
      place("of another origin", "http://other.example{path}/at", kept),
      place("of another scheme", "https://127.0.0.1{path}/at", kept),
      place("of an error", "{path}/at", status: 500, kept),
      place("of another place", "{path}/else", kept),
    ]
  }
  @Test(arguments: places) func place(_ row: Row) throws { try play(row) }
}
