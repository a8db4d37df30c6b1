// A server under test: one process tree on one core, asked through one port.
import Glibc
import TestSupport

/// Who is compared.
enum Contestant: String, CaseIterable {
  case larder
  case loggingLarder = "larder, log on"
  case nginx
  case squid = "Squid"
  case varnish = "Varnish"
  case trafficServer = "ATS"
  case nginxStatic = "nginx static"

  /// Those that cache what they bring from the origin.
  var isProxy: Bool { self != .nginxStatic }
}

/// A running server.
final class Server {
  let contestant: Contestant
  let port: UInt16
  /// Itself, not `taskset`, which has become it.
  let process: ChildProcess
  private let tidyUp: () -> Void

  var name: String { contestant.rawValue }
  var tree: ProcessTree { ProcessTree(root: process.id) }

  init(_ contestant: Contestant, port: UInt16, process: ChildProcess, tidyUp: @escaping () -> Void = {}) {
    self.contestant = contestant
    self.port = port
    self.process = process
    self.tidyUp = tidyUp
  }

  /// Starts a program on the server's core.
  static func start(_ command: [String], environment variables: [String: String] = [:], cores: String? = nil) throws
    -> ChildProcess
  {
    try ChildProcess(
      "taskset", ["-c", cores ?? "\(Cores.server)"] + command,
      environment: ["PATH": Programs.path].merging(variables) { $1 })
  }

  /// Ends it: in order, and by force when that takes too long.
  func stop() {
    process.signal(SIGTERM)
    let limit = monotonicSeconds() + 5
    while process.end == nil, monotonicSeconds() < limit { usleep(20_000) }
    process.kill9()
    tidyUp()
  }

  /// Asks until it answers rightly.
  func waitUntilReady(_ url: String, expecting body: [UInt8]) throws {
    let limit = monotonicSeconds() + Patience.seconds * 2
    while true {
      if let response = try? RawClient.fetch(url, through: port), response.status == 200, response.body == body {
        return
      }
      guard process.end == nil, monotonicSeconds() < limit else {
        throw HarnessError("\(name) does not serve \(url):\n\(process.outputText)\n\(process.errorText)")
      }
      usleep(50_000)
    }
  }
}
