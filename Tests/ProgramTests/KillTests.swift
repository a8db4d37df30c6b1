// kill -9 under load: what had been fetched a second before is there afterwards, every byte of it right, and counted.
import TestSupport
import Testing

@Suite struct KillTests {
  /// How often each test kills.
  private static let kills = environment("LARDER_TEST_KILLS").flatMap(Int.init) ?? 3
  private static let sizes = [20_000, 300_000, 1_500_000, 3_000_000]

  /// The object behind a path; its last digit chooses the size.
  private static func body(_ path: String) -> PatternBody {
    let seed = path.utf8.reduce(UInt64(7)) { $0 &* 31 &+ UInt64($1) }
    return PatternBody(seed: seed, size: sizes[Int(seed % 4)])
  }

  /// What a kill leaves is what the index says, byte for byte: nothing that a later read would serve wrong, or find bad.
  private func expectSound(_ folders: LarderProcess.Folders, _ when: String) throws {
    let result = try LarderProcess.run(["verify", "--cache-dir", folders.cache])
    #expect(result.end == .exited(0) && result.outputText.contains(" 0 bad extents, 0 bad rows"), "\(when): \(result)")
  }

  private static func fetch(_ url: String, _ range: Range<Int>?, _ port: UInt16) -> RawResponse? {
    let fields = range.map { [("Range", "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? []
    return try? RawClient.fetch(url, fields, through: port)
  }

  /// One client of a round: fetches objects that nobody has fetched, in whole and in parts, until the kill.
  private static func load(
    _ client: String, seed: UInt64, _ origin: ScriptedOrigin, _ port: UInt16, _ touched: Monitor<[String]>
  ) throws {
    var random = SeededGenerator(seed)
    for number in 0... {
      let path = "/\(client)-\(number)"
      let body = body(path)
      let versions = Versions([.init("\"v1\"", body)])
      touched.withLock { $0.append(path) }
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let first = Int.random(in: 0..<body.size, using: &random)
        let range = first..<Int.random(in: first..<body.size, using: &random) + 1
        let asked = Bool.random(using: &random) ? range : nil
        // A head may be cut short by the kill, like anything else.
        guard let response = fetch(origin.url(path), asked, port) else { return }
        _ = try versions.judge(response, asked: asked)
        if response.end != .clean { return }
      }
    }
  }

  /// The origin sends at a bounded pace, so that a second's worth is a small part of what a kill could lose.
  ///
  /// A fill's bytes count from the moment the origin's system took them. The second is one of an unburdened machine:
  /// half a second more, times the patience of the run, is allowed for the threads that write and commit to get a turn.
  @Test func aKillCostsNoMoreThanWhatTheLastSecondBrought() throws {
    let allowed = 1 + 0.5 * Patience.seconds / 30
    try withRig { rig in
      let log = ByteLog()
      let isPaced = Monitor(true)
      let origin = try rig.origin { exchange in
        let body = Self.body(exchange.request.target)
        let epoch = log.epoch
        let pause = isPaced.withLock { $0 } ? 0.01 : 0
        try Representation(body).serve(
          exchange, .init(.by { try log.send($0, body, $1, epoch: epoch, pause: pause) }))
      }
      let folders = try rig.folders()
      // No fill is stopped for want of readers, and no present byte is bridged: both would be fetched again rightly.
      let settings = ["fills.finish_if_missing": "1G", "fills.coalesce_gaps": "0", "log.level": "warning"]
      var larder = try rig.larder(settings, on: folders)
      var random = SeededGenerator(17)
      var figures: [String] = []
      var all: Set<String> = []
      // What the origin sent after the kill before: on a fast machine that is not a second ago when the next one comes.
      var recent: (epoch: Int, paths: Set<String>) = (log.epoch, [])
      for kill in 0..<Self.kills {
        let epoch = log.begin()
        let touched = Monitor<[String]>([])
        let port = larder.port
        let clients = (0..<6).map { client in
          Background("client \(client) before kill \(kill)") {
            try Self.load("\(kill)-\(client)", seed: UInt64(kill * 10 + client), origin, port, touched)
          }
        }
        try log.waitForBytes(Int.random(in: 3_000_000...24_000_000, using: &random), in: epoch)
        let moment = ByteLog.now
        larder.kill9()
        for client in clients { try client.join() }
        try expectSound(folders, "kill \(kill)")

        larder = try rig.larder(settings, on: folders)
        isPaced.withLock { $0 = false }
        let after = log.begin()
        let paths = Set(touched.withLock { $0 })
        for path in paths.union(recent.paths).sorted() {
          let response = try RawClient.fetch(origin.url(path), through: larder.port)
          _ = try Versions([.init("\"v1\"", Self.body(path))]).judge(response)
          #expect(response.status == 200 && response.end == .clean)
        }
        isPaced.withLock { $0 = true }
        // Of each epoch by itself, once the origin has logged all that it had sent.
        let again = log.bytesSentAgain(in: after, of: paths)
        figures.append(
          "kill \(kill): of \(log.bytes(in: epoch)) bytes \(again) came again; the last second had brought "
            + "\(log.bytes(in: epoch, since: moment - 1))")
        #expect(again <= log.bytes(in: epoch, since: moment - allowed), "\(figures.last ?? "")")
        #expect(
          log.bytesSentAgain(in: after, of: recent.paths) <= log.bytes(in: recent.epoch, since: moment - allowed),
          "of what the kill before had cost")
        all.formUnion(paths)
        recent = (after, log.paths(in: after))
      }
      print(figures.joined(separator: "\n"))
      // Everything is there now, and comes from the store, byte for byte.
      let requests = origin.requests.count
      for path in all {
        let response = try RawClient.fetch(origin.url(path), through: larder.port)
        #expect(isHit(response) && response.end == .clean)
        _ = try Versions([.init("\"v1\"", Self.body(path))]).judge(response)
      }
      #expect(origin.requests.count == requests)
    }
  }

  /// Objects that change, expire and are evicted, clients that leave: no kill may leave a wrong byte behind.
  @Test func killsUnderMixedLoadLeaveNoWrongByte() throws {
    let objects = (0..<14).map { number in
      Versions(
        (0..<3).map { version in
          let size = [4000, 60_000, 700_000, 2_500_000][number % 4] + 10 * version
          return .init("\"\(number)-\(version)\"", PatternBody(seed: UInt64(500 + 10 * number + version), size: size))
        })
    }
    let lifetimes = ["max-age=3600", "max-age=0", "max-age=3600", "no-store", "max-age=1"]
    try withRig { rig in
      let current = Monitor([Int](repeating: 0, count: objects.count))
      let origin = try rig.origin { exchange in
        let number = Int(exchange.request.target.dropFirst()) ?? 0
        let version = objects[number].all[current.withLock { $0[number] }]
        try Representation(
          version.body, entityTag: version.tag, fields: [("Cache-Control", lifetimes[number % lifetimes.count])]
        ).serve(exchange)
      }
      let folders = try rig.folders()
      // Room for about half of it.
      let settings = ["cache.size": "8M", "cache.memory": "1M", "log.level": "warning"]
      var random = SeededGenerator(23)
      for kill in 0..<Self.kills {
        let larder = try rig.larder(settings, on: folders)
        let done = Monitor(0)
        let clients = (0..<5).map { client in
          Background("client \(client) before kill \(kill)") {
            var random = SeededGenerator(UInt64(1000 + kill * 10 + client))
            while true {
              let number = Int.random(in: 0..<objects.count, using: &random)
              if Int.random(in: 0..<20, using: &random) == 0 { current.withLock { $0[number] = ($0[number] + 1) % 3 } }
              let size = objects[number].all[0].body.size
              let first = Int.random(in: 0..<size, using: &random)
              let range = first..<Int.random(in: first..<size, using: &random) + 1
              let asked = Bool.random(using: &random) ? range : nil
              if Int.random(in: 0..<6, using: &random) == 0 {
                // Leaves in the middle.
                guard let leaver = try? RawClient(port: larder.port) else { return }
                try? leaver.send(RawClient.request("GET", origin.url("/\(number)")))
                _ = try? leaver.read(Int.random(in: 1...size / 2, using: &random))
                leaver.reset()
              } else {
                guard let response = Self.fetch(origin.url("/\(number)"), asked, larder.port) else { return }
                _ = try objects[number].judge(response, asked: asked)
              }
              done.withLock { $0 += 1 }
              if larder.process.end != nil { return }
            }
          }
        }
        try done.wait(for: "requests before kill \(kill)") { [moment = Int.random(in: 1...150, using: &random)] in
          $0 >= moment ? () : nil
        }
        larder.kill9()
        for client in clients { try client.join() }
        try expectSound(folders, "kill \(kill)")
      }
      let last = try rig.larder(settings, on: folders)
      for (number, versions) in objects.enumerated() {
        for field in [("X-Plain", "1"), ("Cache-Control", "no-cache")] {
          let response = try RawClient.fetch(origin.url("/\(number)"), [field], through: last.port)
          let finding = try versions.judge(response)
          #expect(response.status == 200 && response.end == .clean)
          if field.0 == "Cache-Control" { #expect(finding.version == current.withLock { $0[number] }) }
        }
      }
      #expect(try last.stop() == .exited(0))
      try expectSound(folders, "the end")
    }
  }
}
