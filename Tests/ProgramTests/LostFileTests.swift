// Data files that somebody else cuts or removes, and what a kill may cost: right bytes, each fetched once more at most.
import TestSupport
import Testing

@Suite struct LostFileTests {
  private static let body = PatternBody(seed: 321, size: 3_000_000)

  /// The file of the largest stored body.
  private func dataFile(_ folders: LarderProcess.Folders) throws -> String {
    try #require(filesBelow(folders.cache + "/bodies").max { $0.size < $1.size }?.path)
  }

  /// Rule 3: never a wrong byte. Mending the end of a file that was cut makes it long again, with a hole before it.
  @Test(arguments: ["bytes=2990000-2999999", "bytes=1500000-1500099", "bytes=999990-1000009"])
  func aFileCutWhileItRunsIsMendedEverywhere(_ range: String) throws {
    try withRig { rig in
      let origin = try rig.origin { try Representation(Self.body).serve($0) }
      let larder = try rig.larder(["cache.memory": "1M"])
      _ = try RawClient.fetch(origin.url("/"), through: larder.port)
      try mustRun("truncate", ["-s", "1000000", try dataFile(larder.folders)])
      let bounds = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
      let part = try RawClient.fetch(origin.url("/"), [("Range", range)], through: larder.port)
      if part.end == .clean {
        #expect(part.status == 206)
        expectBytes(part.body, Self.body.bytes(bounds[0]..<bounds[1] + 1))
      }
      for _ in 0..<2 {
        let whole = try RawClient.fetch(origin.url("/"), through: larder.port)
        #expect(whole.status == 200 && whole.end == .clean)
        expectBytes(whole.body, Self.body.bytes)
      }
    }
  }

  /// A missing file is a gap: its bytes are fetched and stored once, and were no hit.
  @Test func aFileRemovedWhileItIsDownIsFetchedOnceMore() throws {
    try withRig { rig in
      let origin = try rig.origin { try Representation(Self.body).serve($0) }
      let folders = try rig.folders()
      let first = try rig.larder(on: folders)
      _ = try RawClient.fetch(origin.url("/"), through: first.port)
      #expect(try first.stop() == .exited(0))
      try mustRun("rm", [try dataFile(folders)])
      let second = try rig.larder(on: folders)
      for _ in 0..<2 {
        let response = try RawClient.fetch(origin.url("/"), through: second.port)
        #expect(response.status == 200 && response.end == .clean)
        expectBytes(response.body, Self.body.bytes)
      }
      #expect(isHit(try RawClient.fetch(origin.url("/"), [("Range", "bytes=7-9")], through: second.port)))
      #expect(origin.bodyBytesSent == 2 * Self.body.size)
    }
  }

  /// Rule 4: a kill costs the last second at most. So each change comes into the journal by itself and soon, however
  /// far away the next commit of the index is.
  @Test func whatIsFinishedComesIntoTheJournalBeforeTheIndexIsCommitted() throws {
    try withRig { rig in
      let small = PatternBody(seed: 322, size: 50_000)
      let origin = try rig.origin { try Representation(small).serve($0) }
      let folders = try rig.folders()
      let names = (0..<4).map { "/object-number-\($0)" }
      let first = try rig.larder(["cache.sync_interval": "600s"], on: folders)
      let journal = folders.cache + "/journal-"
      for name in names {
        _ = try RawClient.fetch(origin.url(name), through: first.port)
        // It has a number behind its name, and is there from the first change on.
        try waitForFile(journal, for: name) { _ in
          let files = filesBelow(folders.cache).filter { $0.path.hasPrefix(journal) }
          return try files.contains { try readText($0.path).contains(name) } ? () : nil
        }
      }
      first.kill9()
      let second = try rig.larder(on: folders)
      for name in names {
        let response = try RawClient.fetch(origin.url(name), through: second.port)
        #expect(response.end == .clean)
        expectBytes(response.body, small.bytes)
        // The last one's bytes may have been written after its key.
        if name != names.last { #expect(isHit(response), "\(name)") }
      }
    }
  }
}
