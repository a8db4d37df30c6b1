// Two workers beside one: what sharing costs.
import Glibc
import TestSupport

/// Processor time of a hit, and waits for locks, with one worker and with two.
enum TwoWorkers {
  private static let rounds = 5
  private static let connections = 32

  static func run() async throws -> [ScaleBenchmark.Finding] {
    var findings: [ScaleBenchmark.Finding] = []
    try withRig { rig in
      let origin = try BenchmarkOrigin(rig, largeSize: 1 << 20)
      let larders = try (0..<4).map { number in
        try LarderServer(
          in: rig.folder.file("larder-\(number)"),
          // All on both cores, so that nothing but the workers is different.
          LarderServer.Start(
            settings: ["workers": number == 1 ? "2" : "1"], cores: "\(Cores.server),\(Cores.load)"))
      }
      defer { for larder in larders { larder.server.stop() } }
      for larder in larders { try fetch(origin.url(.small), origin.body(.small), larder.port) }

      /// Hits from one load on each of `targets` at the same time, 32 connections in all.
      func hit(_ targets: [LarderServer]) throws -> (requests: Int, cost: Double) {
        let load = Load(
          url: origin.url(.small), form: .whole, length: 1 << 10, connections: connections / targets.count)
        let requests = Monitor(0)
        let processes = Set(targets.map { $0.server.process.id })
        let spent = { try larders.filter { processes.contains($0.server.process.id) }.map(\.figures)
          .reduce(0) { try $0 + $1.processorSeconds() } }
        let before = try spent()
        let (ports, folder) = (targets.map(\.port), rig.folder)
        try concurrently(
          ports.enumerated().map { number, port in
            { @Sendable in
              let outcome = try load.run(port: port, seconds: 2, label: "hits-\(number)", in: folder)
              requests.withLock { $0 += outcome.requests }
            }
          })
        let count = requests.withLock { $0 }
        return (count, (try spent() - before) * 1e6 / Double(count))
      }

      let kinds = [[larders[0]], [larders[1]], [larders[1], larders[1]], [larders[2], larders[3]]]
      var costs = [[Double]](repeating: [], count: kinds.count)
      for kind in kinds { _ = try hit(kind) }
      for _ in 0..<rounds {
        for (index, kind) in kinds.enumerated() { costs[index].append(try hit(kind).cost) }
      }
      let found = costs.compactMap { median($0) }
      let locks = try SystemCallCounts.count(larders[1].server, in: rig.folder) {
        Double(try hit([larders[1]]).requests)
      }
      findings = [
        ScaleBenchmark.Finding(
          what: "processor time of a hit with two workers, by that with one",
          value: "\(text(found[1])) µs, \(text(found[1] / found[0], digits: 2)) times", goal: "within a tenth",
          isMet: found[1] / found[0] <= 1.1),
        ScaleBenchmark.Finding(
          what: "with two loads, by that of two programs with one worker and one load each",
          value: "\(text(found[2])) µs, \(text(found[2] / found[3], digits: 2)) times", goal: "within a tenth",
          isMet: found[2] / found[3] <= 1.1),
        ScaleBenchmark.Finding(
          what: "calls of futex for a hit with two workers", value: text(locks["futex"] ?? 0, digits: 4),
          goal: "counted",
          isMet: nil),
      ]
    }
    return findings
  }
}
