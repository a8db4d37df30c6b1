// Every way in which one answer of an origin may be wrong, late or cut, and what must become of the response then.
import TestSupport

/// One fault of one answer to a request for the rest, or for a gap, of a stored object.
struct AnswerFault: Sendable {
  /// What the client sees of a response that has begun when the fault comes.
  enum Begun: Sendable {
    /// Nothing: its bytes are right and whole.
    case clean
    /// A cut: what has gone out is of another version than what can be had, or cannot be had at all.
    case cut
  }

  /// What the client sees where nothing has gone out yet.
  enum Unbegun: Sendable {
    case clean
    /// The origin's own answer, or the proxy's word that there was none that could be used.
    case status(Int)
    /// Either: an answer may be asked for again.
    case cleanOr(Int)
  }

  /// What the origin sends beyond one copy of the object, the object being fetched whole afterwards.
  enum Cost: Sendable {
    /// Nothing: what the faulty answer brought is used.
    case nothing
    /// What the faulty answer brought, and nothing else.
    case answer
    /// At most one copy more, where nothing but the whole could be asked for.
    case whole
    /// Not judged: the object is taken for changed.
    case unknown
  }

  let name: String
  let begun: Begun
  let unbegun: Unbegun
  let cost: Cost
  let change: @Sendable (inout PartialResponse) -> Void

  init(
    _ name: String, begun: Begun = .clean, unbegun: Unbegun = .clean, cost: Cost,
    _ change: @escaping @Sendable (inout PartialResponse) -> Void
  ) {
    self.name = name
    self.begun = begun
    self.unbegun = unbegun
    self.cost = cost
    self.change = change
  }

  /// The size of the object, and its bytes now and after a change.
  static let size = 100_000
  static let body = PatternBody(seed: 401, size: size)
  static let newer = PatternBody(seed: 402, size: size)
  static let longer = PatternBody(seed: 402, size: size + 1)
  static let versions = Versions([.init("\"v1\"", body), .init("\"v2\"", newer), .init("\"v2\"", longer)])

  private static func relabel(_ name: String, cost: Cost = .whole, _ text: @escaping @Sendable (Int, Int) -> String)
    -> AnswerFault
  {
    AnswerFault(name, cost: cost) { $0.contentRange = [text($0.bytes.lowerBound, $0.bytes.upperBound - 1)] }
  }

  static let contentRanges = [
    relabel("starts one earlier") { "bytes \($0 - 1)-\($1 - 1)/\(size)" },
    relabel("starts one later") { "bytes \($0 + 1)-\($1)/\(size)" },
    relabel("starts at zero") { "bytes 0-\($1 - $0)/\(size)" },
    relabel("ends one later") { "bytes \($0)-\($1 + 1)/\(size)" },
    relabel("ends one earlier than its length says") { "bytes \($0)-\($1 - 1)/\(size)" },
    relabel("the total is unknown") { "bytes \($0)-\($1)/*" },
    relabel("the total lies before the end") { "bytes \($0)-\($1)/\($1)" },
    relabel("no total") { "bytes \($0)-\($1)" },
    relabel("reversed") { "bytes \($1)-\($0)/\(size)" },
    relabel("another unit") { "lines \($0)-\($1)/\(size)" },
    relabel("no number") { first, _ in "bytes \(first)-x/\(size)" },
    relabel("a number beyond all bounds") { first, _ in "bytes \(first)-99999999999999999999/99999999999999999999" },
    relabel("of a 416") { _, _ in "bytes */\(size)" },
    AnswerFault("no Content-Range", cost: .whole) { $0.contentRange = [] },
    AnswerFault("two Content-Ranges", cost: .whole) { $0.contentRange += ["bytes 0-1/\(size)"] },
    AnswerFault("another total", begun: .cut, cost: .unknown) {
      $0.contentRange = ["bytes \($0.bytes.lowerBound)-\($0.bytes.upperBound - 1)/\(size + 1)"]
    },
  ]

  static let validators = [
    AnswerFault("another tag", begun: .cut, cost: .unknown) {
      $0.tag = "\"v2\""
      $0.body = newer
    },
    AnswerFault("a weak tag", begun: .cut, cost: .unknown) { $0.tag = "W/\"v1\"" },
    AnswerFault("no tag", cost: .whole) { $0.tag = nil },
    AnswerFault("a tag without quotes", begun: .cut, cost: .unknown) { $0.tag = "v1" },
    AnswerFault("412", begun: .cut, cost: .unknown) { $0.say("412 Precondition Failed") },
    AnswerFault("another coding", cost: .whole) { $0.fields.append(("Content-Encoding", "gzip")) },
  ]

