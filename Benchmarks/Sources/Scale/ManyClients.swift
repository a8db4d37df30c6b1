// Many clients: ten thousand that wait, two thousand that read what one of them has asked for.
import Glibc
import TestSupport

/// Connections that were used once and are kept.
enum IdleConnections {
  private static let wanted = 10_000

  static func run() async throws -> [ScaleBenchmark.Finding] {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let count = min(wanted, Int(limit.rlim_cur) - 512)
    var grown = 0
    try withRig { rig in
      let origin = try BenchmarkOrigin(rig, largeSize: 1 << 20)
      let larder = try LarderServer(
        in: rig.folder.file("larder"),
        LarderServer.Start(settings: [
          "clients.connections": "\(count + 64)", "clients.connections_per_address": "\(count + 64)",
          "clients.idle_timeout": "1h",
        ]))
      defer { larder.server.stop() }
      try fetch(origin.url(.small), origin.body(.small), larder.port)
      let before = try larder.figures.privateBytes()
      var clients: [RawClient] = []
      for _ in 0..<count {
        let client = try RawClient(port: larder.port)
        try demandEqual(try client.fetch(origin.url(.small)).body, origin.body(.small).bytes, "a hit")
        clients.append(client)
      }
      grown = try larder.figures.privateBytes() - before
      // They are all still there.
      for client in clients { try demandEqual(try client.fetch(origin.url(.small)).status, 200, "status of a hit") }
      for client in clients { client.close() }
    }
    let mebibytes = Double(grown) / 1_048_576
    return [
      ScaleBenchmark.Finding(
        what: "\(count) idle kept connections", value: "\(text(mebibytes)) MiB, \(grown / count) bytes each",
        goal: "under 100 MiB", isMet: mebibytes < 100)
    ]
  }
}

/// Readers of one fill.
enum ManyReaders {
  private static let count = 2000

  static func run() async throws -> [ScaleBenchmark.Finding] {
    var findings: [ScaleBenchmark.Finding] = []
    try withRig { rig in
      let body = PatternBody(seed: 9, size: 1 << 20)
      let gated = try GatedOrigin(rig, body, end: body.size / 2)
      let larder = try LarderServer(
        in: rig.folder.file("larder"),
        LarderServer.Start(settings: ["clients.connections_per_address": "\(count + 64)"]))
      defer { larder.server.stop() }
      let before = (try larder.figures.processorSeconds(), try larder.figures.privateBytes())
      let began = monotonicSeconds()
      let clients = try (0..<count).map { _ in
        let client = try RawClient(port: larder.port)
        try client.send(RawClient.request("GET", gated.url(0)))
        return client
      }
      // All have joined when all have a head; what they wait for then is half a body.
      var responses = try clients.map { try $0.responseHead() }
      let waiting = try larder.figures.privateBytes() - before.1
      gated.open(0)
      for index in clients.indices {
        let checker = BodyChecker(body)
        try clients[index].readBody(of: &responses[index]) { checker.take($0) }
        try demandEqual(checker.position, body.size, "length for reader \(index)")
        try demandEqual(checker.mismatch, nil, "first wrong byte for reader \(index)")
        clients[index].close()
      }
      let seconds = monotonicSeconds() - began
      let spent = try larder.figures.processorSeconds() - before.0
      let requests = gated.requests(0)
      findings = [
        ScaleBenchmark.Finding(
          what: "\(count) readers of one fill of 1 MiB",
          value: "\(text(seconds)) s, \(text(spent * 1e6 / Double(count), digits: 0)) µs of processor time each, "
            + "\(text(Double(waiting) / 1_048_576)) MiB",
          goal: "all bytes right", isMet: true),
        ScaleBenchmark.Finding(
          what: "requests upstream for them", value: "\(requests)", goal: "1", isMet: requests == 1),
      ]
    }
    return findings
  }
}
