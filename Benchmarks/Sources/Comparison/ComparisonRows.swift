// The kinds of work that are compared, as the goal names them.
import Glibc
import TestSupport

/// Makes the rows for one origin.
struct ComparisonRows {
  let origin: BenchmarkOrigin
  let folder: TemporaryFolder
  /// Of one run under load.
  let seconds: Int
  let contestants: [Contestant]
  private static let rangeLength = 64 << 10
  private static let clients = 12

  private var proxies: [Contestant] { contestants.filter(\.isProxy) }
  private var largeName: String { "\(origin.body(.large).size >> 20) MiB" }

  var all: [Row] {
    [
      Row(
        name: "hit 1 KiB", unit: "µs/request", rateUnit: "requests/s", goal: (0.85, .nginx), contestants: contestants,
        run: hits(.small)),
      Row(
        name: "hit 1 KiB, access log on", unit: "µs/request", rateUnit: "requests/s", contestants: [.loggingLarder],
        run: hits(.small)),
      Row(
        name: "hit 1 MiB", unit: "ms/GB", rateUnit: "MB/s", goal: (0.8, .varnish), contestants: contestants,
        run: hits(.middle)),
      Row(
        name: "random 64 KiB range of a cached \(largeName)", unit: "µs/request", rateUnit: "requests/s",
        goal: (0.65, .varnish), contestants: contestants, run: ranges),
      Row(
        name: "cold \(largeName)", unit: "ms/GB", rateUnit: "MB/s", goal: (0.8, .trafficServer),
        contestants: contestants, run: { try cold($0, "cold-\($1)", clients: 1) }),
      Row(
        name: "1 KiB misses, each a new URL", unit: "µs/request", rateUnit: "requests/s", goal: (1.0, .trafficServer),
        contestants: proxies, run: misses),
      Row(
        name: "\(Self.clients) clients, one cold \(largeName)", unit: "s", rateUnit: "MB/s", goal: (1.0, .varnish),
        contestants: proxies, run: { try cold($0, "shared-\($1)", clients: Self.clients) }),
    ]
  }

  /// Gets every object once through a server, compares it, and lets the server run warm.
  func warm(_ server: Server) throws {
    for object in BenchmarkOrigin.Object.allCases {
      for _ in 0..<2 { try fetch(origin.url(object), origin.body(object), server.port) }
    }
    _ = try Load(url: origin.url(.small), form: .whole, length: origin.body(.small).size).run(
      port: server.port, seconds: 1, label: "warm", in: folder)
  }

  // MARK: - Under load

  private func hits(_ object: BenchmarkOrigin.Object) -> (Server, String) throws -> Sample {
    let (url, body) = (origin.url(object), origin.body(object))
    return { server, label in
      let question = WatchfulClient.Question(url: url, body: body)
      let measured = try measure(server, Load(url: url, form: .whole, length: body.size), label) { _ in question }
      try demandEqual(measured.upstreamRequests, 0, "requests upstream for hits")
      return sample(measured, bytesEach: object == .small ? nil : body.size)
    }
  }

  private func ranges(_ server: Server, _ label: String) throws -> Sample {
    let (url, body) = (origin.url(.large), origin.body(.large))
    let length = Self.rangeLength
    let load = Load(url: url, form: .ranges(length: length, size: body.size), length: length)
    let measured = try measure(server, load, label) { number in
      var random = SeededGenerator(UInt64(number))
      let first = Int.random(in: 0...(body.size - length), using: &random)
      return WatchfulClient.Question(url: url, body: body, range: first..<first + length)
    }
    try demandEqual(measured.upstreamRequests, 0, "requests upstream for ranges of a cached object")
    return sample(measured, bytesEach: nil)
  }

  private func misses(_ server: Server, _ label: String) throws -> Sample {
    // Each server and each round has names of its own.
    let prefix = "\(origin.missPrefix)\(server.port)-"
    let body = origin.body(.small)
    let load = Load(url: prefix, form: .newNames, length: body.size)
    let measured = try measure(server, load, label) { number in
      WatchfulClient.Question(url: "\(prefix)\(label)-watched-\(number)", body: body)
    }
    // Those on their way when the load ended are not counted by it.
    let surplus = measured.upstreamRequests - measured.requests
    try demand(surplus >= 0, "\(measured.requests) misses with only \(measured.upstreamRequests) requests upstream")
    var sample = sample(measured, bytesEach: nil)
    sample.upstream =
      surplus <= Load.connections ? 1 : Double(measured.upstreamRequests) / Double(measured.requests)
    return sample
  }

