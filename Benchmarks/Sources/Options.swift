// The command line of the benchmarks.

/// `Benchmarks [--quick] [--row TEXT] [--results FILE] [--update] [GROUP…]`, or `Benchmarks readme` or `plot`.
struct Options {
  /// The groups of rows.
  enum Group: String, CaseIterable {
    case micro, counts
    /// Those of the counts that come out the same however busy the machine is.
    case allocations
    case firstByte = "first-byte"
    case memory, peers, calls, floor, scale, slow
  }

  enum Task {
    case measure([Group])
    /// The part of `micro` that runs in a process whose allocations are counted.
    case microBenchmarks
    /// Writes the tables of the README from the results.
    case readme
    /// Draws the plot from the results.
    case plot
  }

  struct Misuse: Error, CustomStringConvertible {
    let description: String
  }

  let task: Task
  /// Fewer rounds, smaller objects.
  var isQuick = false
  /// What the names of the compared rows have to contain.
  var rowName = ""
  /// Whether the counts found become the thresholds.
  var updatesThresholds = false
  var resultsPath = "Benchmarks/results/latest.json"

  /// The plot stands beside the results.
  var plotPath: String {
    (resultsPath.hasSuffix(".json") ? String(resultsPath.dropLast(".json".count)) : resultsPath) + ".png"
  }

  /// What runs when nothing is named; the million objects are another matter.
  private static let usual: [Group] = [.micro, .firstByte, .memory, .peers, .calls, .floor]

  init(_ arguments: [String]) throws {
    var names: [String] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--quick": isQuick = true
      case "--update": updatesThresholds = true
      case "--row":
        guard let text = rest.popFirst() else { throw Misuse(description: "--row wants a part of a row's name") }
        rowName = text
      case "--results":
        guard let path = rest.popFirst() else { throw Misuse(description: "--results wants a path") }
        resultsPath = path
      default: names.append(argument)
      }
    }
    switch names {
    case ["readme"]: task = .readme
    case ["plot"]: task = .plot
    case ["micro-measure"]: task = .microBenchmarks
    default:
      let groups = names.compactMap { Group(rawValue: $0) }
      guard groups.count == names.count else {
        let all = Group.allCases.map(\.rawValue).joined(separator: ", ")
        throw Misuse(description: "expected any of \(all); or readme; or plot")
      }
      task = .measure(groups.isEmpty ? Self.usual : groups)
    }
  }
}
