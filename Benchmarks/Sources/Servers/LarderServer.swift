// Larder as a server under test, with whatever is laid under it.
import TestSupport

/// `larder serve`, pinned, with the settings of the benchmarks.
final class LarderServer {
  let server: Server
  let adminPort: UInt16
  let folders: LarderProcess.Folders

  /// How it is started.
  struct Start {
    /// Beside those of the benchmarks, by their dotted names.
    var settings: [String: String] = [:]
    /// What stands before the program: `valgrind …`.
    var launcher: [String] = []
    var environment: [String: String] = [:]
    /// Cores by `taskset`'s notation; nil is the server's.
    var cores: String?
    /// A cache that is there already.
    var cache: String?
    var contestant = Contestant.larder
  }

  /// Starts it in a folder and waits until it is ready.
  init(in folder: String, _ start: Start = Start()) throws {
    try makeFolder(folder)
    folders = LarderProcess.Folders(folder, cache: start.cache)
    var settings = [
      "workers": "1", "log.level": "info", "log.access_log": "off", "cache.size": "20G", "cache.memory": "256M",
    ]
    settings.merge(start.settings) { $1 }
    if start.contestant == .loggingLarder {
      settings["log.access_log"] = folders.accessLog
      settings["log.access_format"] = "larder"
    }
    try writeFile(folders.settings, LarderProcess.yaml(in: folders, settings))
    let process = try Server.start(
      start.launcher + [try LarderProcess.binary(), "serve", "--config", folders.settings],
      environment: ["HOME": folder].merging(start.environment) { $1 }, cores: start.cores)
    let port = try process.waitForLine("its listening line") { Self.port($0, after: "larder: listening on ") }
    adminPort = try process.waitForLine("its admin line") { Self.port($0, after: "larder: admin on ") }
    try process.waitForLine("its ready line") { $0 == "larder: ready" ? () : nil }
    server = Server(start.contestant, port: port, process: process)
  }

  var port: UInt16 { server.port }
  var figures: ProcessFigures { ProcessFigures(server.process.id) }

  /// A metric; nil when there is no such one.
  func metric(_ name: String) throws -> Double? {
    let text = try RawClient.fetch("http://127.0.0.1:\(adminPort)/metrics", through: adminPort).text
    for line in text.split(separator: "\n") where line.hasPrefix("\(name) ") {
      return line.split(separator: " ").last.flatMap { Double($0) }
    }
    return nil
  }

  private static func port(_ line: Substring, after prefix: String) -> UInt16? {
    line.hasPrefix(prefix) ? line.split(separator: ":").last.flatMap { UInt16($0) } : nil
  }
}
