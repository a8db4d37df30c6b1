// The stage on which tables of the letter of HTTP are played: one proxy and one scripted origin for a whole suite.
import Foundation
import TestSupport
import Testing

/// One line of a table: what the origin answers, what a client asks, and what comes of it.
///
/// Every row has a URL of its own. Time is moved by `Age` and by dates; `{-60}` in a field stands for the HTTP date a
/// minute ago, `{850:-60}` and `{asctime:-60}` for the same in the two obsolete forms; `{path}` is the row's own path.
struct Row: CustomTestStringConvertible, Sendable {
  /// The RFC and its section, and what is checked of it.
  let section: String
  let answers: [Answer]
  let steps: [Step]

  init(_ section: String, _ answers: [Answer], _ steps: [Step]) {
    self.section = section
    self.answers = answers
    self.steps = steps
  }

  var testDescription: String { section }
}

/// The most frequent row: one kind of answer, asked for twice.
func twice(_ section: String, _ fields: [String], _ second: Step, first: Step = .fetched()) -> Row {
  Row(section, [Answer(fields)], [first, second])
}

/// One row for each status.
func rows(for statuses: [Int], _ row: (Int) -> Row) -> [Row] { statuses.map(row) }

/// One row for each text.
func rows(for texts: [String], _ row: (String) -> Row) -> [Row] { texts.map(row) }

/// What the origin answers to one request of a row; the last one answers all that follow.
struct Answer: ExpressibleByArrayLiteral, Sendable {
  /// 0 closes the connection without a word.
  var status = 200
  var fields: [String] = []
  /// Nil says which request of the row this was: `answer 0`, `answer 1`, and so on.
  var body: String?
  /// Sent in chunks, so that the length is not known beforehand.
  var isChunked = false

  /// Fields, after the words that are no fields: a status, `body=…`, `chunked`, `close`.
  init(_ words: [String]) {
    for word in words {
      if let number = Int(word) {
        status = number
      } else if word == "close" {
        status = 0
      } else if word == "chunked" {
        isChunked = true
      } else if word.hasPrefix("body=") {
        body = String(word.dropFirst(5))
      } else {
        fields.append(word)
      }
    }
  }

  init(arrayLiteral words: String...) { self.init(words) }
}

/// One request of a client and what is expected of the answer.
struct Step: Sendable {
  /// Where the response comes from.
  enum Source: Sendable {
    /// The origin was asked, and this is what it said.
    case origin
    /// The origin was not asked.
    case store
    /// The origin was asked, and what is stored was served.
    case validated
    /// The proxy itself, the origin was not asked.
    case proxy
  }

  var source: Source
  var method = "GET"
  var fields: [String] = []
  var body: String?
  /// Nil is 200, and for the proxy itself 504.
  var status: Int?
  /// Which of the row's answers the body is; nil is the newest for the origin, and the first one for the store.
  var answer: Int?
  /// The body as a text, where it is not a whole answer; `*` is any.
  var text: String?
  /// Fields that the response has: `Name: value`, or only `Name`.
  var has: [String] = []
  /// Fields that it has not: `Name`, or `Name: value` for a value.
  var lacks: [String] = []
  /// Fields that the origin was asked with.
  var asks: [String] = []
  /// Fields that the origin was not asked with.
  var omits: [String] = []
  /// What our member of Cache-Status has.
  var says: [String] = []
  /// Asked of this path below the row's own, instead of the row's own.
  var path = ""

  static func fetched(
    _ fields: String..., method: String = "GET", body: String? = nil, status: Int? = nil, answer: Int? = nil,
    text: String? = nil, has: [String] = [], lacks: [String] = [], asks: [String] = [], omits: [String] = [],
    says: [String] = [], path: String = ""
  ) -> Step {
    Step(
      source: .origin, method: method, fields: fields, body: body, status: status, answer: answer, text: text, has: has,
      lacks: lacks, asks: asks, omits: omits, says: says, path: path)
  }

  static func stored(
    _ fields: String..., method: String = "GET", status: Int? = nil, answer: Int? = nil, text: String? = nil,
    has: [String] = [], lacks: [String] = [], says: [String] = [], path: String = ""
  ) -> Step {
    Step(
      source: .store, method: method, fields: fields, status: status, answer: answer, text: text, has: has,
      lacks: lacks, says: says, path: path)
  }

