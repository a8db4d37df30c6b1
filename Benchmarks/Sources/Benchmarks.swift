// Benchmarks: what the program costs, in counts and processor time, which hold on a busy machine where seconds do not.
import Glibc
import TestSupport

/// `Benchmarks [first-byte] [memory] [peers]`: runs the named groups, or all of them.
@main
struct BenchmarkProgram {
  /// The groups of rows.
  private enum Group: String, CaseIterable {
    case firstByte = "first-byte"
    case memory
    case peers
  }

  static func main() async {
    let names = CommandLine.arguments.dropFirst()
    let groups = names.compactMap { Group(rawValue: $0) }
    guard groups.count == names.count else {
      print("expected any of: \(Group.allCases.map(\.rawValue).joined(separator: ", "))")
      exit(2)
    }
    var verdict = Verdict()
    do {
      for group in groups.isEmpty ? Group.allCases : groups {
        switch group {
        case .firstByte: try await FirstByteBenchmark.run(&verdict)
        case .memory: try MemoryBenchmark.run(&verdict)
        case .peers: try PeerBenchmark.run(&verdict)
        }
      }
    } catch {
      verdict.demand(false, "\(error)")
    }
    for failure in verdict.failures { print("FAILED: \(failure)") }
    exit(verdict.failures.isEmpty ? 0 : 1)
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
