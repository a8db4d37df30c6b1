// A disk that is read-only, full or broken: what can be read is served, the rest is passed on, and the log says why.
import Foundation
import TestSupport
import Testing

@Suite struct FailingDiskTests {
  private static let bodies = (0..<12).map { PatternBody(seed: UInt64(600 + $0), size: $0 % 3 == 0 ? 900_000 : 5_000) }

  private func origin(_ rig: Rig) throws -> ScriptedOrigin {
    try rig.origin { exchange in
      let number = Int(exchange.request.target.dropFirst()) ?? 0
      try Representation(Self.bodies[number], entityTag: "\"\(number)\"").serve(exchange)
    }
  }

  /// Every body, right and ended cleanly.
  private func fetchAll(
    _ origin: ScriptedOrigin, _ larder: LarderProcess, _ numbers: Range<Int> = 0..<12
  ) throws -> [RawResponse] {
    try numbers.map { number in
      let response = try RawClient.fetch(origin.url("/\(number)"), through: larder.port)
      #expect(
        response.status == 200 && response.end == .clean, "\(number), and the log ends: \(larder.errorText.suffix(900))"
      )
      expectBytes(response.body, Self.bodies[number].bytes)
      return response
    }
  }

  /// The response itself would be too much to print.
  private func expectHit(
    _ response: RawResponse, _ expected: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let found = isHit(response)
    #expect(found == expected, "\(response.cacheStatus)", sourceLocation: sourceLocation)
  }

  /// On a disk that works again everything is stored by one that is started there.
  private func expectRecovered(_ origin: ScriptedOrigin, _ rig: Rig, _ folders: LarderProcess.Folders) throws {
    let larder = try rig.larder(["cache.size": "100M"], on: folders)
    _ = try fetchAll(origin, larder)
    for response in try fetchAll(origin, larder) { expectHit(response) }
    #expect(try larder.stop() == .exited(0))
  }

  private func lines(_ larder: LarderProcess, with text: String) -> Int {
    larder.errorText.split(separator: "\n").filter { $0.contains(text) }.count
  }

  @Test func aCacheOnAFileSystemThatBecameReadOnlyIsServed() throws {
    try withRig { rig in
      let origin = try origin(rig)
      try withDisk(rig, megabytes: 64) { disk in
        let folders = try rig.folders(cache: disk + "/cache")
        let first = try rig.larder(["cache.size": "100M"], on: folders)
        _ = try fetchAll(origin, first, 0..<6)
        #expect(try first.stop() == .exited(0))
        try mustRun("mount", ["-o", "remount,ro", disk])
        let second = try rig.larder(["cache.size": "100M"], on: folders)
        for _ in 0..<3 {
          let responses = try fetchAll(origin, second)
          for response in responses[0..<6] { expectHit(response) }
          for response in responses[6...] { expectHit(response, false) }
        }
        #expect(lines(second, with: "read-only: what is stored is served") == 1)
        #expect(try LarderProcess.run(["verify", "--cache-dir", folders.cache]).end == .exited(0))
        #expect(try second.stop() == .exited(0))
        try mustRun("mount", ["-o", "remount,rw", disk])
        try expectRecovered(origin, rig, folders)
      }
    }
  }

  @Test func aCacheOnADiskThatOthersHaveFilledIsServed() throws {
    try withRig { rig in
      let origin = try origin(rig)
      try withDisk(rig, megabytes: 32) { disk in
        let folders = try rig.folders(cache: disk + "/cache")
        let first = try rig.larder(["cache.size": "100M"], on: folders)
        _ = try fetchAll(origin, first, 0..<6)
        #expect(try first.stop() == .exited(0))
        // Until nothing more fits.
        _ = try runTool("dd", ["if=/dev/zero", "of=\(disk)/others", "bs=4096"])
        let second = try rig.larder(["cache.size": "100M", "cache.sync_interval": "100ms"], on: folders)
        for response in try fetchAll(origin, second, 0..<6) { expectHit(response) }
        // New ones may take the place of old ones, or be passed on.
        for _ in 0..<3 { _ = try fetchAll(origin, second) }
        #expect(lines(second, with: "committing the index failed") <= 1)
        #expect(try second.stop() == .exited(0))
        try mustRun("rm", [disk + "/others"])
        try expectRecovered(origin, rig, folders)
      }
    }
  }

  enum Failure: CaseIterable, Sendable {
    case reads, writes, syncs, opens, fullWrites, readOnlyOpens

    var call: DiskShim.Call {
      switch self {
      case .reads: .read
      case .writes, .fullWrites: .write
      case .syncs: .sync
      case .opens, .readOnlyOpens: .open
      }
    }

    var code: Int32 {
      switch self {
      case .reads, .writes, .syncs, .opens: EIO
      case .fullWrites: ENOSPC
      case .readOnlyOpens: EROFS
      }
    }
  }

  /// The whole disk, the index included, begins to fail while it runs; then it works again.
  @Test(arguments: Failure.allCases)
  func aDiskThatBeginsToFailCostsNoClientAByte(_ failure: Failure) throws {
    try withRig { rig in
      let origin = try origin(rig)
      let folders = try rig.folders()
      let shim = try DiskShim(in: rig.folder, filesWith: folders.cache)
      let settings = ["cache.sync_interval": "100ms", "cache.memory": "1M"]
      let first = try rig.larder(settings, on: folders)
      _ = try fetchAll(origin, first, 0..<6)
      #expect(try first.stop() == .exited(0))
      let larder = try rig.larder(settings, on: folders, environment: shim.environment)
      _ = try fetchAll(origin, larder, 0..<2)
      shim.fail(failure.call, with: failure.code)
      for _ in 0..<4 { _ = try fetchAll(origin, larder) }
      // Once for each kind of failure, not for each attempt.
      #expect(lines(larder, with: " error cache: ") <= 12, "\(failure)")
      shim.fail(failure.call, with: 0)
      _ = try fetchAll(origin, larder)
      #expect(try larder.stop() == .exited(0))
      let last = try rig.larder(on: folders)
      _ = try fetchAll(origin, last)
      #expect(try last.metric("larder_store_checksum_errors_total") == 0)
      #expect(try last.stop() == .exited(0))
    }
  }

  /// Rule 7: while a read waits for the disk, the worker goes on with what is in memory.
  @Test func hitsInMemoryGoOnWhileAColdReadWaits() throws {
    try withRig { rig in
      let origin = try origin(rig)
      let folders = try rig.folders()
      let shim = try DiskShim(in: rig.folder, filesWith: folders.cache + "/bodies")
      let settings = ["workers": "1"]
      let first = try rig.larder(settings, on: folders)
      _ = try fetchAll(origin, first)
      #expect(try first.stop() == .exited(0))
      let larder = try rig.larder(settings, on: folders, environment: shim.environment)
      // In memory: small ones, and the heads of all.
      _ = try fetchAll(origin, larder, 1..<3)
      shim.closeGate()
      let cold = Background("cold reader") {
        let response = try RawClient.fetch(origin.url("/0"), through: larder.port)
        try demand(response.end == .clean && response.body == Self.bodies[0].bytes, "the cold body is wrong")
      }
      try shim.waitForWaiting()
      // All on the one worker, which would stand still with the reader if it waited itself.
      for _ in 0..<20 { for response in try fetchAll(origin, larder, 1..<3) { expectHit(response) } }
      let sent = origin.bodyBytesSent
      shim.openGate()
      try cold.join()
      #expect(origin.bodyBytesSent == sent)
    }
  }
}