  private struct Measured {
    let requests: Int
    let seconds: Double
    let p99: Double
    let processorSeconds: Double
    let clientSeconds: Double
    let upstreamRequests: Int
  }

  /// Runs a load with somebody watching the answers.
  private func measure(
    _ server: Server, _ load: Load, _ label: String, _ next: @escaping @Sendable (Int) -> WatchfulClient.Question
  ) throws -> Measured {
    let requestsBefore = try origin.requests()
    let before = try server.tree.processorSeconds()
    let clientsBefore = clientSeconds()
    let watcher = WatchfulClient(port: server.port, next: next)
    let outcome: Load.Outcome
    do {
      outcome = try load.run(port: server.port, seconds: seconds, label: label, in: folder)
    } catch {
      _ = try? watcher.finish()
      throw error
    }
    let watched = try watcher.finish()
    let spent = try server.tree.processorSeconds() - before
    return Measured(
      requests: outcome.requests + watched, seconds: outcome.seconds, p99: outcome.p99, processorSeconds: spent,
      clientSeconds: clientSeconds() - clientsBefore, upstreamRequests: try origin.requests() - requestsBefore)
  }

  private func sample(_ measured: Measured, bytesEach: Int?) -> Sample {
    let requests = Double(measured.requests)
    guard let bytesEach else {
      return Sample(
        cost: measured.processorSeconds * 1e6 / requests, rate: requests / measured.seconds,
        clients: measured.clientSeconds * 1e6 / requests, p99: measured.p99)
    }
    let bytes = requests * Double(bytesEach)
    return Sample(
      cost: measured.processorSeconds * 1000 / (bytes / 1e9), rate: bytes / 1e6 / measured.seconds,
      clients: measured.clientSeconds * 1000 / (bytes / 1e9), p99: measured.p99)
  }

  // MARK: - Cold objects

  /// Brings an object nobody has asked for to so many clients at once. For one the cost is processor time, for several
  /// it is the time until the last has it.
  private func cold(_ server: Server, _ label: String, clients: Int) throws -> Sample {
    let name = "\(server.port)-\(label)"
    let url = try origin.coldURL(name)
    let body = origin.body(.large)
    // What the one before has left to write must not be this one's burden.
    sync()
    let before = try server.tree.processorSeconds()
    let clientsBefore = clientSeconds()
    let began = monotonicSeconds()
    let port = server.port
    try concurrently((0..<clients).map { _ in { @Sendable in try fetch(url, body, port) } })
    let seconds = monotonicSeconds() - began
    let spentByClients = clientSeconds() - clientsBefore
    // What is put off until after the last byte counts as well.
    usleep(500_000)
    let spent = try server.tree.processorSeconds() - before
    let gigabytes = Double(body.size) * Double(clients) / 1e9
    return Sample(
      cost: clients == 1 ? spent * 1000 / gigabytes : seconds, rate: gigabytes * 1000 / seconds,
      clients: spentByClients * 1000 / gigabytes,
      upstream: server.contestant.isProxy ? Double(try origin.bytesSent(coldName: name)) / Double(body.size) : nil)
  }
}

/// Processor time of this program and of the load that has ended; the servers and the origin are still running.
private func clientSeconds() -> Double {
  var total = 0.0
  for who in [RUSAGE_SELF, RUSAGE_CHILDREN] {
    var usage = rusage()
    getrusage(__rusage_who_t(who.rawValue), &usage)
    for time in [usage.ru_utime, usage.ru_stime] { total += Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
  }
  return total
}

/// Gets a URL through a server and compares every byte.
func fetch(_ url: String, _ body: PatternBody, _ port: UInt16) throws {
  let checker = BodyChecker(body)
  let client = try RawClient(port: port)
  defer { client.close() }
  let response = try client.fetch(url) { checker.take($0) }
  try demandEqual(response.status, 200, "status of \(url)")
  try demandEqual(checker.position, body.size, "length of \(url)")
  try demandEqual(checker.mismatch, nil, "first wrong byte of \(url)")
}
