// What a miss cannot cost less than, and where Larder's time above that goes.
import Glibc
import TestSupport

/// Measures a bare relay and Larder in turn, under the same load of new names.
struct MissFloor {
  let isQuick: Bool
  private var rounds: Int { isQuick ? 1 : 5 }
  private var seconds: Int { isQuick ? 1 : 3 }

  /// Microseconds of processor time of one request.
  private struct Cost {
    let user: Double
    let system: Double
    var all: Double { user + system }
  }

  func run(_ results: inout Results) throws {
    var table = Table("Processor time of a miss of 1 KiB beside that of a bare relay, medians", ["what", "found"])
    try pin(getpid(), to: Cores.load)
    try withRig { rig in
      let origin = try BenchmarkOrigin(rig, largeSize: 1 << 20)
      let program = rig.folder.file("relay")
      try mustRun("clang", ["-O2", "-Wall", "-Werror", "-o", program, "Benchmarks/floors/relay.c"])
      let relay = try Self.start([program, "\(origin.port)"])
      defer { relay.process.kill9() }
      let larder = try LarderServer(in: rig.folder.file("larder"))
      defer { larder.server.stop() }
      let load = Load(url: origin.missPrefix, form: .newNames, length: 1 << 10)
      var (bare, loop, others): ([Cost], [Cost], [Cost]) = ([], [], [])
      for round in 0..<rounds {
        let run = { (port: UInt16, label: String) in
          try load.run(port: port, seconds: seconds, label: "\(label)-\(round)", in: rig.folder).requests
        }
        bare += try Self.measure(ProcessFigures(relay.process.id), [{ _ in true }]) { try run(relay.port, "relay") }
        let parts = try Self.measure(larder.figures, [{ $0.hasPrefix("worker") }, { !$0.hasPrefix("worker") }]) {
          let requests = try run(larder.port, "larder")
          // What the index's threads put off.
          usleep(600_000)
          return requests
        }
        loop.append(parts[0])
        others.append(parts[1])
      }
      for (what, costs) in [("bare relay", bare), ("Larder's loop", loop), ("Larder's other threads", others)] {
        guard let all = median(costs.map(\.all)), let system = median(costs.map(\.system)) else { continue }
        table.add([what, "\(text(all, digits: 1)) µs, \(text(system, digits: 1)) of it the kernel's"])
      }
      table.add(try longestTurn(program, origin, load, rig))
    }
    results.add(table, as: "floor")
  }

  /// How long a turn lasts of a program that handles 64 events in it at most: beyond a millisecond it is the machine.
  private func longestTurn(_ program: String, _ origin: BenchmarkOrigin, _ load: Load, _ rig: Rig) throws -> [String] {
    let counters = try Counters(in: rig.folder.path)
    let relay = try Self.start(counters.launcher + [program, "\(origin.port)"])
    defer { relay.process.kill9() }
    _ = try load.run(port: relay.port, seconds: 1, label: "turns-warm", in: rig.folder)
    counters.forgetTurns()
    _ = try load.run(port: relay.port, seconds: isQuick ? 2 : 10, label: "turns", in: rig.folder)
    let (longest, turns) = (counters.longestTurn, counters.turns)
    return [
      "longest turn of the bare relay",
      "\(text(longest.processor, digits: 2)) ms of processor time, \(text(longest.clock, digits: 2)) ms by the clock; "
        + "\(turns.long) of \(turns.all) beyond 2 ms",
    ]
  }

  private static func start(_ command: [String]) throws -> (process: ChildProcess, port: UInt16) {
    let process = try Server.start(command)
    let port = try process.waitForLine("its listening line") { line in
      line.hasPrefix("relay: listening") ? line.split(separator: ":").last.flatMap { UInt16($0) } : nil
    }
    return (process, port)
  }

  /// What each part of the threads, told by their names, took for a request.
  private static func measure(
    _ figures: ProcessFigures, _ parts: [(String) -> Bool], _ work: () throws -> Int
  ) throws -> [Cost] {
    let before = try parts.map { try figures.threadSeconds(of: $0) }
    let requests = Double(try work())
    return try zip(parts, before).map { part, before in
      let after = try figures.threadSeconds(of: part)
      return Cost(
        user: (after.user - before.user) * 1e6 / requests, system: (after.system - before.system) * 1e6 / requests)
    }
  }
}
