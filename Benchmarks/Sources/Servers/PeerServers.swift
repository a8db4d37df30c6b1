// The peers, each started with its configuration from Benchmarks/peers, where every choice has its reason.
import Glibc
import TestSupport

/// Starts peers in folders of their own.
struct PeerServers {
  let origin: BenchmarkOrigin
  let folder: TemporaryFolder
  private static let templates = "Benchmarks/peers"

  /// Starts a peer and waits until it serves what the origin has.
  func start(_ contestant: Contestant) throws -> Server {
    let folder = self.folder.file(contestant.rawValue.split(separator: " ").joined(separator: "-"))
    try makeFolder(folder)
    // Squid becomes another user.
    chmod(folder, 0o777)
    // A port that is free now; it is asked again until the server listens on it.
    let port = try ListeningSocket(listens: false).port
    let server: Server
    switch contestant {
    case .nginx: server = try nginx("nginx.conf", contestant, folder, port)
    case .nginxStatic: server = try nginx("nginx-static.conf", contestant, folder, port)
    case .squid: server = try squid(folder, port)
    case .varnish: server = try varnish(folder, port)
    case .trafficServer: server = try trafficServer(folder, port)
    case .larder, .loggingLarder: throw HarnessError("Larder is not its own peer")
    }
    try server.waitUntilReady(origin.url(.small), expecting: origin.body(.small).bytes)
    return server
  }

  private func nginx(_ template: String, _ contestant: Contestant, _ folder: String, _ port: UInt16) throws -> Server {
    try configure(template, as: "nginx.conf", folder, port)
    let process = try Server.start(["nginx", "-p", folder, "-c", "\(folder)/nginx.conf", "-e", "\(folder)/error.log"])
    return Server(contestant, port: port, process: process)
  }

  private func squid(_ folder: String, _ port: UInt16) throws -> Server {
    try configure("squid.conf", as: "squid.conf", folder, port)
    // Its shared memory has a name for the whole machine.
    let service = "bench\(getpid())"
    let command = ["squid", "-n", service, "-N", "-f", "\(folder)/squid.conf"]
    try mustRun(command[0], command.dropFirst() + ["-z"], environment: ["PATH": Programs.path])
    return Server(.squid, port: port, process: try Server.start(command)) {
      for part in ["metadata", "queues", "readers"] { unlink("/dev/shm/\(service)-cf__\(part).shm") }
    }
  }

  private func varnish(_ folder: String, _ port: UInt16) throws -> Server {
    try configure("varnish.vcl", as: "bench.vcl", folder, port)
    let process = try Server.start([
      "varnishd", "-F", "-n", "\(folder)/work", "-a", "127.0.0.1:\(port)", "-f", "\(folder)/bench.vcl", "-s",
      "malloc,4G", "-j", "none", "-T", "none", "-S", "none", "-p", "thread_pools=1", "-p", "thread_pool_min=50",
    ])
    return Server(.varnish, port: port, process: process)
  }

  private func trafficServer(_ folder: String, _ port: UInt16) throws -> Server {
    for name in ["records.config", "storage.config", "ip_allow.yaml", "runroot.yaml"] {
      try configure("trafficserver/\(name)", as: name, folder, port)
    }
    for name in ["run", "log", "cache"] { try makeFolder("\(folder)/\(name)") }
    try writeFile("\(folder)/remap.config", "")
    return Server(
      .trafficServer, port: port,
      process: try Server.start(["traffic_server", "--run-root=\(folder)/runroot.yaml"]))
  }

  /// Writes a template with its places filled.
  private func configure(_ template: String, as name: String, _ folder: String, _ port: UInt16) throws {
    let values = [
      "folder": folder, "port": "\(port)", "origin": "127.0.0.1:\(origin.port)", "host": "127.0.0.1",
      "origin_port": "\(origin.port)", "root": origin.root,
    ]
    var parts = try readText("\(Self.templates)/\(template)").split(
      separator: "@", omittingEmptySubsequences: false
    ).map(String.init)
    // A place is a name between two signs; any other sign stays.
    for index in parts.indices where index % 2 == 1 {
      guard let value = values[parts[index]] else {
        throw HarnessError("\(template): nothing is known for @\(parts[index])@")
      }
      parts[index] = value
    }
    try writeFile("\(folder)/\(name)", parts.joined())
  }
}
