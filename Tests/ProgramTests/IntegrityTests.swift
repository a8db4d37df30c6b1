// Bits that flip on the disk while nobody looks: all are found, none is served, and only what is bad is fetched again.
import Foundation
import TestSupport
import Testing

@Suite struct IntegrityTests {
  /// Flips one bit of a file.
  private func flip(_ path: String, at offset: Int, bit: Int) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(offset))
    let byte = try #require(try file.read(upToCount: 1)?.first)
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data([byte ^ (1 << bit)]))
  }

  /// Where the bytes of a body begin on the disk.
  private func place(of body: PatternBody, in files: [(path: String, data: Data)]) throws -> (path: String, offset: Int)
  {
    let beginning = Data(body.bytes(0..<64))
    for (path, data) in files {
      if let found = data.range(of: beginning) { return (path, found.lowerBound) }
    }
    throw HarnessError("a body is not on the disk")
  }

  private func data(_ folders: LarderProcess.Folders) throws -> [(path: String, data: Data)] {
    try ["/bodies", "/packs"].flatMap { filesBelow(folders.cache + $0) }.map { ($0.path, Data(try readFile($0.path))) }
  }

  /// What `larder verify` says of a bad extent.
  private struct BadExtent {
    let path: String
    let offset: Int
    let length: Int

    init?(_ line: Substring) {
      guard line.hasPrefix("bad extent: ") else { return nil }
      let words = line.dropFirst("bad extent: ".count).split(separator: " ")
      guard words.count > 4, words[1] == "offset", words[3] == "length", let offset = Int(words[2]),
        let length = Int(words[4].dropLast())
      else { return nil }
      path = String(words[0])
      self.offset = offset
      self.length = length
    }
  }

  @Test func oneFlippedBitInEachOfAHundredObjectsIsFoundAndOnlyTheBadExtentsAreFetchedAgain() throws {
    try withRig { rig in
      var random = SeededGenerator(31)
      // Small ones, which stand in packs, and large ones, which have files.
      let bodies = (0..<100).map { number in
        let sizes = number % 4 == 0 ? 150_000...1_300_000 : 300...60_000
        return PatternBody(seed: UInt64(1000 + number), size: Int.random(in: sizes, using: &random))
      }
      let origin = try rig.origin { exchange in
        let number = Int(exchange.request.target.dropFirst()) ?? 0
        try Representation(bodies[number], entityTag: "\"\(number)\"").serve(exchange)
      }
      let folders = try rig.folders()
      let first = try rig.larder(on: folders)
      let filler = try RawClient(port: first.port)
      for (number, body) in bodies.enumerated() {
        expectBytes(try filler.fetch(origin.url("/\(number)")).body, body.bytes)
      }
      #expect(try first.stop() == .exited(0))
      let sound = try LarderProcess.run(["verify", "--cache-dir", folders.cache])
      #expect(sound.end == .exited(0), "\(sound)")

      let files = try data(folders)
      var flips: [(path: String, offset: Int)] = []
      for body in bodies {
        let (path, start) = try place(of: body, in: files)
        let offset = start + Int.random(in: 0..<body.size, using: &random)
        try flip(path, at: offset, bit: Int.random(in: 0...7, using: &random))
        flips.append((path, offset))
      }
      let found = try LarderProcess.run(["verify", "--cache-dir", folders.cache])
      #expect(found.end == .exited(1))
      let bad = found.outputText.split(separator: "\n").compactMap(BadExtent.init)
      #expect(bad.count == 100, "\(found)")
      for flip in flips {
        let holding = bad.filter {
          $0.path == flip.path && $0.offset <= flip.offset && flip.offset < $0.offset + $0.length
        }
        #expect(holding.count == 1, "\(flip)")
      }

      let before = origin.bodyBytesSent
      let second = try rig.larder(on: folders)
      let client = try RawClient(port: second.port)
      for (number, body) in bodies.enumerated() {
        let response = try client.fetch(origin.url("/\(number)"))
        #expect(response.status == 200 && response.end == .clean)
        expectBytes(response.body, body.bytes)
      }
      #expect(origin.bodyBytesSent - before == bad.reduce(0) { $0 + $1.length })
      // An item that stands in a pack which is reclaimed meanwhile is not copied, and missing when it is read.
      let wrong = try second.metric("larder_store_checksum_errors_total") ?? 0
      let missing = try second.metric("larder_store_missing_data_total") ?? 0
      #expect(wrong + missing == 100)
      for extent in bad {
        #expect(second.errorText.contains("\(extent.path): \(extent.length) bytes at offset \(extent.offset)"))
      }
      #expect(try second.stop() == .exited(0))
      let healed = try LarderProcess.run(["verify", "--cache-dir", folders.cache])
      #expect(healed.end == .exited(0), "\(healed)")
    }
  }

  /// The index, too: a bit of it that flips makes a row absent, or the start refused; never a wrong byte or head.
  @Test func aFlippedBitInTheIndexIsNeverServed() throws {
    try withRig { rig in
      let bodies = (0..<40).map { PatternBody(seed: UInt64(2000 + $0), size: $0 % 8 == 0 ? 300_000 : 2_000 + $0) }
      let origin = try rig.origin { exchange in
        let number = Int(exchange.request.target.dropFirst()) ?? 0
        try Representation(
          bodies[number], entityTag: "\"\(number)\"",
          fields: [("Cache-Control", "max-age=3600"), ("X-Number", "\(number)")]
        ).serve(exchange)
      }
      let folders = try rig.folders()
      let index = folders.cache + "/index/data.mdb"
      func serveAll(_ note: String) throws {
        let larder = try rig.larder(on: folders)
        let client = try RawClient(port: larder.port)
        for (number, body) in bodies.enumerated() {
          let response = try client.fetch(origin.url("/\(number)"))
          #expect(response.status == 200 && response.end == .clean, "\(note)")
          #expect(response.field("X-Number") == "\(number)" && response.field("ETag") == "\"\(number)\"", "\(note)")
          expectBytes(response.body, body.bytes)
        }
        #expect(try larder.stop() == .exited(0), "\(note)")
      }
      try serveAll("filling")
      let good = try readFile(index)
      var random = SeededGenerator(5)
      var refused = 0
      for _ in 0..<24 {
        var bytes = good
        let place = Int.random(in: 0..<bytes.count, using: &random)
        bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
        try writeFile(index, bytes)
        let note = "byte \(place) of the index"
        let verdict = try LarderProcess.run(["verify", "--cache-dir", folders.cache])
        if verdict.outputText.contains("bad index: ") || verdict.errorText.contains("format") {
          refused += 1
          try writeFile(folders.settings, LarderProcess.yaml(in: folders, [:]))
          let start = try LarderProcess.run(["serve", "--config", folders.settings], home: rig.folder.path)
          #expect(start.end == .exited(1), "\(note): \(start)")
          #expect(start.errorText.contains(folders.cache), "\(note): \(start)")
          if verdict.outputText.contains("bad index: ") {
            #expect(start.errorText.contains("larder verify --repair"), "\(note): \(start)")
            let repair = try LarderProcess.run(["verify", "--repair", "--cache-dir", folders.cache])
            #expect(repair.end == .exited(0), "\(note): \(repair)")
            try serveAll("\(note), repaired")
          }
        } else {
          try serveAll(note)
        }
      }
      #expect(refused < 24)
    }
  }
}
