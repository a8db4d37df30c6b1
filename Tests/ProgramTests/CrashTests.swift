// Stops and kills: what was fetched before is there afterwards, in part too, and never wrong.
import Foundation
import TestSupport
import Testing

@Suite struct CrashTests {
  @Test func aRestartKeepsPartialObjectsAndFetchesTheRestOnly() throws {
    try withRig { rig in
      let body = PatternBody(seed: 121, size: 3_000_000)
      let small = PatternBody(seed: 122, size: 3_000)
      let nginx = try rig.nginx()
      try nginx.publish("/large", body)
      try nginx.publish("/small", small)
      let folders = try rig.folders()
      let first = try rig.larder(on: folders)
      for range in ["0-499999", "1000000-1999999", "-10000"] {
        _ = try RawClient.fetch(nginx.url("/large"), [("Range", "bytes=\(range)")], through: first.port)
      }
      _ = try RawClient.fetch(nginx.url("/small"), through: first.port)
      #expect(try first.stop() == .exited(0))
      let second = try rig.larder(on: folders)
      expectBytes(try RawClient.fetch(nginx.url("/large"), through: second.port).body, body.bytes)
      expectBytes(try RawClient.fetch(nginx.url("/small"), through: second.port).body, small.bytes)
      #expect(try second.stop() == .exited(0))
      let third = try rig.larder(on: folders)
      expectBytes(try RawClient.fetch(nginx.url("/large"), through: third.port).body, body.bytes)
      try expectSent(body.size + small.size, by: nginx, rig)
    }
  }

  @Test func aDownloadCutByAStopIsContinuedAfterTheStart() throws {
    try withRig { rig in
      let body = PatternBody(seed: 123, size: 4_000_000)
      let gate = rig.gate("never")
      let origin = try rig.origin { exchange in
        try Representation(body).serve(
          exchange, exchange.index == 0 ? .init(.stallThenFinish(after: 2_500_000, gate)) : .init())
      }
      let folders = try rig.folders()
      let first = try rig.larder(["clients.drain_timeout": "100ms"], on: folders)
      let client = try RawClient(port: first.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      _ = try client.responseHead()
      expectBytes(try client.read(2_500_000), body.bytes(0..<2_500_000))
      try first.stop()
      let second = try rig.larder(on: folders)
      let response = try RawClient.fetch(origin.url("/"), through: second.port)
      #expect(response.status == 200 && response.end == .clean)
      expectBytes(response.body, body.bytes)
      #expect(origin.bodyBytesSent == body.size)
      #expect(origin.requests.last?.field("If-Match") == "\"v1\"")
    }
  }

  /// Rule 4 by events: what stands in the journal before a later change does is there after a kill. (That this takes
  /// less than a second is no matter for a test; `make soak` counts what fifty kills cost.)
  @Test func aKillKeepsALargeBodyThatIsInTheJournal() throws {
    try withRig { rig in
      let body = PatternBody(seed: 124, size: 3_000_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let folders = try rig.folders()
      let first = try rig.larder(["cache.sync_interval": "600s"], on: folders)
      for path in ["/fetched-first", "/fetched-next"] {
        _ = try RawClient.fetch(origin.url(path), through: first.port)
        try waitForFile(folders.cache + "/journal-", for: path) { _ in
          let files = filesBelow(folders.cache).filter { $0.path.hasPrefix(folders.cache + "/journal-") }
          return try files.contains { try readText($0.path).contains(path) } ? () : nil
        }
      }
      first.kill9()
      let second = try rig.larder(on: folders)
      let response = try RawClient.fetch(origin.url("/fetched-first"), through: second.port)
      expectBytes(response.body, body.bytes)
      #expect(isHit(response))
      #expect(origin.requests.filter { $0.target == "/fetched-first" }.count == 1)
    }
  }

  @Test func killsAtRandomMomentsUnderLoadNeverGiveAWrongByteOrAFailedStart() throws {
    try withRig { rig in
      let bodies = (0..<12).map { PatternBody(seed: UInt64(130 + $0), size: $0 % 3 == 0 ? 20_000 : 2_000_000 + $0) }
      let origin = try rig.origin { exchange in
        let number = Int(exchange.request.target.dropFirst()) ?? 0
        try Representation(bodies[number], entityTag: "\"\(number)\"").serve(exchange)
      }
      let folders = try rig.folders()
      var random = SeededGenerator(7)
      for round in 0..<killCount {
        let larder = try rig.larder(on: folders)
        let moment = Int.random(in: 1...60, using: &random)
        let done = Monitor(0)
        let clients = (0..<4).map { number in
          Background("client \(number) of round \(round)") {
            var random = SeededGenerator(UInt64(round * 10 + number))
            // Goes on until the kill breaks a connection.
            while true {
              let which = Int.random(in: 0..<bodies.count, using: &random)
              let body = bodies[which]
              let first = Int.random(in: 0..<body.size, using: &random)
              let last = Int.random(in: first..<body.size, using: &random)
              let isWhole = Bool.random(using: &random)
              guard
                let response = try? RawClient.fetch(
                  origin.url("/\(which)"), isWhole ? [] : [("Range", "bytes=\(first)-\(last)")], through: larder.port)
              else { return }
              let wrong = body.firstMismatch(response.body, at: isWhole ? 0 : first)
              try demand(wrong == nil, "object \(which) is wrong at \(wrong ?? 0) in round \(round)")
              if response.end != .clean { return }
              done.withLock { $0 += 1 }
            }
          }
        }
        try done.wait(for: "\(moment) requests in round \(round)") { $0 >= moment ? () : nil }
        larder.kill9()
        for client in clients { try client.join() }
      }
      let last = try rig.larder(on: folders)
      for (number, body) in bodies.enumerated() {
        for _ in 0..<2 {
          let response = try RawClient.fetch(origin.url("/\(number)"), through: last.port)
          #expect(response.status == 200 && response.end == .clean)
          expectBytes(response.body, body.bytes)
        }
      }
    }
  }
}
