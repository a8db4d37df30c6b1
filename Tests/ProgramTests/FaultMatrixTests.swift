// Every fault of one answer, in every situation of a response: the bytes are right and of one version, an end is clean
// only where nothing is missing, nothing is fetched twice without need, and the next request finds everything healed.
import TestSupport
import Testing

@Suite struct FaultMatrixTests {
  /// Where in the life of a response the faulty answer comes.
  enum Situation: String, CaseIterable, Sendable {
    /// The whole was asked for, and cut after its first part: the fault meets the request for the rest.
    case resumed
    /// A middle part is stored, and the client asks for a range around it: the fault meets the first gap.
    case firstGap
    /// The same, and what is stored is stale: the request for the gap is the validation.
    case staleGap
    /// The client asks for the whole around the stored part: the fault meets the gap behind it.
    case laterGap

    /// Where the request begins that gets the faulty answer.
    var faultyStart: Int {
      switch self {
      case .resumed: 30_000
      case .firstGap, .staleGap: 10_000
      case .laterGap: 40_000
      }
    }

    /// What the client asks for; nil stands for the whole.
    var asked: Range<Int>? {
      switch self {
      case .resumed, .laterGap: nil
      case .firstGap, .staleGap: 10_000..<60_000
      }
    }

    var hasBegun: Bool {
      switch self {
      case .resumed, .laterGap: true
      case .firstGap, .staleGap: false
      }
    }

    var cacheControl: String { self == .staleGap ? "max-age=0" : "max-age=3600" }
  }

  /// One fault in one situation.
  struct Row: Sendable {
    let situation: Situation
    let fault: AnswerFault
    let path: String
    var name: String { "\(fault.name), \(situation.rawValue) (\(path))" }

    /// Whether all answers are faulty until the client's response has ended: a response that is cut off would else
    /// depend on whether its reader or the fill asks first.
    var lasts: Bool {
      switch fault.begun {
      case .clean: false
      case .cut: situation.hasBegun
      }
    }
  }

  private static func rows(_ faults: [AnswerFault]) -> [Row] {
    var rows: [Row] = []
    for situation in Situation.allCases {
      for fault in faults { rows.append(Row(situation: situation, fault: fault, path: "/\(rows.count)")) }
    }
    return rows
  }

  /// Answers as it should but for one request of each row.
  private final class Script: Sendable {
    private let rows: [String: Row]
    /// The first request that got a faulty answer, by row.
    let struck = Monitor<[String: Int]>([:])
    /// The rows whose client has the response's head: the fault waits for that where the response is to have begun.
    let begun = Monitor<Set<String>>([])
    /// The rows whose origin is well again.
    let healed = Monitor<Set<String>>([])

    init(_ rows: [Row]) {
      self.rows = Dictionary(uniqueKeysWithValues: rows.map { ($0.path, $0) })
    }

