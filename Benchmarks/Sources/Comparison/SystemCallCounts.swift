// System calls per request, by strace.
import Glibc
import TestSupport

/// Counts what each kind of work asks of the kernel, for Larder and for the peer that everybody has.
struct SystemCallCounts {
  let isQuick: Bool
  private static let contestants: [Contestant] = [.larder, .nginx]

  func run(_ results: inout Results) throws {
    var table = Table(
      "System calls (strace) per request, or per MB of a cold object", ["work", "server", "all", "of them"])
    try pin(getpid(), to: Cores.load)
    try withRig { rig in
      let origin = try BenchmarkOrigin(rig, largeSize: 64 << 20)
      let larder = try LarderServer(in: rig.folder.file("larder"))
      let nginx = try PeerServers(origin: origin, folder: rig.folder).start(.nginx)
      defer {
        larder.server.stop()
        nginx.stop()
      }
      let rows = ComparisonRows(
        origin: origin, folder: rig.folder, seconds: isQuick ? 1 : 2, contestants: Self.contestants)
      for server in [larder.server, nginx] {
        try rows.warm(server)
        for work in try works(rows, origin, rig.folder) {
          let calls = try Self.count(server, in: rig.folder) { try work.run(server) }
          table.add([
            work.name, server.name, text(calls.values.reduce(0, +), digits: 1),
            calls.sorted { $0.value > $1.value }.prefix(6).map { "\($0.key) \(text($0.value, digits: 2))" }
              .joined(separator: ", "),
          ])
        }
      }
    }
    results.add(table, as: "calls")
  }

  private struct Work {
    let name: String
    /// Does it, and says how many units of it.
    let run: (Server) throws -> Double
  }

  private func works(_ rows: ComparisonRows, _ origin: BenchmarkOrigin, _ folder: TemporaryFolder) throws -> [Work] {
    let large = origin.body(.large)
    let load = { (url: String, form: Load.Form, length: Int) in
      { (server: Server) in
        let load = Load(url: url, form: form, length: length)
        return Double(try load.run(port: server.port, seconds: rows.seconds, label: "calls", in: folder).requests)
      }
    }
    let range = 64 << 10
    return [
      Work(name: "hit 1 KiB", run: load(origin.url(.small), .whole, 1 << 10)),
      Work(name: "hit 1 MiB", run: load(origin.url(.middle), .whole, 1 << 20)),
      Work(name: "range 64 KiB", run: load(origin.url(.large), .ranges(length: range, size: large.size), range)),
      Work(name: "miss 1 KiB", run: load("\(origin.missPrefix)calls", .newNames, 1 << 10)),
      Work(name: "cold, per MB") { server in
        try fetch(try origin.coldURL("calls-\(server.port)"), large, server.port)
        return Double(large.size) / 1e6
      },
    ]
  }

  /// Calls by name, of all processes and threads of a server, for one unit of the work.
  static func count(_ server: Server, in folder: TemporaryFolder, _ work: () throws -> Double) throws
    -> [String: Double]
  {
    let report = folder.file("strace")
    unlink(report)
    let processes = try server.tree.members().flatMap { ["-p", "\($0)"] }
    let strace = try ChildProcess("strace", ["-f", "-c", "-U", "name,calls", "-o", report] + processes)
    try strace.waitForErrorText("attached")
    // Threads are attached one after another.
    usleep(500_000)
    let units = try work()
    strace.signal(SIGINT)
    _ = try strace.wait()
    var calls: [String: Double] = [:]
    for line in try readText(report).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count == 2, let count = Double(words[1]), words[0] != "total" else { continue }
      calls[String(words[0])] = count / units
    }
    return calls
  }
}
