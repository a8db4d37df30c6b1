// A disk that is full or a cache that is too small: the client notices nothing, and what is stored stays right.
import Foundation
import TestSupport
import Testing

@Suite struct DiskTests {
  @Test func aFullDiskPassesTheResponseOnAndSaysSo() throws {
    try withRig { rig in
      let large = PatternBody(seed: 141, size: 40_000_000)
      let small = PatternBody(seed: 142, size: 100_000)
      let origin = try rig.origin { exchange in
        try Representation(exchange.request.target == "/large" ? large : small).serve(exchange)
      }
      try withDisk(rig, megabytes: 24) { disk in
        let folders = try rig.folders(cache: disk + "/cache")
        let larder = try rig.larder(["cache.size": "1G"], on: folders)
        _ = try RawClient.fetch(origin.url("/small"), through: larder.port)
        for _ in 0..<2 {
          let response = try RawClient.fetch(origin.url("/large"), through: larder.port)
          #expect(response.status == 200 && response.end == .clean)
          expectBytes(response.body, large.bytes)
        }
        #expect(larder.errorText.lowercased().contains("no space"))
        expectBytes(try RawClient.fetch(origin.url("/small"), through: larder.port).body, small.bytes)
        let part = try RawClient.fetch(
          origin.url("/large"), [("Range", "bytes=1000000-30999999")], through: larder.port)
        #expect(part.status == 206 && part.end == .clean)
        expectBytes(part.body, large.bytes(1_000_000..<31_000_000))
        larder.kill9()
        try mustRun("mount", ["-o", "remount,size=\(3 * 24)m", disk])
        let again = try rig.larder(["cache.size": "1G"], on: folders)
        for path in ["/large", "/small"] {
          let response = try RawClient.fetch(origin.url(path), through: again.port)
          expectBytes(response.body, path == "/large" ? large.bytes : small.bytes)
        }
        try again.stop()
      }
    }
  }

  @Test func theCacheKeepsToItsSizeAndForgetsWhatWasUsedLongestAgo() throws {
    try withRig { rig in
      let body = { @Sendable (number: Int) in PatternBody(seed: UInt64(150 + number), size: 1_500_000) }
      let origin = try rig.origin { exchange in
        let number = Int(exchange.request.target.dropFirst()) ?? 0
        try Representation(body(number), entityTag: "\"\(number)\"").serve(exchange)
      }
      let larder = try rig.larder(["cache.size": "16M", "cache.memory": "1M"])
      let client = try RawClient(port: larder.port)
      for number in 0..<30 {
        expectBytes(try client.fetch(origin.url("/\(number)")).body, body(number).bytes)
        // The first stays in use all the time.
        expectBytes(try client.fetch(origin.url("/0")).body, body(0).bytes)
      }
      let usage = try mustRun("du", ["-sm", larder.folders.cache]).outputText.split(separator: "\t").first ?? ""
      #expect((Int(usage) ?? .max) <= 20, "\(usage) MiB on disk for a cache of 16")
      #expect(origin.requests.filter { $0.target == "/0" }.count == 1)
      #expect(isHit(try client.fetch(origin.url("/29"))))
      #expect(!isHit(try client.fetch(origin.url("/1"))))
    }
  }

