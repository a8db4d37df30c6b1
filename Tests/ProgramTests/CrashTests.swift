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

  /// One second of work is what a kill may cost; what lies further back is there.
  @Test func killLosesAtMostTheLastSecond() throws {
    try withRig { rig in
      let body = PatternBody(seed: 124, size: 3_000_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let folders = try rig.folders()
      let first = try rig.larder(on: folders)
      _ = try RawClient.fetch(origin.url("/old"), through: first.port)
      try secondsPass(1.5)
      first.kill9()
      let second = try rig.larder(on: folders)
      let response = try RawClient.fetch(origin.url("/old"), through: second.port)
      expectBytes(response.body, body.bytes)
      #expect(isHit(response))
      #expect(origin.bodyBytesSent == body.size)
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

  /// The passing of time itself is the subject here, so it is waited for.
  private func secondsPass(_ seconds: Double) throws { Thread.sleep(forTimeInterval: seconds) }
}
