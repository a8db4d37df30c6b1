// Bodies cut anywhere: at every byte of a small one, at random places of a large one, again and again, and stalled.
import TestSupport
import Testing

@Suite struct FaultMatrixCutTests {
  /// A small body whose first answer of interest is cut after so many bytes.
  private struct SmallRow: Sendable {
    let path: String
    let cut: Int
    /// Whether a middle part is stored before.
    let isPartial: Bool
    let resets: Bool
  }

  private static let small = PatternBody(seed: 411, size: 48)

  @Test(arguments: [1, 2], ["0", "4K"]) func aSmallBodyCutAtAnyByteArrivesAndHeals(workers: Int, coalesce: String)
    throws
  {
    var rows: [SmallRow] = []
    for cut in 0..<Self.small.size {
      for isPartial in [false, true] {
        for resets in [false, true] {
          rows.append(SmallRow(path: "/\(rows.count)", cut: cut, isPartial: isPartial, resets: resets))
        }
      }
    }
    try withRig { rig in
      let table = Dictionary(uniqueKeysWithValues: rows.map { ($0.path, $0) })
      let seen = Monitor<[String: Int]>([:])
      let origin = try rig.origin { exchange in
        guard let row = table[exchange.request.target] else { return try exchange.respond("404 Not Found") }
        let number = seen.withLock { seen in
          seen[row.path, default: 0] += 1
          return seen[row.path] ?? 0
        }
        let cuts = number == (row.isPartial ? 2 : 1)
        try Representation(Self.small).serve(
          exchange, cuts ? .init(row.resets ? .reset(after: row.cut) : .finish(after: row.cut)) : .init())
      }
      let larder = try rig.larder([
        "workers": "\(workers)", "fills.coalesce_gaps": coalesce, "fills.backoff": "1ms", "log.level": "warning",
      ])
      let versions = Versions([.init("\"v1\"", Self.small)])
      let name: @Sendable (SmallRow) -> String = {
        "cut after \($0.cut) by \($0.resets ? "RST" : "FIN"), \($0.isPartial ? "partial" : "nothing") stored (\($0.path))"
      }
      let failures = try runTable(rows, name: name) { row in
        if row.isPartial {
          _ = try versions.judge(
            try RawClient.fetch(origin.url(row.path), [("Range", "bytes=16-31")], through: larder.port), asked: 16..<32)
        }
        for _ in 0..<2 {
          let response = try RawClient.fetch(origin.url(row.path), through: larder.port)
          _ = try versions.judge(response)
          try demand(response.status == 200 && response.end == .clean, "the end is \(response.end)")
        }
      }
      for failure in failures { Issue.record("\(failure)") }
      // A reset destroys what the proxy had not read yet; else each byte comes once, but for bridges.
      let resetBytes = rows.filter(\.resets).reduce(0) { $0 + $1.cut }
      let bridged = Int(try #require(try larder.metric("larder_fill_bridged_bytes_total")))
      #expect(coalesce != "0" || bridged == 0)
      let least = rows.count * Self.small.size + bridged
      #expect(least...least + resetBytes ~= origin.bodyBytesSent)
    }
  }

  /// A large body: every answer is cut at a random place, and a part of it may be stored before.
  @Test(arguments: [1, 2], [false, true]) func aLargeBodyCutAtRandomPlacesArrives(workers: Int, resets: Bool) throws {
    let body = PatternBody(seed: 412, size: 3_000_000)
    let versions = Versions([.init("\"v1\"", body)])
    try withRig { rig in
      let random = Monitor(SeededGenerator(UInt64(412 + workers)))
      let lost = Monitor(0)
      let origin = try rig.origin { exchange in
        let cut = random.withLock { Int.random(in: 1...900_000, using: &$0) }
        lost.withLock { $0 += resets ? cut : 0 }
        try Representation(body).serve(exchange, .init(resets ? .reset(after: cut) : .finish(after: cut)))
      }
      let larder = try rig.larder(["workers": "\(workers)", "fills.backoff": "1ms", "log.level": "warning"])
      let paths = (0..<8).map { "/\($0)" }
      let failures = try runTable(paths, lanes: 4, name: { $0 }) { path in
        for number in 0..<8 {
          let isWhole = number >= 6 || path == "/0"
          let asked = random.withLock { random in
            let first = Int.random(in: 0..<body.size, using: &random)
            return first..<Int.random(in: first..<body.size, using: &random) + 1
          }
          let fields = isWhole ? [] : [("Range", "bytes=\(asked.lowerBound)-\(asked.upperBound - 1)")]
          let response = try RawClient.fetch(origin.url(path), fields, through: larder.port)
          // Without anything stored, a cut before the first byte leaves nothing to continue.
          if response.status == 502 { continue }
          let finding = try versions.judge(response, asked: isWhole ? nil : asked)
          try demand(response.end == .clean, "\(asked) ends with \(response.end)")
          try demand(finding.promised == (isWhole ? 0..<body.size : asked), "\(finding.promised) instead of \(asked)")
        }
      }
      for failure in failures { Issue.record("\(failure)") }
      let bridged = Int(try #require(try larder.metric("larder_fill_bridged_bytes_total")))
      let least = paths.count * body.size + bridged
      #expect(least...least + lost.withLock { $0 } ~= origin.bodyBytesSent)
    }
  }
}