  static func validated(
    _ fields: String..., method: String = "GET", status: Int? = nil, answer: Int? = nil, text: String? = nil,
    has: [String] = [], lacks: [String] = [], asks: [String] = [], omits: [String] = [], says: [String] = [],
    path: String = ""
  ) -> Step {
    Step(
      source: .validated, method: method, fields: fields, status: status, answer: answer, text: text, has: has,
      lacks: lacks, asks: asks, omits: omits, says: says, path: path)
  }

  static func refused(_ fields: String..., method: String = "GET", status: Int = 504, says: [String] = []) -> Step {
    Step(source: .proxy, method: method, fields: fields, status: status, says: says)
  }
}

/// A proxy and an origin that all rows of a suite share.
final class LetterStage: Sendable {
  /// The stage of the running suite.
  @TaskLocal static var current: LetterStage?

  let larder: LarderProcess
  private let origin: ScriptedOrigin
  private let state: Monitor<State>

  private struct State {
    var rows = 0
    var played: [String: Played] = [:]
  }

  private struct Played {
    let row: Row
    /// The moment that its dates are reckoned from.
    let start: Date
    var requests: [RecordedRequest] = []
  }

  init(_ rig: Rig, settings: [String: String]) throws {
    let state = Monitor(State())
    self.state = state
    origin = try rig.origin { try LetterStage.answer($0, state) }
    larder = try rig.larder(settings)
  }

  private static func answer(_ exchange: Exchange, _ state: Monitor<State>) throws {
    let target = exchange.request.target
    let path = "/" + (target.split { $0 == "/" || $0 == "?" }.first.map(String.init) ?? "")
    try exchange.readBody()
    let taken = state.withLock { state -> (Answer, Int, Date)? in
      guard let row = state.played[path]?.row, let start = state.played[path]?.start else { return nil }
      let number = state.played[path]?.requests.count ?? 0
      state.played[path]?.requests.append(exchange.request)
      return (row.answers[min(number, row.answers.count - 1)], number, start)
    }
    guard let (answer, number, start) = taken else { return try exchange.respond("404 Not Found") }
    guard answer.status > 0 else { return exchange.reset() }
    let text = answer.body ?? "answer \(number)"
    var lines = answer.fields.map { withDates($0.replacingOccurrences(of: "{path}", with: path), from: start) }
    let hasBody = answer.status != 204 && answer.status != 304
    if answer.isChunked {
      lines.append("Transfer-Encoding: chunked")
    } else if hasBody, !lines.contains(where: { $0.lowercased().hasPrefix("content-length:") }) {
      lines.append("Content-Length: \(text.utf8.count)")
    }
    try exchange.raw((["HTTP/1.1 \(answer.status) Said"] + lines).joined(separator: "\r\n") + "\r\n\r\n")
    guard hasBody, exchange.request.method != "HEAD" else { return }
    if answer.isChunked {
      try exchange.chunk(Array(text.utf8))
      try exchange.lastChunk()
    } else {
      try exchange.body(Array(text.utf8))
    }
  }

  /// Plays one row on a connection of its own, and records an issue for every step that goes another way.
  func play(_ row: Row, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let start = Date()
    let path = state.withLock { state -> String in
      state.rows += 1
      state.played["/row-\(state.rows)"] = Played(row: row, start: start)
      return "/row-\(state.rows)"
    }
    let client = try RawClient(port: larder.port)
    defer { client.close() }
    for (number, step) in row.steps.enumerated() {
      let before = requests(path).count
      let response = try send(step, path, client, start)
      let asked = Array(requests(path)[before...])
      for fault in faults(of: response, asked, step, before: before, start) {
        Issue.record(
          """
          RFC \(row.section), step \(number + 1): \(fault)
          \(response.head)
          \(response.text.prefix(200))
          the origin was asked:
          \(asked.map(\.head.description).joined(separator: "\n\n"))
          """, sourceLocation: sourceLocation)
      }
    }
  }

  private func requests(_ path: String) -> [RecordedRequest] { state.withLock { $0.played[path]?.requests ?? [] } }

