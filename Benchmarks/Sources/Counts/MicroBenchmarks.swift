// Small pieces alone: nanoseconds and allocations of one call.
import Glibc
import TestSupport

/// One piece of work: its name, and what makes so many of it.
struct MicroBenchmark {
  let name: String
  /// How many calls are one measurement.
  let calls: Int
  /// Whether no other thread works for it at times of its own, so that its allocations are always as many.
  var isSteady = true
  /// Makes the calls; what it returns only keeps them from being optimised away.
  let body: (_ calls: Int) async throws -> Int
}

/// Runs them in a process whose allocations are counted.
enum MicroBenchmarks {
  /// What one call takes.
  struct Figure {
    let name: String
    let nanoseconds: Double
    let allocations: Double
    /// Whether the allocations may have a threshold.
    let isSteady: Bool
  }

  private static let countersVariable = "BENCH_OWN_COUNTERS"

  static func run(_ results: inout Results) throws {
    var table = Table("Small pieces, one call (the median of 9)", ["what", "ns", "allocations"])
    for figure in try figures(rounds: 9) {
      table.add([
        figure.name, text(figure.nanoseconds, digits: figure.nanoseconds < 100 ? 1 : 0),
        text(figure.allocations, digits: 2),
      ])
    }
    results.add(table, as: "micro")
  }

  /// The figures, from this program started anew with a library under it that counts.
  static func figures(rounds: Int) throws -> [Figure] {
    let folder = try TemporaryFolder("larder-micro")
    defer { folder.remove() }
    let counters = try Counters(in: folder.path)
    let command = counters.launcher + ["/proc/\(getpid())/exe", "micro-measure"]
    let result = try mustRun(
      command[0], Array(command.dropFirst()),
      environment: [
        countersVariable: folder.file("counters"), "BENCH_ROUNDS": "\(rounds)", "SWIFT_DETERMINISTIC_HASHING": "1",
        "TMPDIR": folder.path,
      ], seconds: 180)
    return try result.outputText.split(separator: "\n").map { line in
      let parts = line.split(separator: "\t")
      guard parts.count == 4, let nanoseconds = Double(parts[1]), let allocations = Double(parts[2]) else {
        throw HarnessError("strange figures: \(line)")
      }
      return Figure(
        name: String(parts[0]), nanoseconds: nanoseconds, allocations: allocations, isSteady: parts[3] == "steady")
    }
  }

  /// The measuring itself.
  static func measure() async throws {
    guard let path = environment(countersVariable) else { throw HarnessError("\(countersVariable) is not set") }
    let rounds = environment("BENCH_ROUNDS").flatMap { Int($0) } ?? 1
    let counters = try Counters(own: path)
    let pieces = try wirePieces() + spanPieces()
    for piece in pieces { try await measure(piece, rounds, counters) }
    try await StorePieces.measure { try await measure($0, rounds, counters) }
  }

  private static func measure(_ piece: MicroBenchmark, _ rounds: Int, _ counters: Counters) async throws {
    var sink = try await piece.body(piece.calls)
    var times: [Double] = []
    var allocations: [Double] = []
    for _ in 0..<rounds {
      let before = (ownProcessorNanoseconds(), counters.allocations)
      sink &+= try await piece.body(piece.calls)
      times.append(Double(ownProcessorNanoseconds() - before.0) / Double(piece.calls))
      allocations.append(Double(counters.allocations - before.1) / Double(piece.calls))
    }
    guard sink != .min, let time = median(times), let allocated = allocations.min() else { return }
    print("\(piece.name)\t\(time)\t\(allocated)\t\(piece.isSteady ? "steady" : "unsteady")")
  }
}