  static let lengths = [
    AnswerFault("an honest shorter part", cost: .nothing) {
      $0.bytes = $0.bytes.prefix(5000)
      $0.contentRange = ["bytes \($0.bytes.lowerBound)-\($0.bytes.upperBound - 1)/\(size)"]
      $0.length = ["5000"]
    },
    AnswerFault("an honest single byte", cost: .nothing) {
      $0.bytes = $0.bytes.prefix(1)
      $0.contentRange = ["bytes \($0.bytes.lowerBound)-\($0.bytes.lowerBound)/\(size)"]
      $0.length = ["1"]
    },
    AnswerFault("shorter than promised", cost: .nothing) { $0.cut(after: 5000) },
    AnswerFault("shorter than promised, half-closed", cost: .nothing) { $0.cut(after: 5000, .halfClosed) },
    AnswerFault("shorter than promised, reset", cost: .whole) { $0.cut(after: 5000, .reset) },
    AnswerFault("nothing of what was promised", cost: .nothing) { $0.cut(after: 0) },
    AnswerFault("more than promised", cost: .nothing) { $0.suffix = "more than was promised" },
    AnswerFault("another response behind it", cost: .nothing) {
      $0.suffix = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCache-Control: max-age=60\r\n\r\nwrong"
    },
    AnswerFault("a larger Content-Length", cost: .whole) { $0.length = ["\($0.bytes.count + 10)"] },
    AnswerFault("a smaller Content-Length", cost: .whole) { $0.length = ["\($0.bytes.count - 10)"] },
    AnswerFault("two Content-Lengths", unbegun: .cleanOr(502), cost: .answer) { $0.length += ["7"] },
    AnswerFault("no Content-Length", cost: .nothing) {
      $0.length = []
      $0.end = .finished
    },
    AnswerFault("no Content-Length, and shorter", cost: .nothing) {
      $0.length = []
      $0.cut(after: 5000)
    },
    AnswerFault("chunked", cost: .nothing) {
      $0.length = []
      $0.isChunked = true
    },
    AnswerFault("chunked, and its last chunk comes early", cost: .nothing) {
      $0.length = []
      $0.isChunked = true
      $0.bytes = $0.bytes.prefix(5000)
    },
    AnswerFault("chunked, and its last chunk comes late", cost: .whole) {
      $0.length = []
      $0.isChunked = true
      $0.surplus = "more than was promised"
    },
    AnswerFault("chunked, and cut", cost: .nothing) {
      $0.length = []
      $0.isChunked = true
      $0.cut(after: 5000)
    },
    AnswerFault("chunked, with a length that is wrong", unbegun: .cleanOr(502), cost: .answer) {
      $0.length = ["5"]
      $0.isChunked = true
    },
    AnswerFault("a transfer coding that nobody knows", unbegun: .cleanOr(502), cost: .answer) {
      $0.fields.append(("Transfer-Encoding", "bzip2, chunked"))
    },
    AnswerFault("of HTTP/1.0", cost: .nothing) {
      $0.version = "HTTP/1.0"
      $0.end = .finished
    },
  ]

  private static let several = "multipart/byteranges; boundary=x"

  static let wholes = [
    AnswerFault("200 with the same tag", cost: .whole) { $0.makeWhole() },
    AnswerFault("200 with the same tag, chunked", cost: .whole) {
      $0.makeWhole()
      $0.length = []
      $0.isChunked = true
    },
    AnswerFault("200 with the same tag, delimited by close", cost: .whole) {
      $0.makeWhole()
      $0.length = []
      $0.end = .finished
    },
    AnswerFault("200 with the same tag, cut before what is missing", cost: .whole) {
      $0.makeWhole()
      $0.cut(after: 1000)
    },
    AnswerFault("200 with the same tag, cut late", cost: .whole) {
      $0.makeWhole()
      $0.cut(after: size - 1000)
    },
    AnswerFault("200 with another tag", begun: .cut, cost: .unknown) {
      $0.makeWhole()
      $0.tag = "\"v2\""
      $0.body = newer
    },
    AnswerFault("200 with another tag and length", begun: .cut, cost: .unknown) {
      $0.body = longer
      $0.makeWhole()
      $0.tag = "\"v2\""
    },
    AnswerFault("200 with a weak tag", begun: .cut, cost: .unknown) {
      $0.makeWhole()
      $0.tag = "W/\"v1\""
    },
    AnswerFault("200 without a tag", begun: .cut, cost: .unknown) {
      $0.makeWhole()
      $0.tag = nil
    },
    AnswerFault("200 in another coding", begun: .cut, cost: .unknown) {
      $0.makeWhole()
      $0.fields.append(("Content-Encoding", "gzip"))
    },
    AnswerFault("multipart to a single range", cost: .whole) {
      $0.fields.append(("Content-Type", several))
      $0.contentRange = []
    },
    AnswerFault("multipart with the range in its head", cost: .whole) {
      $0.fields.append(("Content-Type", several))
      $0.body = newer
    },
  ]

