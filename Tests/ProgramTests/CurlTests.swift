// curl through the proxy, in all the ways it asks for a file, against nginx.
import TestSupport
import Testing

@Suite struct CurlTests {
  private static let body = PatternBody(seed: 11, size: 1_500_000)

  /// A proxy, an origin that has the body as /file.bin, and a curl between.
  private func withCurl(
    _ run: (Rig, NginxOrigin, _ curl: ([String]) throws -> ToolResult) throws -> Void
  ) throws {
    try withRig { rig in
      let nginx = try rig.nginx()
      try nginx.publish("/file.bin", Self.body)
      let larder = try rig.larder()
      try run(rig, nginx) { arguments in
        try mustRun(
          "curl", ["-sS", "--max-time", "30"] + arguments + [nginx.url("/file.bin")],
          environment: through(larder, home: rig.folder.path))
      }
    }
  }

  @Test func wholeFileTwiceIsFetchedOnce() throws {
    try withCurl { rig, nginx, curl in
      for _ in 0..<2 { try expectBytes(curl([]).output, Self.body.bytes) }
      try expectSent(Self.body.size, by: nginx, rig)
    }
  }

  @Test(arguments: ["0-0", "0-99999", "700000-799999", "1400000-", "1499999-", "-1", "-200000", "0-", "-9999999"])
  func anyRangeColdAndWarm(_ range: String) throws {
    let size = Self.body.size
    let ends = range.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    let expected: Range<Int> =
      switch (ends[0], ends[1]) {
      case (let first?, let last?): first..<last + 1
      case (let first?, nil): first..<size
      case (nil, let count?): max(0, size - count)..<size
      case (nil, nil): 0..<size
      }
    try withCurl { rig, nginx, curl in
      for _ in 0..<2 {
        let result = try curl(["-r", range, "-D", "-"])
        let head = String(decoding: result.output.prefix(1000), as: UTF8.self)
        #expect(head.hasPrefix("HTTP/1.1 206"))
        #expect(head.contains("bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(size)"))
        expectBytes(result.output.suffix(expected.count), Self.body.bytes(expected))
      }
      try expectSent(expected.count, by: nginx, rig)
    }
  }

  @Test func overlappingRangesThenTheWholeFetchEachByteOnce() throws {
    try withCurl { rig, nginx, curl in
      for range in ["100000-199999", "150000-300000", "1000000-1100000", "-100000", "0-50000"] {
        _ = try curl(["-r", range])
      }
      try expectBytes(curl([]).output, Self.body.bytes)
      try expectSent(Self.body.size, by: nginx, rig)
    }
  }

  @Test func severalRangesAtOnce() throws {
    try withCurl { rig, nginx, curl in
      for _ in 0..<2 {
        let output = try curl(["-r", "0-99,700000-700099,-50"]).output
        for slice in [0..<100, 700_000..<700_100, 1_499_950..<1_500_000] {
          #expect(output.firstRange(of: Self.body.bytes(slice)) != nil)
        }
      }
      try expectSent(250, by: nginx, rig)
    }
  }

  @Test func resumedDownloadAsksOnlyForTheRest() throws {
    try withCurl { rig, nginx, curl in
      let file = rig.folder.file("resumed.bin")
      try writeFile(file, Self.body.bytes(0..<600_000))
      _ = try curl(["-C", "-", "-o", file])
      try expectBytes(readFile(file), Self.body.bytes)
      try expectSent(900_000, by: nginx, rig)
    }
  }

  @Test func headHasTheLengthAndMovesNoBody() throws {
    try withCurl { rig, nginx, curl in
      #expect(try curl(["-I"]).outputText.contains("Content-Length: 1500000\r\n"))
      _ = try curl([])
      let warm = try curl(["-I"]).outputText
      #expect(warm.hasPrefix("HTTP/1.1 200") && warm.contains("Content-Length: 1500000\r\n"))
      try expectSent(Self.body.size, by: nginx, rig)
    }
  }

  @Test func ifModifiedSinceIsAnswered304ColdAndWarm() throws {
    try withCurl { rig, nginx, curl in
      let report = ["-o", rig.folder.file("out"), "-w", "%{http_code} %{size_download}"]
      let later = ["-z", httpDate(secondsFromNow: -1)]
      let earlier = ["-z", httpDate(secondsFromNow: -864_000)]
      try mustRun("touch", ["-d", "@\(1_700_000_000)", nginx.root + "/file.bin"])
      #expect(try curl(later + report).outputText == "304 0")
      #expect(try curl(["-z", "Tue, 14 Nov 2023 00:00:00 GMT"] + report).outputText == "200 1500000")
      #expect(try curl(later + report).outputText == "304 0")
      #expect(try curl(earlier + report).outputText == "304 0")
      try expectSent(Self.body.size, by: nginx, rig)
    }
  }

  @Test func http10IsServedAndClosed() throws {
    try withCurl { rig, nginx, curl in
      for _ in 0..<2 { try expectBytes(curl(["-0"]).output, Self.body.bytes) }
      try expectSent(Self.body.size, by: nginx, rig)
    }
  }

  @Test func emptyFileAndMissingFile() throws {
    try withRig { rig in
      let nginx = try rig.nginx()
      try nginx.publish("/empty", [])
      let larder = try rig.larder()
      let environment = through(larder, home: rig.folder.path)
      for _ in 0..<2 {
        let empty = try mustRun("curl", ["-sS", "-i", nginx.url("/empty")], environment: environment).outputText
        #expect(empty.hasPrefix("HTTP/1.1 200") && empty.contains("Content-Length: 0\r\n"))
        let missing = try mustRun("curl", ["-sS", "-i", nginx.url("/none")], environment: environment).outputText
        #expect(missing.hasPrefix("HTTP/1.1 404"))
      }
    }
  }
}
