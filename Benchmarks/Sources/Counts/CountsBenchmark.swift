// Allocations and instructions per request, which must not grow: counts do not depend on the machine's speed.
import FoundationEssentials
import Glibc
import TestSupport

/// Counts each kind of request and compares with Benchmarks/thresholds.json, or writes that file.
struct CountsBenchmark {
  /// Whether the counts found become the thresholds.
  let updates: Bool
  /// Whether instructions are counted besides allocations. How much of the background work falls to one request depends
  /// on what else the machine does: to them that makes a difference.
  let countsInstructions: Bool
  private static let path = "Benchmarks/thresholds.json"
  /// What a count may lie above its threshold: background work falls into one measurement or another.
  private static let allowance = (share: 0.04, atLeast: 1.0)
  private static let rounds = 3

  func run(_ results: inout Results, _ verdict: inout Verdict) throws {
    var counts: [String: Double] = [:]
    try withRig { rig in
      // Head and body of a small object leave in one packet, as with Debian's settings: where the body came behind its
      // head, a miss would go one way or another by the machine's speed.
      let origin = try rig.nginx(
        serverLines: """
          access_log off;
          tcp_nopush on;
          add_header Cache-Control max-age=86400;
          location /miss/ { try_files /1k =404; }
          """)
      try origin.publish("/1k", RequestMaker.small)
      try origin.publish("/1m", RequestMaker.middle)
      let gated = try GatedOrigin(rig, RequestMaker.gated, end: RequestMaker.gatedEnd)
      counts.merge(try allocations(rig, origin, gated)) { $1 }
      if countsInstructions { counts.merge(try instructions(rig, origin, gated)) { $1 } }
    }
    for figure in try MicroBenchmarks.figures(rounds: Self.rounds) where figure.isSteady {
      counts["\(figure.name), allocations"] = figure.allocations
    }
    if updates {
      try save(counts)
      print("\(Self.path) has the counts of this run.")
    }
    try compare(counts, &results, &verdict)
  }

  // MARK: - Counting

  private func allocations(_ rig: Rig, _ origin: NginxOrigin, _ gated: GatedOrigin) throws -> [String: Double] {
    let counters = try Counters(in: rig.folder.path)
    let larder = try LarderServer(
      in: rig.folder.file("counted"), LarderServer.Start(launcher: counters.launcher, environment: Self.repeatable))
    defer { larder.server.stop() }
    let maker = try RequestMaker(larder, origin, gated)
    var counts: [String: Double] = [:]
    for kind in RequestKind.allCases {
      let number = kind == .follow ? 100 : 400
      try maker.make(number / 4, of: kind) {}
      var found: [Double] = []
      for _ in 0..<Self.rounds {
        var before = 0
        try maker.make(number, of: kind) {
          maker.settle(.records)
          before = counters.allocations
        }
        maker.settle(.records)
        found.append(Double(counters.allocations - before) / Double(number))
      }
      counts["\(kind.rawValue), allocations"] = found.min()
    }
    return counts
  }

  private func instructions(_ rig: Rig, _ origin: NginxOrigin, _ gated: GatedOrigin) throws -> [String: Double] {
    let count = try InstructionCount(in: rig.folder.file("instructions"))
    let larder = try LarderServer(
      in: rig.folder.file("simulated"),
      LarderServer.Start(launcher: try count.launcher(), environment: Self.repeatable))
    defer { larder.server.process.kill9() }
    let maker = try RequestMaker(larder, origin, gated)
    var counts: [String: Double] = [:]
    for kind in RequestKind.allCases {
      let number = kind == .follow ? 50 : 200
      try maker.make(number / 4, of: kind) {}
      try maker.make(number, of: kind) {
        maker.settle(.commit)
        _ = try count.take(larder.server.process.id)
      }
      maker.settle(.commit)
      counts["\(kind.rawValue), instructions"] = Double(try count.take(larder.server.process.id)) / Double(number)
    }
    return counts
  }

  /// Dictionaries are laid out alike in every run.
  private static let repeatable = ["SWIFT_DETERMINISTIC_HASHING": "1"]

  // MARK: - Thresholds

  private func compare(_ counts: [String: Double], _ results: inout Results, _ verdict: inout Verdict) throws {
    guard exists(Self.path) else { throw HarnessError("\(Self.path) is missing: make bench-thresholds writes it") }
    let thresholds = try JSONDecoder().decode([String: Double].self, from: Data(try readFile(Self.path)))
    var table = Table(
      "Counts per request, or per call, of user code", ["what", "count", "threshold", "by the threshold"])
    for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
      guard let threshold = thresholds[name] else {
        verdict.demand(false, "\(name) has no threshold: make bench-thresholds writes it")
        continue
      }
      let share = threshold > 0 ? text(count / threshold, digits: 2) : "–"
      table.add([name, shown(count), shown(threshold), share])
      let most = threshold + max(Self.allowance.atLeast, threshold * Self.allowance.share)
      verdict.demand(count <= most, "\(name): \(shown(count)), more than \(shown(threshold)) and what is allowed above")
    }
    results.add(table, as: "counts")
  }

  private func shown(_ count: Double) -> String { text(count, digits: count < 1000 ? 1 : 0) }

  private func save(_ counts: [String: Double]) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let rounded = counts.mapValues { ($0 * 10).rounded() / 10 }
    try writeFile(Self.path, Array(try encoder.encode(rounded)) + [10])
  }
}
