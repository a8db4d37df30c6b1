// Misses into a full cache: every object stored makes another go.
import Glibc
import TestSupport

/// How many objects a second can be evicted, and how long the loop is away meanwhile.
enum EvictionUnderLoad {
  private static let seconds = 10
  private static let size: UInt64 = 128 << 20

  static func run() async throws -> [ScaleBenchmark.Finding] {
    var findings: [ScaleBenchmark.Finding] = []
    let folder = try TemporaryFolder("larder-evict")
    defer { folder.remove() }
    _ = try await ManyObjects.fill(folder.path, 1_000_000, capacity: size)
    try withRig { rig in
      let origin = try BenchmarkOrigin(rig, largeSize: 1 << 20)
      let counters = try Counters(in: rig.folder.path)
      let larder = try LarderServer(
        in: rig.folder.file("larder"),
        LarderServer.Start(
          settings: ["cache.size": "\(size >> 20)M", "cache.memory": "16M"], launcher: counters.launcher,
          cache: folder.path))
      defer { larder.server.stop() }
      let load = Load(url: origin.missPrefix, form: .newNames, length: 1 << 10)
      let name = "larder_store_evictions_total"
      // Until something goes, there is room.
      for round in 0..<20 where try larder.metric(name) == 0 {
        _ = try load.run(port: larder.port, seconds: 1, label: "fill-\(round)", in: rig.folder)
      }
      let before = try larder.metric(name) ?? 0
      counters.forgetTurns()
      let outcome = try load.run(port: larder.port, seconds: seconds, label: "evict", in: rig.folder)
      let evicted = (try larder.metric(name) ?? 0) - before
      let (turn, turns) = (counters.longestTurn, counters.turns)
      findings = [
        ScaleBenchmark.Finding(
          what: "objects evicted under misses", value: "\(text(evicted / outcome.seconds, digits: 0))/s",
          goal: "5,000/s", isMet: evicted / outcome.seconds >= 5000),
        ScaleBenchmark.Finding(
          what: "longest turn of a loop meanwhile",
          value:
            "\(text(turn.processor, digits: 2)) ms of processor time, \(text(turn.clock, digits: 2)) ms by the clock; "
            + "\(turns.long) of \(turns.all) beyond 2 ms",
          goal: "under 2 ms", isMet: turn.processor < 2),
        ScaleBenchmark.Finding(
          what: "misses meanwhile",
          value: "\(text(Double(outcome.requests) / outcome.seconds, digits: 0))/s, p99 \(text(outcome.p99)) ms",
          goal: "",
          isMet: nil),
      ]
    }
    return findings
  }
}
