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

  static func run(_ results: inout Results, _ verdict: inout Verdict) async throws {
    try pin(getpid(), to: Cores.load)
    var table = Table("Scale", ["what", "found", "goal", "met"])
    let rows: [(name: String, run: () async throws -> [Finding])] = [
      ("objects", ManyObjects.run), ("connections", IdleConnections.run), ("readers", ManyReaders.run),
      ("eviction", EvictionUnderLoad.run), ("workers", TwoWorkers.run),
    ]
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
    results.add(table, as: "scale")
  }
}
