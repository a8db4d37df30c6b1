// What the cache says it occupies is what it occupies, whatever has ended its fills, and on whatever file system.
import Foundation
import TestSupport
import Testing

@Suite struct AccountTests {
  private static let large = PatternBody(seed: 411, size: 50_000_000)

  /// What the bodies and the packs take on the disk.
  private func onDisk(_ folders: LarderProcess.Folders) -> Int {
    bytesOccupied(below: folders.cache + "/bodies") + bytesOccupied(below: folders.cache + "/packs")
  }

  /// Waits until what is on the disk is what is charged, but for some blocks that the file system needs itself.
  private func expectAccount(_ larder: LarderProcess, files: Int) throws {
    try eventually("the disk to have what the account has", until: { abs($0.disk - $0.account) <= files * (64 << 10) })
    {
      (disk: onDisk(larder.folders), account: Int(try larder.metric("larder_store_bytes") ?? 0))
    }
  }

  enum End: CaseIterable, Sendable { case kill, interrupt, terminate }

  /// Fills have blocks before they have bytes, and bytes before they are on record.
  @Test(arguments: End.allCases)
  func runningFillsLeaveNothingThatIsInNoAccount(_ end: End) throws {
    try withRig { rig in
      let gate = rig.gate("the rest of the bodies")
      let origin = try rig.origin { exchange in
        let tag = "\"\(exchange.request.target)\""
        try Representation(Self.large, entityTag: tag).serve(exchange, .init(.stall(after: 3_000_000, gate)))
      }
      let settings = ["clients.drain_timeout": "100ms"]
      let folders = try rig.folders()
      let first = try rig.larder(settings, on: folders)
      let clients = try (0..<8).map { number in
        let client = try RawClient(port: first.port)
        try client.send(RawClient.request("GET", origin.url("/\(number)")))
        _ = try client.read(2_000_000)
        return client
      }
      // All that has come is on record, and more than that on the disk.
      try eventually("the fills to be under way", until: { $0.account >= 8 * 3_000_000 && $0.disk > $0.account }) {
        (disk: onDisk(folders), account: Int(try first.metric("larder_store_bytes") ?? 0))
      }
      switch end {
      case .kill: first.kill9()
      case .interrupt: #expect(try first.stop(.interrupt) == .exited(0))
      case .terminate: #expect(try first.stop(.terminate) == .exited(0))
      }
      for client in clients { client.reset() }
      let second = try rig.larder(settings, on: folders)
      try expectAccount(second, files: 8)
      gate.open()
      for number in 0..<8 {
        let response = try RawClient.fetch(origin.url("/\(number)"), through: second.port)
        #expect(response.status == 200 && response.end == .clean)
        expectBytes(response.body, Self.large.bytes)
      }
      try expectAccount(second, files: 8)
      #expect(try second.stop() == .exited(0))
      let verdict = try LarderProcess.run(["verify", "--cache-dir", folders.cache])
      #expect(verdict.end == .exited(0) && verdict.outputText.contains(" 0 bad extents, 0 bad rows"), "\(verdict)")
    }
  }

  /// A file system that can neither give blocks ahead nor take those of a part back: the cache keeps to its size.
  @Test func withoutHolesAnObjectLargerThanTheCacheIsPassedOn() throws {
    try withRig { rig in
      let origin = try rig.origin { try Representation(Self.large).serve($0) }
      let folders = try rig.folders()
      let shim = try DiskShim(in: rig.folder, filesWith: folders.cache + "/bodies")
      shim.fail(.allocate, with: EOPNOTSUPP)
      let larder = try rig.larder(["cache.size": "16M"], on: folders, environment: shim.environment)
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(response.status == 200 && response.end == .clean)
        expectBytes(response.body, Self.large.bytes)
        #expect(onDisk(folders) <= 20 << 20)
      }
      try expectAccount(larder, files: 4)
      #expect(try larder.stop() == .exited(0))
    }
  }

  private static let small = (0..<600).map { PatternBody(seed: UInt64(420 + $0), size: 30_000) }

  private func smallOrigin(_ rig: Rig) throws -> ScriptedOrigin {
    try rig.origin { exchange in
      let number = Int(exchange.request.target.dropFirst()) ?? 0
      try Representation(Self.small[number], entityTag: "\"\(number)\"").serve(exchange)
    }
  }

  private func fetchSmall(_ numbers: Range<Int>, _ origin: ScriptedOrigin, _ client: RawClient) throws -> Int {
    try numbers.filter { number in
      let response = try client.fetch(origin.url("/\(number)"))
      #expect(response.status == 200)
      expectBytes(response.body, Self.small[number].bytes)
      return isHit(response)
    }.count
  }

  /// What finds no place on the disk must not fill memory, and must find it once there is one.
  @Test func aFileSystemThatTakesNoMoreFilesFillsNoMemory() throws {
    try withRig { rig in
      let origin = try smallOrigin(rig)
      try withDisk(rig, megabytes: 64, files: 600) { disk in
        let folders = try rig.folders(cache: disk + "/cache")
        let settings = ["cache.size": "8M", "cache.memory": "1M", "cache.sync_interval": "100ms"]
        let larder = try rig.larder(settings, on: folders)
        let client = try RawClient(port: larder.port)
        _ = try fetchSmall(0..<50, origin, client)
        // Until no file more can be made.
        _ = try runTool("sh", ["-c", "i=0; while : > \(disk)/other-$i; do i=$((i+1)); done"])
        for _ in 0..<2 { _ = try fetchSmall(0..<400, origin, client) }
        // What comes before it shows that there is no place counts towards the cache's size, wherever it is.
        #expect(try larder.metric("larder_store_memory_bytes") ?? 0 < 6e6)
        #expect(try larder.metric("larder_store_bytes") ?? 0 <= Double(8 << 20))
        #expect(larder.errorText.split(separator: "\n").filter { $0.contains(" error ") }.count < 20)
        try mustRun("sh", ["-c", "rm \(disk)/other-*"])
        try eventually("the store to take bodies again", until: { $0 == 20 }) {
          try fetchSmall(500..<520, origin, client)
        }
        try expectAccount(larder, files: 8)
        #expect(try larder.stop() == .exited(0))
        let last = try rig.larder(settings, on: folders)
        #expect(try fetchSmall(500..<520, origin, try RawClient(port: last.port)) == 20)
        #expect(try last.stop() == .exited(0))
      }
    }
  }
}