  private static func refusal(_ status: String, begun: Begun = .clean, _ fields: [(String, String)] = []) -> AnswerFault
  {
    let code = Int(status.prefix(3)) ?? 0
    let said = fields.map { " and \($0.0): \($0.1)" }.joined()
    return AnswerFault("\(status)\(said)", begun: begun, unbegun: .status(code), cost: .answer) {
      $0.say(status, fields)
    }
  }

  static let refusals = [
    refusal("503 Service Unavailable", [("Retry-After", "0")]),
    refusal("503 Service Unavailable", [("Retry-After", "1")]),
    refusal("503 Service Unavailable", [("Retry-After", "soon")]),
    refusal("503 Service Unavailable", [("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT")]),
    refusal("503 Service Unavailable", begun: .cut, [("Retry-After", "86400")]),
    refusal("503 Service Unavailable", begun: .cut, [("Retry-After", "99999999999999999999")]),
    refusal("429 Too Many Requests", [("Retry-After", "0")]), refusal("429 Too Many Requests"),
    refusal("500 Internal Server Error"), refusal("502 Bad Gateway"), refusal("504 Gateway Timeout"),
    refusal("408 Request Timeout"), refusal("425 Too Early"),
    refusal("404 Not Found", begun: .cut), refusal("403 Forbidden", begun: .cut), refusal("410 Gone", begun: .cut),
    refusal("401 Unauthorized", begun: .cut, [("WWW-Authenticate", "Basic")]),
    refusal("302 Found", begun: .cut, [("Location", "/elsewhere")]),
    AnswerFault("304", cost: .whole) { $0.say("304 Not Modified", [("ETag", "\"v1\"")]) },
    AnswerFault("416 with the same total", cost: .whole) {
      $0.say("416 Range Not Satisfiable", [("Content-Range", "bytes */\(size)")])
    },
    AnswerFault("416 without a total", cost: .whole) { $0.say("416 Range Not Satisfiable") },
    AnswerFault("416 with another total", begun: .cut, cost: .unknown) {
      $0.say("416 Range Not Satisfiable", [("Content-Range", "bytes */\(size / 2)")])
    },
    AnswerFault("416 with the asked position for a total", begun: .cut, cost: .unknown) {
      let asked = $0.bytes.lowerBound
      $0.say("416 Range Not Satisfiable", [("Content-Range", "bytes */\(asked)")])
    },
  ]

  static let connections = [
    AnswerFault("no answer", unbegun: .cleanOr(502), cost: .answer) { $0.cutHead(after: 0, .finished) },
    AnswerFault("no answer, reset", unbegun: .cleanOr(502), cost: .answer) { $0.cutHead(after: 0, .reset) },
    AnswerFault("no HTTP", unbegun: .cleanOr(502), cost: .answer) {
      $0.prefix = "220 ready to transfer\r\n"
      $0.cut(after: 0)
    },
    AnswerFault("100 first", cost: .nothing) { $0.prefix = "HTTP/1.1 100 Continue\r\n\r\n" },
    AnswerFault("103 first, twice", cost: .nothing) {
      $0.prefix = String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 2)
    },
    AnswerFault("101", unbegun: .cleanOr(502), cost: .answer) {
      $0.prefix = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
    },
  ]

  static let all = contentRanges + validators + lengths + wholes + refusals + connections

  /// Answers that come to a standstill.
  static func stalls(until gate: ManualGate) -> [AnswerFault] {
    [
      AnswerFault("stalls before its head", unbegun: .cleanOr(504), cost: .answer) {
        $0.cutHead(after: 0, .stalled(gate))
      },
      AnswerFault("stalls in its head", unbegun: .cleanOr(504), cost: .answer) {
        $0.cutHead(after: 40, .stalled(gate))
      },
      AnswerFault("stalls behind its head", cost: .nothing) { $0.cut(after: 0, .stalled(gate)) },
      AnswerFault("stalls in its body", cost: .nothing) { $0.cut(after: 5000, .stalled(gate)) },
      AnswerFault("stalls in a chunk", cost: .nothing) {
        $0.length = []
        $0.isChunked = true
        $0.cut(after: 5000, .stalled(gate))
      },
    ]
  }

  /// A head that ends with the connection after so many of its bytes.
  static func truncatedHead(_ count: Int, _ end: PartialResponse.End) -> AnswerFault {
    AnswerFault("head cut after \(count) bytes, \(end)", unbegun: .cleanOr(502), cost: .answer) {
      $0.cutHead(after: count, end)
    }
  }
}

extension PartialResponse {
  /// Ends the connection after so many bytes of the head.
  mutating func cutHead(after count: Int, _ end: End) {
    headLimit = count
    self.end = end
  }
}
