// Two workers beside one: what sharing costs.
import Glibc
import TestSupport

/// Processor time of a hit, and waits for locks, with one worker and with two.
enum TwoWorkers {
  private static let rounds = 5

  static func run() async throws -> [ScaleBenchmark.Finding] {
    var findings: [ScaleBenchmark.Finding] = []
    try withRig { rig in
      let origin = try BenchmarkOrigin(rig, largeSize: 1 << 20)
      let larders = try [1, 2].map { workers in
        try LarderServer(
          in: rig.folder.file("larder-\(workers)"),
          // Both on both cores, so that nothing but the workers is different.
          LarderServer.Start(settings: ["workers": "\(workers)"], cores: "\(Cores.server),\(Cores.load)"))
      }
      defer { for larder in larders { larder.server.stop() } }
      let load = Load(url: origin.url(.small), form: .whole, length: 1 << 10, connections: 32)
      let run = { (larder: LarderServer) -> Int in
        try load.run(port: larder.port, seconds: 2, label: "hits", in: rig.folder).requests
      }
      var costs: [[Double]] = [[], []]
      for larder in larders {
        try fetch(origin.url(.small), origin.body(.small), larder.port)
        _ = try run(larder)
      }
      for _ in 0..<rounds {
        for (index, larder) in larders.enumerated() {
          let before = try larder.figures.processorSeconds()
          let requests = try run(larder)
          costs[index].append((try larder.figures.processorSeconds() - before) * 1e6 / Double(requests))
        }
      }
      guard let one = median(costs[0]), let two = median(costs[1]) else { return }
      let locks = try SystemCallCounts.count(larders[1].server, in: rig.folder) { Double(try run(larders[1])) }
      findings = [
        ScaleBenchmark.Finding(
          what: "processor time of a hit with two workers, by that with one",
          value: "\(text(two)) µs, \(text(two / one, digits: 2)) times", goal: "within a tenth", isMet: two / one <= 1.1
        ),
        ScaleBenchmark.Finding(
          what: "calls of futex for a hit with two workers", value: text(locks["futex"] ?? 0, digits: 4),
          goal: "counted",
          isMet: nil),
      ]
    }
    return findings
  }
}
