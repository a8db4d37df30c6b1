// The whole program beside nginx as a caching peer, by processor time: the same work, alternately, medians.
import Glibc
import TestSupport

/// Runs each row against both, several times in turn.
enum PeerBenchmark {
  private static let rounds = 5
  private static let seconds = 2
  private static let large = 256 << 20

  /// One server under test.
  private struct Server {
    let name: String
    let port: UInt16
    let process: Int32
  }

  private struct Row {
    let name: String
    let unit: String
    /// One run, in the row's unit.
    let run: (Server) throws -> Double
  }

  static func run(_ verdict: inout Verdict) throws {
    var table = Table(
      "CPU time of the server, one worker on core \(Cores.server), load and origin on core \(Cores.load) "
        + "(\(rounds) rounds in turn, medians)",
      ["work", "unit", "larder", "nginx", "larder ÷ nginx", "larder's spread"])
    // Whatever is started from here on, the origin and the load, is on the load's core; the servers are moved.
    try pin(getpid(), to: Cores.load)
    try withRig { rig in
      let nginx = try rig.nginx(serverLines: "access_log off; add_header Cache-Control max-age=86400;")
      for (path, size) in [("/1k", 1 << 10), ("/1m", 1 << 20), ("/256m", large)] {
        try nginx.publish(path, PatternBody(seed: UInt64(size), size: size))
      }
      let larder = try rig.larder([
        "workers": "1", "log.level": "info", "log.access_log": "off", "cache.size": "20G", "cache.memory": "256M",
      ])
      let peer = try CachingNginx(in: rig.folder.file("peer"), origin: nginx.port)
      let servers = [
        Server(name: "larder", port: larder.port, process: larder.process.id),
        Server(name: "nginx", port: peer.port, process: peer.process.id),
      ]
      for server in servers {
        try pin(server.process, to: Cores.server)
        for path in ["/1k", "/1m", "/256m"] { try fetchAndCompare(nginx, path, path, server) }
      }
      for row in rows(nginx, rig.folder) {
        var results: [[Double]] = [[], []]
        for server in servers { _ = try row.run(server) }
        for _ in 0..<rounds {
          for (index, server) in servers.enumerated() { results[index].append(try row.run(server)) }
        }
        guard let ours = median(results[0]), let theirs = median(results[1]), let least = results[0].min(),
          let most = results[0].max()
        else { continue }
        table.add([
          row.name, row.unit, text(ours), text(theirs), text(ours / theirs, digits: 2),
          "\(text(least))–\(text(most))",
        ])
      }
    }
    table.print()
  }

  private static func rows(_ nginx: NginxOrigin, _ folder: TemporaryFolder) -> [Row] {
    let load = { (path: String, form: Load.Form) in
      { (server: Server) -> Double in
        let before = try ProcessFigures(server.process).processorSeconds()
        let count = try Load(url: nginx.url(path), form: form).run(port: server.port, seconds: seconds, in: folder)
        return (try ProcessFigures(server.process).processorSeconds() - before) * 1e6 / Double(count)
      }
    }
    var number = 0
    let cold = { (server: Server) -> Double in
      number += 1
      let before = try ProcessFigures(server.process).processorSeconds()
      try fetchAndCompare(nginx, "/256m?\(number)", "/256m", server)
      return (try ProcessFigures(server.process).processorSeconds() - before) * 1000 / (Double(large) / 1e9)
    }
    return [
      Row(name: "hit 1 KiB", unit: "µs/request", run: load("/1k", .whole)),
      Row(name: "hit 1 MiB", unit: "µs/request", run: load("/1m", .whole)),
      Row(
        name: "random 64 KiB range of a cached 256 MiB", unit: "µs/request",
        run: load("/256m", .ranges(length: 64 << 10, size: large))),
      Row(name: "cold 256 MiB", unit: "ms/GB", run: cold),
    ]
  }

  /// Gets a URL through a server and compares its checksum with that of the origin's file: a fast wrong answer fails.
  private static func fetchAndCompare(_ nginx: NginxOrigin, _ target: String, _ path: String, _ server: Server) throws {
    let command =
      "set -o pipefail; curl -sSf --retry 9 --retry-connrefused -x http://127.0.0.1:\(server.port) '\(nginx.url(target))' | sha256sum"
    let got = try mustRun("bash", ["-c", command], seconds: 120).outputText
    let right = try mustRun("bash", ["-c", "sha256sum < '\(nginx.root)\(path)'"]).outputText
    try demandEqual(got, right, "checksum of \(target) through \(server.name)")
  }
}
