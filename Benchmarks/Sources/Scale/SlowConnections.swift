// Hits beside a client that holds thousands of slow connections: it is shed, and they cost what they did.
import Glibc
import TestSupport

/// What a hit costs, and how long a loop is away, alone and beside such a client.
enum SlowConnections {
  private static let count = 5000
  private static let rounds = 5
  private static let seconds = 3

  /// Turns of the slow client before hits are looked at.
  private static let settling = 5

  private struct Sample {
    var microseconds: [Double] = []
    var longestTurn: [Double] = []
    /// Connections that were open in the end.
    var open: [Double] = []
    /// The share of a core that the client itself costs.
    var shares: [Double] = []
    /// Connections that were ended in a second.
    var ended: [Double] = []
  }

  static func run() async throws -> [ScaleBenchmark.Finding] {
    try raiseDescriptorLimit(to: count + 512)
    var findings: [ScaleBenchmark.Finding] = []
    try withRig { rig in
      let origin = try BenchmarkOrigin(rig, largeSize: 8 << 20)
      let counters = try Counters(in: rig.folder.path)
      let larder = try LarderServer(
        in: rig.folder.file("larder"), LarderServer.Start(launcher: counters.launcher))
      defer { larder.server.stop() }
      for object: BenchmarkOrigin.Object in [.small, .large] {
        try fetch(origin.url(object), origin.body(object), larder.port)
      }
      let load = Load(url: origin.url(.small), form: .whole, length: 1 << 10)
      _ = try load.run(port: larder.port, seconds: 1, label: "warm", in: rig.folder)
      var alone = Sample()
      var beside = Dictionary(uniqueKeysWithValues: SlowClient.Kind.allCases.map { ($0, Sample()) })
      for _ in 0..<rounds {
        for kind in SlowClient.Kind.allCases {
          counters.forgetTurns()
          try measure(larder, load, counters, &alone, in: rig)
          let slow = SlowClient(kind, port: larder.port, count: count, url: origin.url(.large))
          // Its coming counts as well among the turns; its first requests are served as any other's.
          counters.forgetTurns()
          try slow.waitForTurns(settling)
          try measure(larder, load, counters, &beside[kind, default: Sample()], in: rig)
          beside[kind]?.shares.append(try share(larder))
          beside[kind]?.open.append(try larder.metric("larder_open_client_connections") ?? 0)
          let account = try slow.stop()
          beside[kind]?.ended.append(Double(account.ended) / Double(account.turns))
          try waitUntilAlone(larder)
        }
      }
      for kind in SlowClient.Kind.allCases {
        guard let sample = beside[kind] else { continue }
        findings += compare(sample, alone, kind)
      }
    }
    return findings
  }

  private static func compare(_ beside: Sample, _ alone: Sample, _ kind: SlowClient.Kind) -> [ScaleBenchmark.Finding] {
    guard let cost = median(alone.microseconds), let costBeside = median(beside.microseconds),
      let turn = median(alone.longestTurn), let turnBeside = median(beside.longestTurn), let open = median(beside.open),
      let ended = median(beside.ended), let share = median(beside.shares)
    else { return [] }
    return [
      ScaleBenchmark.Finding(
        what: "left to a client with \(count) connections \(kind.rawValue)",
        value: "\(text(open, digits: 0)); \(text(ended, digits: 0)) ended each second",
        goal: "under 1,100", isMet: open < 1100),
      ScaleBenchmark.Finding(
        what: "what it costs alone", value: "\(text(share * 100)) % of a core", goal: "under a tenth",
        isMet: share < 0.1),
      ScaleBenchmark.Finding(
        what: "processor time of a hit beside it, by that alone",
        value: "\(text(costBeside)) µs, \(text(costBeside / cost, digits: 2)) times", goal: "within a tenth",
        isMet: costBeside / cost <= 1.1),
      ScaleBenchmark.Finding(
        what: "longest turn of a loop beside it, by that alone",
        value: "\(text(turnBeside, digits: 2)) ms of processor time, \(text(turnBeside / turn, digits: 2)) times",
        goal: "within a tenth", isMet: turnBeside / turn <= 1.1),
    ]
  }

  private static func share(_ larder: LarderServer) throws -> Double {
    let (began, before) = (monotonicSeconds(), try larder.figures.processorSeconds())
    usleep(UInt32(seconds) * 1_000_000)
    return (try larder.figures.processorSeconds() - before) / (monotonicSeconds() - began)
  }

  private static func measure(
    _ larder: LarderServer, _ load: Load, _ counters: Counters, _ sample: inout Sample, in rig: Rig
  ) throws {
    let before = try larder.figures.processorSeconds()
    let outcome = try load.run(port: larder.port, seconds: seconds, label: "hits", in: rig.folder)
    let spent = try larder.figures.processorSeconds() - before
    sample.microseconds.append(spent * 1e6 / Double(outcome.requests))
    sample.longestTurn.append(counters.longestTurn.processor)
    print(
      "  \(outcome.requests) hits, \(text(spent * 1e6 / Double(outcome.requests))) µs each, longest turn "
        + "\(text(counters.longestTurn.processor, digits: 2)) ms; \(counters.turns.long) of \(counters.turns.all) long")
  }

  /// What the slow client has left behind must not count as the load's.
  private static func waitUntilAlone(_ larder: LarderServer) throws {
    let limit = monotonicSeconds() + Patience.seconds
    while try larder.metric("larder_open_client_connections") != 0 {
      guard monotonicSeconds() < limit else { throw HarnessError("slow connections are still open") }
      usleep(20_000)
    }
  }

  private static func raiseDescriptorLimit(to count: Int) throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    if limit.rlim_cur >= rlim_t(count) { return }
    limit.rlim_cur = min(limit.rlim_max, rlim_t(count))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    try demand(limit.rlim_cur >= rlim_t(count), "the system allows \(limit.rlim_max) descriptors")
  }
}
