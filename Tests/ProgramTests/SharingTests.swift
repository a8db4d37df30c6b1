// Several clients of one object at once: one fill, many readers, and clients that leave.
import TestSupport
import Testing

@Suite struct SharingTests {
  @Test func twelveReadersOfOneColdObjectCostTheOriginOneCopy() throws {
    try withRig { rig in
      let body = PatternBody(seed: 31, size: max(24_000_000, Int(Double(256 << 20) * scale)))
      let gate = rig.gate("all readers are there")
      let origin = try rig.origin { exchange in
        try Representation(body).serve(exchange, .init(.stall(after: 100_000, gate)))
      }
      // Nobody takes a far part away from the fill, nor does another connection because the origin is slow at the gate:
      // what is on its way when its exchange is cut there comes twice.
      let larder = try rig.larder(["fills.follow_patience": "60s", "fills.connections_per_object": "1"])
      let arrived = rig.gate("head")
      try concurrently(
        (0..<12).map { number in
          {
            let client = try RawClient(port: larder.port)
            let isRange = number % 4 == 3
            let part = body.size / 24
            let range = isRange ? number * part..<(number + 3) * part : 0..<body.size
            let fields = isRange ? [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")] : []
            try client.send(RawClient.request("GET", origin.url("/one"), fields))
            if number == 0 {
              _ = try arrived.pass()
            }
            let leaves = number % 3 == 1
            if number == 11 {
              try origin.waitForRequests(1)
              arrived.open()
              gate.open()
            }
            var response = try client.responseHead()
            try demandEqual(response.status, isRange ? 206 : 200, "status of reader \(number)")
            if leaves {
              _ = try client.read(50_000)
              return client.reset()
            }
            let checker = BodyChecker(body, from: range.lowerBound)
            try client.readBody(of: &response, into: checker.take)
            try demandEqual(response.end, .clean, "end of reader \(number)")
            try demand(checker.mismatch == nil, "reader \(number) is wrong at \(checker.mismatch ?? 0)")
            try demandEqual(checker.position, range.upperBound, "length of reader \(number)")
          }
        })
      let bridged = Int(try #require(try larder.metric("larder_fill_bridged_bytes_total")))
      try larder.stop()
      #expect(origin.bodyBytesSent == body.size + bridged)
    }
  }

  @Test func aRangeFollowsTheFillThatIsUnderWay() throws {
    try withRig { rig in
      let body = PatternBody(seed: 32, size: 4_000_000)
      let gate = rig.gate("rest")
      let origin = try rig.origin { try Representation(body).serve($0, .init(.stall(after: 1_500_000, gate))) }
      let larder = try rig.larder()
      let first = try RawClient(port: larder.port)
      try first.send(RawClient.request("GET", origin.url("/")))
      var whole = try first.responseHead()
      try gate.waitForArrival()
      let second = try RawClient(port: larder.port)
      let part = try second.fetch(origin.url("/"), [("Range", "bytes=1000000-1399999")])
      #expect(part.status == 206)
      expectBytes(part.body, body.bytes(1_000_000..<1_400_000))
      gate.open()
      try first.readBody(of: &whole)
      expectBytes(whole.body, body.bytes)
      #expect(origin.requests.count == 1)
    }
  }

  @Test func aClientThatLeavesLosesNothing() throws {
    try withRig { rig in
      let body = PatternBody(seed: 33, size: 3_000_000)
      let gate = rig.gate("rest")
      let origin = try rig.origin { try Representation(body).serve($0, .init(.stall(after: 1_000_000, gate))) }
      let larder = try rig.larder()
      let first = try RawClient(port: larder.port)
      try first.send(RawClient.request("GET", origin.url("/")))
      _ = try first.responseHead()
      _ = try first.read(500_000)
      first.reset()
      gate.open()
      // Little is missing, so the fill goes on by itself, and the next client joins it or finds all of it.
      let second = try RawClient.fetch(origin.url("/"), through: larder.port)
      expectBytes(second.body, body.bytes)
      #expect(origin.bodyBytesSent == body.size)
    }
  }

  @Test func aSeekIsServedAtOnceAlthoughTheOldPositionStandsStill() throws {
    try withRig { rig in
      let body = PatternBody(seed: 34, size: 60_000_000)
      let gate = rig.gate("old position")
      let origin = try rig.origin { exchange in
        let stalls = exchange.index == 0
        try Representation(body).serve(exchange, stalls ? .init(.stall(after: 2_000_000, gate)) : .init())
      }
      let larder = try rig.larder()
      let player = try RawClient(port: larder.port)
      try player.send(RawClient.request("GET", origin.url("/"), [("Range", "bytes=0-")]))
      _ = try player.responseHead()
      _ = try player.read(1_000_000)
      player.close()
      let seek = try RawClient(port: larder.port)
      try seek.send(RawClient.request("GET", origin.url("/"), [("Range", "bytes=40000000-")]))
      let head = try seek.responseHead()
      #expect(head.status == 206 && head.field("Content-Range") == "bytes 40000000-59999999/60000000")
      expectBytes(try seek.read(1_000_000), body.bytes(40_000_000..<41_000_000))
    }
  }

  @Test func residentMemoryDoesNotGrowWithTheObject() throws {
    try withRig { rig in
      let size = Int(Double(1 << 30) * max(scale, 0.25))
      let body = PatternBody(seed: 35, size: size)
      let nginx = try rig.nginx()
      try nginx.publish("/large.bin", body)
      try nginx.publish("/small.bin", PatternBody(seed: 36, size: 2_000_000))
      let larder = try rig.larder()
      _ = try RawClient.fetch(nginx.url("/small.bin"), through: larder.port)
      let before = try larder.residentBytes()
      // Slow by its small window: upstream is always far ahead.
      let client = try RawClient(port: larder.port, receiveBuffer: 16 << 10)
      let checker = BodyChecker(body)
      let response = try client.fetch(nginx.url("/large.bin"), into: checker.take)
      #expect(response.status == 200 && response.end == .clean)
      #expect(checker.mismatch == nil && checker.position == size)
      let growth = try larder.peakResidentBytes() - before
      #expect(growth <= 64 << 20, "resident memory grew by \(growth >> 20) MiB")
      try expectSent(size + 2_000_000, by: nginx, rig)
    }
  }
}