  private func send(_ step: Step, _ path: String, _ client: RawClient, _ start: Date) throws -> RawResponse {
    let url = origin.url(path + step.path)
    var lines = ["\(step.method) \(url) HTTP/1.1", "Host: 127.0.0.1:\(origin.port)"]
    lines += step.fields.map { Self.withDates($0, from: start) }
    if let body = step.body { lines.append("Content-Length: \(body.utf8.count)") }
    try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (step.body ?? ""))
    return try client.response(to: step.method)
  }

  private func faults(
    of response: RawResponse, _ asked: [RecordedRequest], _ step: Step, before: Int, _ start: Date
  ) -> [String] {
    var faults: [String] = []
    let isFromProxy = step.source == .proxy
    let status = step.status ?? (isFromProxy ? 504 : 200)
    if response.status != status { faults.append("status \(response.status) instead of \(status)") }
    let isAsked = step.source == .origin || step.source == .validated
    if asked.isEmpty == isAsked { faults.append(isAsked ? "the origin was not asked" : "the origin was asked") }
    let answer = step.answer ?? (step.source == .origin ? before : 0)
    let expected = step.text ?? "answer \(answer)"
    let hasBody = step.method != "HEAD" && ![204, 304, 416].contains(status) && !isFromProxy
    if hasBody, expected != "*", response.text != expected {
      faults.append("the body is “\(response.text)”, not “\(expected)”")
    }
    for field in step.has where !Self.has(field, response.head, start) {
      faults.append("it lacks \(Self.withDates(field, from: start))")
    }
    for field in step.lacks where Self.has(field, response.head, start) { faults.append("it has \(field)") }
    for field in step.asks where !(asked.first.map { Self.has(field, $0.head, start) } ?? false) {
      faults.append("the origin was not asked with \(field)")
    }
    for field in step.omits where asked.first.map({ Self.has(field, $0.head, start) }) ?? false {
      faults.append("the origin was asked with \(field)")
    }
    let own = response.head.all("Cache-Status").last ?? ""
    let parameters = own.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
    for word in step.says where !parameters.contains(where: { Self.says($0, word) }) {
      faults.append("Cache-Status does not say \(word): \(own)")
    }
    if step.source == .store, response.head.first("Age") == nil { faults.append("what is stored has no Age") }
    return faults
  }

  private static func has(_ field: String, _ head: MessageHead, _ start: Date) -> Bool {
    let parts = withDates(field, from: start).split(separator: ":", maxSplits: 1)
      .map { $0.trimmingCharacters(in: .whitespaces) }
    let values = head.all(parts[0])
    if parts.count == 1 { return !values.isEmpty }
    // What is stored grows older while the row is played.
    if parts[0] == "Age", let least = Int(parts[1]) {
      return values.compactMap { Int($0) }.contains { (least...least + Self.patience).contains($0) }
    }
    return values.contains(parts[1])
  }

  private static func says(_ parameter: String, _ word: String) -> Bool {
    guard word.hasPrefix("ttl="), let most = Int(word.dropFirst(4)), let found = Int(parameter.dropFirst(4)) else {
      return parameter == word
    }
    return parameter.hasPrefix("ttl=") && (most - patience...most).contains(found)
  }

  /// How many seconds a row may take, where it makes a difference.
  private static let patience = 60

  /// Puts dates in the place of their braces.
  static func withDates(_ text: String, from start: Date) -> String {
    guard let open = text.firstIndex(of: "{"), let close = text.firstIndex(of: "}") else { return text }
    let inner = text[text.index(after: open)..<close].split(separator: ":")
    guard let seconds = inner.last.flatMap({ Double($0) }) else { return text }
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "GMT")
    switch inner.count > 1 ? inner[0] : "" {
    case "850": format.dateFormat = "EEEE, dd-MMM-yy HH:mm:ss 'GMT'"
    case "asctime": format.dateFormat = "EEE MMM 'DD' HH:mm:ss yyyy"
    case _: format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    }
    let moment = start.addingTimeInterval(seconds)
    let day = Calendar.gmt.component(.day, from: moment)
    let date = format.string(from: moment).replacingOccurrences(of: "DD", with: day < 10 ? " \(day)" : "\(day)")
    return text[..<open] + date + text[text.index(after: close)...]
  }
}

extension Calendar {
  fileprivate static let gmt = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(identifier: "GMT") ?? calendar.timeZone
    return calendar
  }()
}

/// Gives a suite a stage of its own, for all its rows.
struct OnLetterStage: SuiteTrait, TestScoping {
  let settings: [String: String]
  var isRecursive: Bool { false }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    try await withSharedRig { rig in
      let stage = try LetterStage(rig, settings: settings)
      try await LetterStage.$current.withValue(stage) { try await function() }
    }
  }
}

extension Trait where Self == OnLetterStage {
  static func larder(_ settings: [String: String] = [:]) -> Self { OnLetterStage(settings: settings) }
}

/// Plays a row on the stage of its suite.
func play(_ row: Row, sourceLocation: SourceLocation = #_sourceLocation) throws {
  try #require(LetterStage.current, "the suite has no stage").play(row, sourceLocation: sourceLocation)
}
