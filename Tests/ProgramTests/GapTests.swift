// Several gaps in one stored object, and who brings which.
import TestSupport
import Testing

@Suite struct GapTests {
  private static let body = PatternBody(seed: 611, size: 1_500_000)

  private func ask(_ origin: ScriptedOrigin, _ larder: LarderProcess, _ span: Range<Int>) throws -> RawClient {
    let client = try RawClient(port: larder.port)
    let range = "bytes=\(span.lowerBound)-\(span.upperBound - 1)"
    try client.send(RawClient.request("GET", origin.url("/"), [("Range", range)]))
    return client
  }

  private func expect(_ client: RawClient, _ span: Range<Int>) throws {
    let response = try client.response()
    #expect(response.status == 206 && response.end == .clean, "\(response.head) \(response.end)")
    let mismatch = Self.body.firstMismatch(response.body, at: span.lowerBound)
    #expect(mismatch == nil && response.body.count == span.count, "wrong at \(mismatch ?? 0) of \(span)")
  }

  /// An answer that ends before its first byte leaves a claim with a stored span in its midst: the second gap was written
  /// where the first had ended.
  @Test func whatIsStoredBetweenTwoGapsOfOneClaimStaysWhereItIs() throws {
    try withRig { rig in
      let first = rig.gate("the first gap")
      let second = rig.gate("the answer without a byte")
      let resource = Representation(Self.body, fields: [("Cache-Control", "max-age=0")])
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        switch exchange.index {
        case 2: try first.pass()
        case 3:
          try second.pass()
          behaviour = .init(.finish(after: 0))
          behaviour.ignoresConditions = true
        default: break
        }
        try resource.serve(exchange, behaviour)
      }
      let larder = try rig.larder(["workers": "1"])
      for span in [0..<200_000, 600_000..<700_000] { try expect(try ask(origin, larder, span), span) }
      let leader = try ask(origin, larder, 200_000..<300_000)
      try first.waitForArrival()
      let other = try ask(origin, larder, 250_000..<1_500_000)
      try second.waitForArrival()
      first.open()
      try expect(leader, 200_000..<300_000)
      second.open()
      try expect(other, 250_000..<1_500_000)
      try expect(try ask(origin, larder, 0..<1_500_000), 0..<1_500_000)
      let gaps = origin.requests.dropFirst(4).compactMap { $0.head.first("Range") }
      #expect(gaps.prefix(2) == ["bytes=300000-599999", "bytes=700000-1499999"], "two gaps of one claim")
    }
  }

  /// Whoever asks is not the only one who wants to know.
  @Test(arguments: [3600, 0]) func whoFollowsAClientThatLeavesAsksForItself(_ age: Int) throws {
    try withRig { rig in
      let gate = rig.gate("the gap")
      let resource = Representation(Self.body, fields: [("Cache-Control", "max-age=\(age)")])
      let origin = try rig.origin { exchange in
        if exchange.index == 1 { try gate.pass() }
        try resource.serve(exchange)
      }
      let larder = try rig.larder(["workers": "1"])
      try expect(try ask(origin, larder, 0..<200_000), 0..<200_000)
      let leaver = try ask(origin, larder, 250_000..<350_000)
      try gate.waitForArrival()
      let follower = try ask(origin, larder, 250_000..<350_000)
      let within = try ask(origin, larder, 300_000..<340_000)
      try letWorkerRead(larder)
      leaver.reset()
      try expect(follower, 250_000..<350_000)
      try expect(within, 300_000..<340_000)
      gate.open()
    }
  }

  /// A fill waits for its origin while another client takes over what lies ahead of it; then more comes at once than what
  /// is left to it. What it wrote beyond that was there twice, counted twice, and holes were taken for filled.
  @Test(arguments: [false, true]) func aFillWhoseEndWasTakenOverMeanwhileStopsThere(_ leaves: Bool) throws {
    try withRig { rig in
      let burst = rig.gate("more than is left to it")
      let rest = rig.gate("rest")
      let resource = Representation(Self.body)
      let origin = try rig.origin { exchange in
        guard exchange.index == 0 else { return try resource.serve(exchange) }
        try resource.serve(
          exchange,
          .init(
            .by { exchange, _ in
              try exchange.body(Self.body.bytes(0..<120_000))
              try burst.pass()
              try exchange.body(Self.body.bytes(120_000..<180_000))
              try rest.pass()
            }))
      }
      let settings = ["workers": "1", "fills.follow_patience": "100ms", "fills.connections_per_object": "1"]
      let larder = try rig.larder(settings)
      let first = try RawClient(port: larder.port)
      try first.send(RawClient.request("GET", origin.url("/")))
      #expect(try first.responseHead().status == 200)
      let begun = try first.read(120_000)
      if leaves { first.reset() }
      try expect(try ask(origin, larder, 150_000..<1_470_000), 150_000..<1_470_000)
      burst.open()
      if !leaves {
        #expect(Self.body.firstMismatch(begun + (try first.read(Self.body.size - begun.count)), at: 0) == nil)
      }
      try expect(try ask(origin, larder, 0..<1_500_000), 0..<1_500_000)
      rest.open()
      try larder.stop()
      let verdict = try LarderProcess.run(["verify", "--cache-dir", larder.folders.cache])
      #expect(verdict.outputText.contains(" 1500000 bytes: 0 bad extents"), "\(verdict)")
    }
  }
}
