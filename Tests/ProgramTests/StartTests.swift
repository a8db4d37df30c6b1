// Starts that must fail, with one clear line and nothing half-made, and ends that must be in order.
import Foundation
import TestSupport
import Testing

@Suite struct StartTests {
  /// Runs `serve` where it cannot start, and expects exit code 1 and one line that holds the words.
  private func expectNoStart(
    _ rig: Rig, _ settings: [String: String], on folders: LarderProcess.Folders, saying words: [String]
  ) throws {
    try writeFile(folders.settings, LarderProcess.yaml(in: folders, settings))
    let result = try LarderProcess.run(["serve", "--config", folders.settings], home: rig.folder.path)
    #expect(result.end == .exited(1), "\(result)")
    #expect(!result.outputText.contains("larder: ready"))
    let lines = result.errorText.split(separator: "\n").filter { line in words.allSatisfy { line.contains($0) } }
    #expect(!lines.isEmpty, "\(result)")
  }

  @Test func aPortInUse() throws {
    try withRig { rig in
      let port = try rig.deadPort(accepting: true)
      let folders = try rig.folders()
      try expectNoStart(rig, ["listen": "[127.0.0.1:\(port)]"], on: folders, saying: ["127.0.0.1:\(port)", "in use"])
      try expectNoStart(rig, ["admin": "127.0.0.1:\(port)"], on: folders, saying: ["127.0.0.1:\(port)", "in use"])
    }
  }

  @Test func aCacheDirectoryThatIsAFileOrCannotBeMade() throws {
    try withRig { rig in
      let file = rig.folder.file("file")
      try writeFile(file, "not a folder")
      try expectNoStart(rig, [:], on: rig.folders(cache: file), saying: [file])
      try expectNoStart(rig, [:], on: rig.folders(cache: file + "/below"), saying: [file + "/below"])
      #expect(try readText(file) == "not a folder")
      // Nobody, root included, can make a folder there.
      try expectNoStart(rig, [:], on: rig.folders(cache: "/proc/larder"), saying: ["/proc/larder"])
    }
  }

  @Test func anAccessLogThatCannotBeOpened() throws {
    try withRig { rig in
      let path = rig.folder.file("none/access.log")
      try expectNoStart(rig, ["log.access_log": path], on: rig.folders(), saying: [path])
    }
  }

  @Test func aSecondProcessOnTheSameCacheIsRefused() throws {
    try withRig { rig in
      let folders = try rig.folders()
      let nginx = try rig.nginx()
      try nginx.publish("/a.txt", Array("text".utf8))
      let larder = try rig.larder(on: folders)
      try expectNoStart(rig, [:], on: try rig.folders(cache: folders.cache), saying: [folders.cache])
      #expect(try RawClient.fetch(nginx.url("/a.txt"), through: larder.port).text == "text")
    }
  }

  /// An index of a version that this program does not know is refused with the remedy, and is not touched.
  @Test func anUnknownIndexVersionIsRefusedAndUntouched() throws {
    try withRig { rig in
      let folders = try rig.folders()
      let larder = try rig.larder(on: folders)
      try larder.stop()
      let index = folders.cache + "/index/data.mdb"
      // The row of the meta table whose key is "format": its value, a number of four bytes, follows the key.
      var bytes = Data(try readFile(index))
      var rows = 0
      while let key = bytes.range(of: Data([6, 0] + "format".utf8)) {
        bytes.replaceSubrange(key.upperBound..<key.upperBound + 4, with: [0x3f, 0x42, 0x0f, 0x7f])
        bytes[key.lowerBound + 2] = UInt8(ascii: "F")
        rows += 1
      }
      while let key = bytes.range(of: Data([6, 0] + "Format".utf8)) { bytes[key.lowerBound + 2] = UInt8(ascii: "f") }
      try #require(rows > 0)
      try writeFile(index, Array(bytes))
      let state = {
        try filesBelow(folders.cache).filter { !$0.path.hasSuffix("lock.mdb") }.map {
          [Array($0.path.utf8), try readFile($0.path)]
        }
      }
      let before = try state()
      try expectNoStart(rig, [:], on: folders, saying: [folders.cache, "format"])
      #expect(try state() == before)
    }
  }

  @Test(arguments: [LarderProcess.Signal.terminate, .interrupt])
  func anIdleServerEndsAtOnceWithZero(_ signal: LarderProcess.Signal) throws {
    try withRig { rig in
      let larder = try rig.larder()
      let idle = try RawClient(port: larder.port)
      #expect(try larder.stop(signal) == .exited(0))
      #expect(try idle.isEnded())
    }
  }

  @Test func termDrainsWhatIsUnderWayAndTakesNothingNew() throws {
    try withRig { rig in
      let body = PatternBody(seed: 111, size: 2_000_000)
      let gate = rig.gate("rest")
      let origin = try rig.origin { try Representation(body).serve($0, .init(.stall(after: 500_000, gate))) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      var response = try client.responseHead()
      let idle = try RawClient(port: larder.port)
      larder.process.signal(15)
      // The idle connection's end shows that the drain has begun.
      #expect(try idle.isEnded())
      #expect(throws: HarnessError.self) {
        let late = try RawClient(port: larder.port)
        _ = try late.fetch(origin.url("/late"))
      }
      gate.open()
      try client.readBody(of: &response)
      #expect(response.end == .clean)
      expectBytes(response.body, body.bytes)
      #expect(try larder.process.wait() == .exited(0))
    }
  }

  @Test func theDrainIsBounded() throws {
    try withRig { rig in
      let gate = rig.gate("never")
      let body = PatternBody(seed: 112, size: 2_000_000)
      let origin = try rig.origin { try Representation(body).serve($0, .init(.stallThenFinish(after: 500_000, gate))) }
      let larder = try rig.larder(["clients.drain_timeout": "300ms"])
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      var response = try client.responseHead()
      larder.process.signal(15)
      try client.readBody(of: &response)
      #expect(response.end != .clean)
      _ = try larder.process.wait()
    }
  }

  @Test func aSecondInterruptStopsAtOnce() throws {
    try withRig { rig in
      let gate = rig.gate("never")
      let body = PatternBody(seed: 113, size: 2_000_000)
      let origin = try rig.origin { try Representation(body).serve($0, .init(.stallThenFinish(after: 500_000, gate))) }
      let larder = try rig.larder(["clients.drain_timeout": "10m"])
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      _ = try client.responseHead()
      let idle = try RawClient(port: larder.port)
      larder.process.signal(2)
      #expect(try idle.isEnded())
      larder.process.signal(2)
      _ = try larder.process.wait()
    }
  }
}
