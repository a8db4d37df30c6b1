// What was measured, as JSON: the tables of each group, and the comparison figure by figure.
import FoundationEssentials
import Glibc
import TestSupport

/// All that runs on one machine have found; a group that runs again replaces what it found before.
struct Results: Codable {
  private(set) var machine: Machine
  /// By name, as the README's markers name them.
  private(set) var tables: [String: Table] = [:]
  private(set) var measurements: [Measurement] = []

  /// One row of the comparison for one server.
  struct Measurement: Codable {
    let work: String
    let server: String
    /// Of `cost`, which is lower for the better.
    let unit: String
    let cost: Spread
    /// This server's median cost by Larder's.
    let costByLarders: Double?
    let rateUnit: String
    let rate: Spread
    /// Processor time of the clients, in µs a request, or in ms/GB where bytes are counted; none in older results.
    let clients: Spread?
    /// In milliseconds.
    let p99: Spread?
    /// Body bytes (or requests) upstream by those that were needed.
    let upstream: Double?
  }

  init(on machine: Machine) { self.machine = machine }

  /// The results in a file, if they are of this machine and these programs, to be added to; else new ones.
  static func continued(_ path: String, on machine: Machine) -> Results {
    guard exists(path), var found = try? load(path), found.machine.isSame(as: machine) else {
      return Results(on: machine)
    }
    found.machine = machine
    return found
  }

  static func load(_ path: String) throws -> Results {
    try JSONDecoder().decode(Results.self, from: Data(try readFile(path)))
  }

  func save(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    if !folder.isEmpty { try makeFolder(folder) }
    try writeFile(path, Array(try encoder.encode(self)) + [10])
  }

  /// Prints a table and keeps it under a name.
  mutating func add(_ table: Table, as name: String) {
    table.print()
    tables[name] = table
  }

  mutating func replaceMeasurements(_ measurements: [Measurement]) { self.measurements = measurements }
}

/// The middle of several runs, and how far they lie apart.
struct Spread: Codable {
  let median: Double
  let least: Double
  let most: Double
  let runs: [Double]

  /// Nil of nothing.
  init?(_ runs: [Double]) {
    guard let median = Benchmarks.median(runs), let least = runs.min(), let most = runs.max() else { return nil }
    (self.median, self.least, self.most, self.runs) = (median, least, most, runs)
  }
}