    func answer(_ exchange: Exchange) throws {
      guard let row = rows[exchange.request.target] else { return try exchange.respond("404 Not Found") }
      let fields = [("Cache-Control", row.situation.cacheControl)]
      let resource = Representation(AnswerFault.body, fields: fields)
      let start = exchange.request.field("Range").flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) }
      if row.situation == .resumed, start == nil, struck.withLock({ $0[row.path] == nil }) {
        return try resource.serve(exchange, .init(.finish(after: row.situation.faultyStart)))
      }
      let isWell = healed.withLock { $0.contains(row.path) }
      let strikes = struck.withLock { struck in
        guard let start, start >= row.situation.faultyStart, !isWell else { return false }
        guard struck[row.path] == nil else { return row.lasts }
        guard start == row.situation.faultyStart else { return false }
        struck[row.path] = exchange.index
        return true
      }
      guard strikes, let start, let range = exchange.request.field("Range") else { return try resource.serve(exchange) }
      if row.situation.hasBegun { try begun.wait(for: "the head of \(row.name)") { $0.contains(row.path) ? () : nil } }
      let last = range.split(separator: "-").last.flatMap { Int($0) } ?? AnswerFault.size - 1
      var answer = PartialResponse(
        AnswerFault.body, start..<min(last + 1, AnswerFault.size), tag: "\"v1\"", fields: fields)
      row.fault.change(&answer)
      try answer.send(exchange)
    }
  }

  private static func expect(_ row: Row, _ script: Script, _ origin: ScriptedOrigin, _ larder: LarderProcess) throws {
    let url = origin.url(row.path)
    if row.situation != .resumed {
      let stored = try RawClient.fetch(url, [("Range", "bytes=20000-39999")], through: larder.port)
      _ = try AnswerFault.versions.judge(stored, asked: 20_000..<40_000)
    }
    let client = try RawClient(port: larder.port)
    defer { client.close() }
    let fields = row.situation.asked.map { [("Range", "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? []
    try client.send(RawClient.request("GET", url, fields))
    var response = try client.responseHead()
    script.begun.withLock { _ = $0.insert(row.path) }
    try client.readBody(of: &response)
    script.healed.withLock { _ = $0.insert(row.path) }
    try demand(script.struck.withLock { $0[row.path] } != nil, "the faulty answer was not asked for")
    let status = row.situation.asked == nil ? 200 : 206
    let isClean = response.status == status && response.end == .clean
    if row.situation.hasBegun {
      let finding = try AnswerFault.versions.judge(response, asked: row.situation.asked)
      switch row.fault.begun {
      case .clean: try demand(isClean, "\(response.head.startLine), and the end is \(response.end)")
      case .cut:
        try demand(response.end != .clean, "a clean end of version \(finding.version)")
        try demand(response.body.count >= row.situation.faultyStart, "only \(response.body.count) bytes before the cut")
      }
    } else {
      let isAsTold: Bool
      switch row.fault.unbegun {
      case .clean: isAsTold = isClean
      case .status(let code): isAsTold = response.status == code && response.end == .clean
      case .cleanOr(let code): isAsTold = isClean || response.status == code && response.end == .clean
      }
      try demand(isAsTold, "\(response.head.startLine), and the end is \(response.end)")
      if isClean { _ = try AnswerFault.versions.judge(response, asked: row.situation.asked) }
    }
    try expectHealed(row, script, origin, larder)
  }

  private static func expectHealed(_ row: Row, _ script: Script, _ origin: ScriptedOrigin, _ larder: LarderProcess)
    throws
  {
    let url = origin.url(row.path)
    let healed = try RawClient.fetch(url, through: larder.port)
    _ = try AnswerFault.versions.judge(healed)
    try demand(healed.end == .clean, "the next request's end is \(healed.end)")
    let requests = { origin.requests.enumerated().filter { $0.element.target == row.path } }
    let before = requests().count
    let again = try RawClient.fetch(url, through: larder.port)
    _ = try AnswerFault.versions.judge(again)
    try demand(again.end == .clean, "the last request's end is \(again.end)")
    let all = requests()
    let sent = all.reduce(0) { $0 + $1.element.bodyBytesSent }
    let since = all.dropFirst(before).reduce(0) { $0 + $1.element.bodyBytesSent }
    try demand(since == 0, "a stored object is fetched again")
    if row.situation != .staleGap { try demand(all.count == before, "a fresh object is asked for again") }
    let struck = script.struck.withLock { $0[row.path] }
    let faulty = all.first { $0.offset == struck }?.element.bodyBytesSent ?? 0
    let size = AnswerFault.size
    let isRight: Bool
    switch row.fault.cost {
    case .nothing: isRight = sent == size
    case .answer: isRight = sent - faulty == size
    case .whole: isRight = sent - faulty <= 2 * size
    case .unknown: isRight = true
    }
    try demand(
      isRight,
      "the origin sent \(sent) bytes, \(faulty) of them in the faulty answer")
  }

  /// What was asked for a row, for the text of a failure.
  private static func requests(_ row: Row, _ origin: ScriptedOrigin) -> String {
    origin.requests.enumerated().filter { $0.element.target == row.path }
      .map { "\n  \($0.offset): \($0.element.field("Range") ?? "the whole"), \($0.element.bodyBytesSent) bytes sent" }
      .joined()
  }

  /// - Parameter faults: made with a gate that stays closed until the end.
  private static func run(
    workers: Int, settings: [String: String] = [:], lanes: Int = 6, _ faults: (ManualGate) -> [AnswerFault]
  ) throws {
    try withRig { rig in
      let rows = rows(faults(rig.gate("the end of the test")))
      let script = Script(rows)
      let origin = try rig.origin { try script.answer($0) }
      // The fixed parts of Retry-After fit below the longest pause.
      let own = [
        "workers": "\(workers)", "fills.backoff": "1ms", "fills.backoff_max": "5s", "log.level": "warning",
      ]
      let larder = try rig.larder(own.merging(settings) { $1 })
      for failure in try runTable(
        rows, lanes: lanes, name: { $0.name + requests($0, origin) }, { try expect($0, script, origin, larder) })
      {
        Issue.record("\(failure)")
      }
      #expect(larder.process.end == nil)
      #expect(try larder.stop() == .exited(0))
    }
  }

  @Test(arguments: [1, 2]) func aFaultyAnswerIsNoticedAndHealed(workers: Int) throws {
    try Self.run(workers: workers) { _ in AnswerFault.all }
  }

  @Test(arguments: [1, 2]) func aHeadCutAtAnyByteIsAskedForAgain(workers: Int) throws {
    // No right head is shorter; of a longer one the rest is a matter of its last line.
    try Self.run(workers: workers) { _ in
      (1...133).map { AnswerFault.truncatedHead($0, $0 % 2 == workers % 2 ? .finished : .reset) }
    }
  }

  @Test(arguments: [1, 2]) func anAnswerThatStandsStillIsGivenUp(workers: Int) throws {
    // Long enough that what is merely slow on a busy machine is not taken for a standstill.
    let limits = ["upstream.head_timeout": "4s", "upstream.stall_timeout": "4s"]
    try Self.run(workers: workers, settings: limits, lanes: 20) { AnswerFault.stalls(until: $0) }
  }
}
