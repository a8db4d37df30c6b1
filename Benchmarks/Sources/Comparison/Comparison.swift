// Larder beside its peers: the same work by each in turn, medians.
import Glibc
import TestSupport

/// The rows of the comparison.
struct Comparison {
  /// Fits in three minutes: one round, a second each, a large object of 64 MiB.
  let isQuick: Bool
  /// Only rows whose names contain this.
  let rowName: String

  private var rounds: Int { isQuick ? 1 : 5 }
  private var seconds: Int { isQuick ? 1 : 3 }
  private var largeSize: Int { isQuick ? 64 << 20 : 256 << 20 }
  private static let contestants: [Contestant] = [
    .larder, .nginx, .squid, .varnish, .trafficServer, .nginxStatic,
  ]

  func run(_ results: inout Results, _ verdict: inout Verdict) throws {
    // Whatever is started from here on, the origin and the load, is on the load's core; the servers are not.
    try pin(getpid(), to: Cores.load)
    var outcomes: [RowOutcome] = []
    var failures: [String] = []
    try withRig { rig in
      let memory = try FullMemory(in: rig.folder)
      try memory.fill()
      let origin = try BenchmarkOrigin(rig, largeSize: largeSize)
      let peers = PeerServers(origin: origin, folder: rig.folder)
      var servers: [Server] = []
      defer { for server in servers { server.stop() } }
      for contestant in Self.contestants + [.loggingLarder] {
        switch contestant {
        case .larder, .loggingLarder:
          let folder = rig.folder.file(contestant == .larder ? "larder" : "larder-log")
          servers.append(try LarderServer(in: folder, LarderServer.Start(contestant: contestant)).server)
        default: servers.append(try peers.start(contestant))
        }
      }
      let rows = ComparisonRows(origin: origin, folder: rig.folder, seconds: seconds, contestants: Self.contestants)
      for server in servers { try rows.warm(server) }
      for row in rows.all where rowName.isEmpty || row.name.contains(rowName) {
        do {
          outcomes.append(try run(row, servers, memory))
        } catch {
          // Said at once too: a run that is stopped does not come to its end.
          print("\(row.name) failed: \(error)")
          fflush(nil)
          failures.append("\(row.name): \(error)")
        }
      }
    }
    for failure in failures { verdict.demand(false, failure) }
    ComparisonReport(outcomes: outcomes, rounds: rounds).add(to: &results, &verdict)
  }

  /// Every server in turn, as often as there are rounds; none has the first or the last turn always.
  private func run(_ row: Row, _ servers: [Server], _ memory: FullMemory) throws -> RowOutcome {
    var outcome = RowOutcome(row)
    let able = servers.filter { row.contestants.contains($0.contestant) }
    for round in 0..<rounds {
      for index in able.indices {
        let server = able[(index + round) % able.count]
        do {
          try memory.fill()
          outcome.add(try row.run(server, "\(round)"), of: server.contestant)
        } catch {
          throw HarnessError("\(server.name): \(error)")
        }
      }
    }
    let costs = able.compactMap { server in
      outcome.cost(server.contestant).map { "\(server.name) \(text($0.median))" }
    }
    print("\(row.name), \(row.unit): \(costs.joined(separator: ", "))")
    fflush(nil)
    return outcome
  }
}
