// The object changes while it is fetched, at every point of a plan: whatever a client gets is of one version or cut.
import TestSupport
import Testing

@Suite struct OriginChangeTests {
  /// What an origin tells its versions by.
  enum Validators: String, CaseIterable, Sendable {
    case strongTags, weakTags, dates, nothing

    func tag(_ version: Int) -> String? {
      switch self {
      case .strongTags: "\"v\(version)\""
      case .weakTags: "W/\"v\(version)\""
      case .dates, .nothing: nil
      }
    }

    func lastModified(_ version: Int) -> String? {
      self == .dates ? "Sun, 0\(version + 1) Nov 2020 08:49:37 GMT" : nil
    }
  }

  struct Row: Sendable {
    let path: String
    /// Every so many answers come from the next version.
    let period: Int
    let validators: Validators
    let judgesConditions: Bool
    let cuts: Bool
    let seed: UInt64

    var name: String {
      "\(validators.rawValue), another version every \(period) answers, \(cuts ? "cut, " : "")"
        + "\(judgesConditions ? "" : "conditions ignored, ")\(path)"
    }
  }

  private static let size = 400_000
  private static let bodies = (0..<3).map { PatternBody(seed: UInt64(421 + $0), size: size + $0 % 2) }

  private static func rows() -> [Row] {
    var rows: [Row] = []
    for period in 1...5 {
      for validators in Validators.allCases {
        for judges in [true, false] {
          for cuts in [false, true] {
            rows.append(
              Row(
                path: "/\(rows.count)", period: period, validators: validators, judgesConditions: judges, cuts: cuts,
                seed: UInt64(rows.count)))
          }
        }
      }
    }
    return rows
  }

  /// How far each row's origin is.
  private struct Progress {
    var answers: [String: Int] = [:]
    var settled: Set<String> = []
    var random = SeededGenerator(420)
  }

  private static func answer(_ exchange: Exchange, _ row: Row, _ progress: Monitor<Progress>) throws {
    let (version, cut) = progress.withLock { progress -> (Int, Int?) in
      if progress.settled.contains(row.path) { return (2, nil) }
      let number = progress.answers[row.path, default: 0]
      progress.answers[row.path] = number + 1
      let cuts = row.cuts && Int.random(in: 0..<3, using: &progress.random) == 0
      return (number / row.period % 3, cuts ? Int.random(in: 0..<size, using: &progress.random) : nil)
    }
    var behaviour = Representation.Behaviour(cut.map { .finish(after: $0) } ?? .whole)
    behaviour.ignoresConditions = !row.judgesConditions
    try Representation(
      bodies[version], entityTag: row.validators.tag(version), lastModified: row.validators.lastModified(version),
      fields: [("Cache-Control", "max-age=3600"), ("Date", httpDate(secondsFromNow: 0))]
    ).serve(exchange, behaviour)
  }

  private static func fetch(_ url: String, _ range: Range<Int>?, _ larder: LarderProcess) throws -> RawResponse {
    let fields = range.map { [("Range", "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? []
    return try RawClient.fetch(url, fields, through: larder.port)
  }

  /// Asks for parts and wholes at random; no answer may be of two versions.
  private static func demandOneVersion(
    _ row: Row, seed: UInt64, requests: Int, _ origin: ScriptedOrigin, _ larder: LarderProcess
  ) throws {
    let versions = Versions(bodies.enumerated().map { .init(row.validators.tag($0.offset), $0.element) })
    var random = SeededGenerator(seed)
    for _ in 0..<requests {
      let first = Int.random(in: 0..<size, using: &random)
      let range = first..<Int.random(in: first..<size, using: &random) + 1
      let isWhole = Int.random(in: 0..<4, using: &random) == 0
      let response = try fetch(origin.url(row.path), isWhole ? nil : range, larder)
      switch response.status {
      case 200: _ = try versions.judge(response)
      case 206: _ = try versions.judge(response, asked: isWhole ? nil : range)
      // A cut before the first byte can be said by a status.
      case 502: try demand(row.cuts, "502 although nothing was cut")
      default: throw HarnessError("answered \(response.head.startLine)")
      }
    }
  }

  @Test(arguments: [1, 2]) func whateverAClientGetsIsOfOneVersion(workers: Int) throws {
    let rows = Self.rows()
    let table = Dictionary(uniqueKeysWithValues: rows.map { ($0.path, $0) })
    try withRig { rig in
      let progress = Monitor(Progress())
      let origin = try rig.origin { exchange in
        guard let row = table[exchange.request.target] else { return try exchange.respond("404 Not Found") }
        try Self.answer(exchange, row, progress)
      }
      let larder = try rig.larder([
        "workers": "\(workers)", "fills.backoff": "1ms", "log.level": "warning", "fills.window": "64K",
      ])
      let failures = try runTable(rows, name: \.name) { row in
        try Self.demandOneVersion(row, seed: row.seed, requests: 10, origin, larder)
        // Three at a time: a response that has begun must not be changed by one that begins anew.
        try concurrently(
          (0..<3).map { client in
            { try Self.demandOneVersion(row, seed: row.seed + 1000 * UInt64(client + 1), requests: 4, origin, larder) }
          })
        progress.withLock { _ = $0.settled.insert(row.path) }
        let last = try Self.fetch(origin.url(row.path), nil, larder)
        _ = try Versions(Self.bodies.enumerated().map { .init(row.validators.tag($0.offset), $0.element) }).judge(last)
        try demand(last.end == .clean, "the end is \(last.end) although the origin has settled")
      }
      for failure in failures { Issue.record("\(failure)") }
      #expect(larder.process.end == nil)
    }
  }
}
