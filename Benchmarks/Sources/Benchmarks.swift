// Benchmarks: what the program costs, in counts and processor time, which hold on a busy machine where seconds do not.
import Glibc
import TestSupport

/// Runs the named groups of rows, or the usual ones, and keeps what they found.
@main
struct BenchmarkProgram {
  static func main() async {
    let options: Options
    do {
      options = try Options(Array(CommandLine.arguments.dropFirst()))
    } catch {
      print(error)
      exit(2)
    }
    var verdict = Verdict()
    do {
      switch options.task {
      case .measure(let groups): try await measure(groups, options, &verdict)
      case .microBenchmarks: try await MicroBenchmarks.measure()
      case .readme: try Readme.rewrite("Benchmarks/README.md", with: try Results.load(options.resultsPath))
      case .plot: try Plot.draw(try Results.load(options.resultsPath), to: options.plotPath)
      }
    } catch {
      verdict.demand(false, "\(error)")
    }
    for failure in verdict.failures { print("FAILED: \(failure)") }
    exit(verdict.failures.isEmpty ? 0 : 1)
  }

  private static func measure(_ groups: [Options.Group], _ options: Options, _ verdict: inout Verdict) async throws {
    try Workplace.prepare()
    let machine = Machine.current()
    print(machine.description)
    fflush(nil)
    var results = Results.continued(options.resultsPath, on: machine)
    for group in groups {
      switch group {
      case .firstByte: try await FirstByteBenchmark.run(&results, &verdict)
      case .memory: try MemoryBenchmark.run(&results, &verdict)
      case .peers: try Comparison(isQuick: options.isQuick, rowName: options.rowName).run(&results, &verdict)
      case .calls: try SystemCallCounts(isQuick: options.isQuick).run(&results)
      case .floor: try MissFloor(isQuick: options.isQuick).run(&results)
      case .micro: try MicroBenchmarks.run(&results)
      case .counts:
        try CountsBenchmark(updates: options.updatesThresholds, countsInstructions: true).run(&results, &verdict)
      case .allocations: try CountsBenchmark(updates: false, countsInstructions: false).run(&results, &verdict)
      case .scale: try await ScaleBenchmark.run(&results, &verdict)
      case .slow: try await ScaleBenchmark.runSlow(&results, &verdict)
      }
      // What is measured stays measured, whatever happens to the next group.
      try results.save(to: options.resultsPath)
      if group == .peers { try Plot.draw(results, to: options.plotPath) }
    }
    print("\nresults: \(options.resultsPath)")
  }
}

/// What a run has found to be wrong.
struct Verdict {
  private(set) var failures: [String] = []

  /// Notes `failure` unless the condition holds.
  mutating func demand(_ condition: Bool, _ failure: @autoclosure () -> String) {
    if !condition { failures.append(failure()) }
  }
}