  @Test func anObjectLargerThanTheCachePassesThrough() throws {
    try withRig { rig in
      let body = PatternBody(seed: 160, size: 60_000_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let larder = try rig.larder(["cache.size": "16M"])
      for _ in 0..<2 {
        let checker = BodyChecker(body)
        let response = try RawClient(port: larder.port).fetch(origin.url("/"), into: checker.take)
        #expect(response.status == 200 && response.end == .clean)
        #expect(checker.mismatch == nil && checker.position == body.size)
      }
      let usage = try mustRun("du", ["-sm", larder.folders.cache]).outputText.split(separator: "\t").first ?? ""
      #expect((Int(usage) ?? .max) <= 24, "\(usage) MiB on disk for a cache of 16")
    }
  }

  /// What has been evicted behind a fill is brought once more, and kept: it was waited for, and relayed each time.
  @Test func whatWasEvictedBehindARunningFillIsStoredAgain() throws {
    try withRig { rig in
      let body = PatternBody(seed: 163, size: 60 << 20)
      let sent = 56 << 20
      let gate = rig.gate("the rest")
      let origin = try rig.origin { exchange in
        try Representation(body).serve(exchange, exchange.index == 0 ? .init(.stall(after: sent, gate)) : .init())
      }
      let larder = try rig.larder(["cache.size": "44M", "workers": "1"])
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      #expect(try client.responseHead().status == 200)
      let checker = BodyChecker(body)
      for _ in 0..<sent >> 20 { try client.read(1 << 20).withUnsafeBytes { checker.take($0) } }
      // Nothing can be written there before its blocks have gone, which is done beside this.
      try eventually("a hit on what was evicted", until: { $0 }) {
        let part = try RawClient.fetch(origin.url("/"), [("Range", "bytes=100-199")], through: larder.port)
        #expect(part.status == 206 && part.end == .clean)
        expectBytes(part.body, body.bytes(100..<200))
        return isHit(part)
      }
      #expect(origin.requests.dropFirst().allSatisfy { $0.field("Range") == "bytes=100-199" })
      #expect(origin.requests.count > 1, "it was evicted")
      gate.open()
      for _ in sent >> 20..<body.size >> 20 { try client.read(1 << 20).withUnsafeBytes { checker.take($0) } }
      #expect(checker.mismatch == nil && checker.position == body.size)
    }
  }

  @Test func aDataFileDeletedOrCutBehindItsBackIsFetchedAgain() throws {
    try withRig { rig in
      let body = PatternBody(seed: 161, size: 3_000_000)
      let origin = try rig.origin { try Representation(body).serve($0) }
      let folders = try rig.folders()
      for damage in ["rm", "truncate"] {
        let larder = try rig.larder(on: folders)
        let url = origin.url("/\(damage)")
        _ = try RawClient.fetch(url, through: larder.port)
        try larder.stop()
        let file = try #require(filesBelow(folders.cache).max { $0.size < $1.size && !$1.path.hasSuffix(".mdb") }?.path)
        try mustRun(damage, damage == "rm" ? [file] : ["-s", "1000000", file])
        let again = try rig.larder(on: folders)
        for _ in 0..<2 {
          let response = try RawClient.fetch(url, through: again.port)
          if response.end == .clean { expectBytes(response.body, body.bytes) }
        }
        let last = try RawClient.fetch(url, through: again.port)
        #expect(last.end == .clean)
        expectBytes(last.body, body.bytes)
        try again.stop()
      }
    }
  }

  /// What was queued for a slow client has yet to leave, although the response is done with it. How much the system's own
  /// buffers take is not known: clients stand still at many places, so that for one of them the last bytes of a part of
  /// the object wait in the queue while others need its room.
  @Test func whatWaitsForASlowClientKeepsItsRoom() throws {
    try withRig { rig in
      // Two of the parts that are evicted by themselves.
      let part = 16 << 20
      let large = PatternBody(seed: 162, size: 2 * part)
      let other = { @Sendable (number: Int) in PatternBody(seed: UInt64(170 + number), size: 3_000_000) }
      let origin = try rig.origin { exchange in
        let number = Int(exchange.request.target.dropFirst())
        try Representation(number.map(other) ?? large, entityTag: "\"\(number ?? -1)\"").serve(exchange)
      }
      let larder = try rig.larder(["cache.size": "44M", "workers": "1"])
      let url = origin.url("/large")
      expectBytes(try RawClient.fetch(url, through: larder.port).body, large.bytes)
      // Keeps the object in use, and its second part where it is.
      let holder = try RawClient(port: larder.port, receiveBuffer: 64 << 10)
      try holder.send(RawClient.request("GET", url, [("Range", "bytes=\(part)-")]))
      #expect(try holder.responseHead().status == 206)
      for number in 0..<20 {
        let client = try RawClient(port: larder.port, receiveBuffer: 64 << 10)
        try client.send(RawClient.request("GET", url, [("Range", "bytes=0-\(part - 1)")]))
        #expect(try client.responseHead().status == 206)
        let stop = part - number * (256 << 10)
        var body = try client.read(stop)
        for fetch in 2 * number..<2 * number + 2 {
          expectBytes(try RawClient.fetch(origin.url("/\(fetch)"), through: larder.port).body, other(fetch).bytes)
        }
        body += try client.read(part - stop)
        expectBytes(body, large.bytes(0..<part))
      }
      #expect(try larder.metric("larder_store_evicted_bytes_total") ?? 0 > Double(part))
    }
  }
}
