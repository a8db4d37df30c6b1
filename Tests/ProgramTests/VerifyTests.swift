// `larder verify`: what it says, how it ends, and that a server may be running.
import TestSupport
import Testing

@Suite struct VerifyTests {
  private func verify(_ folders: LarderProcess.Folders, _ arguments: [String] = []) throws -> ToolResult {
    try LarderProcess.run(["verify", "--cache-dir", folders.cache] + arguments)
  }

  private static let body = PatternBody(seed: 501, size: 2_000_000)

  @Test func itRunsBesideAServerAndDisturbsNothing() throws {
    try withRig { rig in
      let origin = try rig.origin { try Representation(Self.body).serve($0) }
      let larder = try rig.larder(["cache.sync_interval": "100ms"])
      let stop = Monitor(false)
      let load = Background("load") {
        var number = 0
        while !stop.withLock({ $0 }) {
          let response = try RawClient.fetch(origin.url("/\(number % 50)"), through: larder.port)
          try demand(response.end == .clean && response.body == Self.body.bytes, "object \(number % 50) is wrong")
          number += 1
        }
      }
      for _ in 0..<8 {
        let result = try verify(larder.folders)
        #expect(result.end == .exited(0), "\(result)")
        #expect(result.outputText.contains(" 0 bad extents, 0 bad rows"))
      }
      // It changes nothing that another has open.
      let refused = try verify(larder.folders, ["--repair"])
      #expect(refused.end == .exited(1))
      #expect(refused.errorText.split(separator: "\n").count == 1 && refused.errorText.contains("in use"))
      stop.withLock { $0 = true }
      try load.join()
      #expect(try larder.stop() == .exited(0))
      let settled = try verify(larder.folders)
      #expect(settled.end == .exited(0) && settled.outputText.contains(" 0 orphans"), "\(settled)")
    }
  }

  @Test func aBadExtentIsNamedFoundWhileServingAndRepaired() throws {
    try withRig { rig in
      let origin = try rig.origin { try Representation(Self.body).serve($0) }
      let folders = try rig.folders()
      let first = try rig.larder(on: folders)
      _ = try RawClient.fetch(origin.url("/film"), through: first.port)
      #expect(try first.stop() == .exited(0))
      let file = try #require(filesBelow(folders.cache + "/bodies").first?.path)
      var bytes = try readFile(file)
      bytes[1_000_000] ^= 1
      try writeFile(file, bytes)

      let second = try rig.larder(on: folders)
      let running = try verify(folders)
      #expect(running.end == .exited(1))
      let line = try #require(running.outputText.split(separator: "\n").first { $0.hasPrefix("bad extent: ") })
      #expect(line.hasPrefix("bad extent: \(file) offset 786432 length 262144: expected "))
      #expect(line.contains("(bytes 786432-1048575 of ") && line.contains("/film)"))
      #expect(try second.stop() == .exited(0))

      let repaired = try verify(folders, ["--repair"])
      #expect(repaired.end == .exited(0) && repaired.outputText.contains("1 bad extents"), "\(repaired)")
      #expect(try verify(folders).end == .exited(0))
      let sent = origin.bodyBytesSent
      let third = try rig.larder(on: folders)
      expectBytes(try RawClient.fetch(origin.url("/film"), through: third.port).body, Self.body.bytes)
      #expect(origin.bodyBytesSent - sent == 262_144)
    }
  }

  @Test func whatIsWrongWithItsUseIsSaid() throws {
    try withRig { rig in
      let folders = try rig.folders()
      let none = try verify(folders)
      #expect(none.end == .exited(1) && none.errorText.contains(folders.cache), "\(none)")
      #expect(try verify(folders, ["--repair"]).end == .exited(1))
      let flag = try verify(folders, ["--mend"])
      #expect(flag.end == .exited(2) && flag.errorText.contains("--mend"))
      let help = try LarderProcess.run(["verify", "--help"])
      #expect(help.end == .exited(0) && help.outputText.contains("exit codes"))
      #expect(try LarderProcess.run(["--help"]).outputText.contains("larder verify"))
    }
  }
}
