// Tables of raw messages through the whole program: what a client sends and the origin gets, and the way back.
import TestSupport
import Testing

/// One request as a client sends it. `ORIGIN` stands for the origin's authority, `PORT` for its port.
struct RequestRow {
  enum Outcome {
    /// The client gets this status and the connection ends; nothing reaches the origin.
    case refused(Int)
    /// The proxy answers itself, and nothing reaches the origin.
    case answered(Int)
    /// The origin gets one request that has these field lines, none of those names, and this body.
    case reaches(_ fields: [String] = [], without: [String] = [], target: String? = nil, body: String = "")
  }

  let section: String
  let name: String
  let text: String
  let outcome: Outcome

  init(_ section: String, _ name: String, _ text: String, _ outcome: Outcome) {
    self.section = section
    self.name = name
    self.text = text
    self.outcome = outcome
  }

  /// A request to the origin whose field lines and body are these.
  static func lines(
    _ section: String, _ name: String, _ lines: String, method: String = "GET", body: String = "", _ outcome: Outcome
  ) -> RequestRow {
    RequestRow(
      section, name, "\(method) http://ORIGIN/row HTTP/1.1\r\nHost: ORIGIN\r\n\(lines)\r\n\(body)", outcome)
  }
}

/// Sends every row through one proxy to one origin.
func check(_ rows: [RequestRow], settings: [String: String] = [:]) throws {
  try withRig { rig in
    let origin = try rig.origin { exchange in
      try exchange.readBody()
      try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "from the origin")
    }
    let larder = try rig.larder(settings.merging(["workers": "1"]) { given, _ in given })
    for row in rows {
      do {
        try check(row, origin, larder)
      } catch {
        Issue.record("\(row.section): \(row.name): \(error)")
      }
    }
  }
}

private func check(_ row: RequestRow, _ origin: ScriptedOrigin, _ larder: LarderProcess) throws {
  let before = origin.requests.count
  let client = try RawClient(port: larder.port)
  defer { client.close() }
  let filled = { (text: String) in
    text.replacing("ORIGIN", with: "127.0.0.1:\(origin.port)").replacing("PORT", with: "\(origin.port)")
  }
  try client.send(filled(row.text))
  let response = try client.response(to: String(row.text.prefix { $0 != " " }))
  switch row.outcome {
  case .refused(let status):
    try demandEqual(response.status, status, "the status")
    try demand(response.field("Connection") == "close", "the response does not say close")
    try demand(try client.isEnded(), "the connection goes on")
    try demandEqual(origin.requests.count, before, "requests at the origin")
  case .answered(let status):
    try demandEqual(response.status, status, "the status")
    try demandEqual(origin.requests.count, before, "requests at the origin")
  case .reaches(let fields, let without, let target, let body):
    try demandEqual(response.status, 200, "the status")
    let requests = origin.requests.dropFirst(before)
    guard requests.count == 1, let request = requests.first else {
      throw HarnessError("\(requests.count) requests at the origin: \(requests.map(\.head.startLine))")
    }
    let lines = request.head.fields.map { "\($0.name): \($0.value)" }
    for field in fields {
      let wanted = filled(field)
      try demandEqual(lines.count { $0 == wanted }, 1, "lines “\(wanted)” of \(lines)")
    }
    for name in without { try demand(request.field(name) == nil, "\(name) went on: \(lines)") }
    if let target { try demandEqual(request.target, target, "the target") }
    try demandEqual(String(decoding: request.body, as: UTF8.self), body, "the body")
    try demandEqual(request.head.all("Host").count, 1, "Host fields")
  }
}

/// One answer of an origin, and what a client gets of it.
struct AnswerRow {
  enum Outcome {
    /// The client is told that the origin's answer is no good.
    case badGateway
    /// The client gets this, whole.
    case gives(Int, _ fields: [String] = [], without: [String] = [], body: String = "")
    /// The client gets a beginning and can tell that the end is missing.
    case cut
  }

  /// What becomes of the connection to the origin.
  enum Connection {
    case kept
    case dropped
  }

  let section: String
  let name: String
  let method: String
  let text: String
  let outcome: Outcome
  let connection: Connection
  /// Whether the origin ends the connection behind its answer.
  let closes: Bool

  init(
    _ section: String, _ name: String, _ text: String, _ outcome: Outcome, _ connection: Connection = .dropped,
    to method: String = "GET", closes: Bool = false
  ) {
    self.section = section
    self.name = name
    self.method = method
    self.text = text
    self.outcome = outcome
    self.connection = connection
    self.closes = closes
  }
}

/// Has every row answered by an origin of its own, through one proxy. None of the answers may be stored: the same is
/// asked again, and the origin must be, on the connection the row says.
func check(_ rows: [AnswerRow]) throws {
  try withRig { rig in
    let larder = try rig.larder(["workers": "1"])
    for row in rows {
      do {
        try check(row, rig, larder)
      } catch {
        Issue.record("\(row.section): \(row.name): \(error)")
      }
    }
  }
}

private func check(_ row: AnswerRow, _ rig: Rig, _ larder: LarderProcess) throws {
  let origin = try rig.origin { exchange in
    if exchange.index > 0 {
      return try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "second")
    }
    try exchange.raw(row.text)
    if row.closes { exchange.finish() }
  }
  let response = try RawClient.fetch(origin.url("/"), through: larder.port, method: row.method)
  switch row.outcome {
  case .badGateway:
    try demandEqual(response.status, 502, "the status")
    try demandEqual(response.end, .clean, "the end of the error page")
  case .gives(let status, let fields, let without, let body):
    try demandEqual(response.status, status, "the status")
    try demandEqual(response.end, .clean, "the end")
    try demandEqual(response.text, body, "the body")
    let lines = response.head.fields.map { "\($0.name): \($0.value)" }
    for field in fields { try demandEqual(lines.count { $0 == field }, 1, "lines “\(field)” of \(lines)") }
    for name in without { try demand(response.field(name) == nil, "\(name) went on: \(lines)") }
  case .cut:
    try demand(response.end != .clean, "the response looks whole: \(response.text)")
  }
  let second = try RawClient.fetch(origin.url("/"), through: larder.port)
  try demandEqual(second.text, "second", "the answer to the second request (the first may have been stored)")
  let connections = origin.requests.map(\.connection)
  switch row.connection {
  case .kept: try demandEqual(connections, [0, 0], "the connections of the two requests")
  case .dropped: try demandEqual(connections, [0, 1], "the connections of the two requests")
  }
}
