// Many of everything: objects, connections, readers, evictions, workers.
import Glibc
import TestSupport

/// Runs the rows of scale, each with its goal.
enum ScaleBenchmark {
  /// What a row found.
  struct Finding {
    let what: String
    let value: String
    /// What it is to be, in words.
    let goal: String
    /// Nil where there is no goal to meet.
    let isMet: Bool?
  }

  /// A row by its name.
  typealias Row = (name: String, run: () async throws -> [Finding])

  static func run(_ results: inout Results, _ verdict: inout Verdict) async throws {
    let rows: [Row] = [
      ("objects", ManyObjects.run), ("connections", IdleConnections.run), ("readers", ManyReaders.run),
      ("eviction", EvictionUnderLoad.run), ("workers", TwoWorkers.run),
    ]
    results.add(try await table("Scale", of: rows, &verdict), as: "scale")
  }

  /// The row of the slow client, which takes a minute and not ten.
  static func runSlow(_ results: inout Results, _ verdict: inout Verdict) async throws {
    results.add(
      try await table("A client with many slow connections", of: [("slow", SlowConnections.run)], &verdict), as: "slow")
  }

  private static func table(_ title: String, of rows: [Row], _ verdict: inout Verdict) async throws -> Table {
    try pin(getpid(), to: Cores.load)
    var table = Table(title, ["what", "found", "goal", "met"])
    for row in rows {
      do {
        for finding in try await row.run() {
          print("\(finding.what): \(finding.value)")
          fflush(nil)
          table.add([
            finding.what, finding.value, finding.goal, finding.isMet.map { $0 ? "yes" : "no" } ?? "",
          ])
        }
      } catch {
        verdict.demand(false, "\(row.name): \(error)")
      }
    }
    return table
  }
}
