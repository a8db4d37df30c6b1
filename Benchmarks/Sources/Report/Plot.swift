// The comparison as a picture.
import TestSupport

/// Draws with gnuplot what each server costs by what Larder costs, a group of bars for each kind of work.
enum Plot {
  static func draw(_ results: Results, to path: String) throws {
    let measurements = results.measurements
    guard !measurements.isEmpty else { throw HarnessError("there is no comparison to draw; run the group peers first") }
    let folder = try TemporaryFolder("larder-plot")
    defer { folder.remove() }
    var servers: [String] = []
    var works: [String] = []
    // A row that Larder alone has compares nothing.
    for measurement in measurements where measurement.server != Contestant.loggingLarder.rawValue {
      if !servers.contains(measurement.server) { servers.append(measurement.server) }
      if !works.contains(measurement.work) { works.append(measurement.work) }
    }
    var data = "work\t" + servers.joined(separator: "\t") + "\n"
    for work in works {
      let costs = servers.map { server in
        measurements.first { $0.work == work && $0.server == server }?.costByLarders.map { text($0, digits: 3) } ?? "?"
      }
      data += work + "\t" + costs.joined(separator: "\t") + "\n"
    }
    try writeFile(folder.file("data"), data)
    try mustRun(
      "gnuplot",
      [
        "-e", "data='\(folder.file("data"))'; output='\(path)'; columns=\(servers.count + 1)",
        "-e", "machine='\(results.machine.date), \(results.machine.processor), \(results.machine.kernel)'",
        "Benchmarks/plot.gnuplot",
      ])
    print("plot: \(path)")
  }
}
