// wget and aria2c through the proxy: resumption and split downloads, no byte twice from the origin.
import TestSupport
import Testing

@Suite struct DownloaderTests {
  private static let body = PatternBody(seed: 12, size: 12_000_000)

  private func withDownload(
    _ run: (Rig, NginxOrigin, LarderProcess, [String: String]) throws -> Void
  ) throws {
    try withRig { rig in
      let nginx = try rig.nginx()
      try nginx.publish("/file.bin", Self.body)
      let larder = try rig.larder()
      try run(rig, nginx, larder, through(larder, home: rig.folder.path))
    }
  }

  @Test func wgetWholeAndAgain() throws {
    try withDownload { rig, nginx, _, environment in
      for name in ["first", "second"] {
        let file = rig.folder.file(name)
        try mustRun(
          "wget", ["-q", "-T", "30", "-t", "1", "-O", file, nginx.url("/file.bin")], environment: environment)
        try expectBytes(readFile(file), Self.body.bytes)
      }
      try expectSent(Self.body.size, by: nginx, rig)
    }
  }

  @Test func wgetResumesFromWhatItHas() throws {
    try withDownload { rig, nginx, _, environment in
      try writeFile(rig.folder.file("file.bin"), Self.body.bytes(0..<5_000_000))
      try mustRun(
        "wget", ["-q", "-c", "-T", "30", "-t", "1", nginx.url("/file.bin")], environment: environment,
        folder: rig.folder.path)
      try expectBytes(readFile(rig.folder.file("file.bin")), Self.body.bytes)
      // The whole then asks the origin for the beginning only.
      try mustRun("wget", ["-q", "-t", "1", "-O", "/dev/null", nginx.url("/file.bin")], environment: environment)
      try expectSent(Self.body.size, by: nginx, rig)
    }
  }

  @Test func wgetSpiderAndMirrorOfSmallPages() throws {
    try withRig { rig in
      let nginx = try rig.nginx()
      let names = (0..<20).map { "page\($0).html" }
      for name in names { try nginx.publish("/site/\(name)", Array("<p>\(name)</p>".utf8)) }
      try nginx.publish("/site/index.html", Array(names.map { "<a href=\"\($0)\">x</a>" }.joined().utf8))
      let larder = try rig.larder()
      let folder = rig.folder.file("mirror")
      try makeFolder(folder)
      try mustRun(
        "wget", ["-q", "-r", "-np", "-nH", "-T", "30", "-t", "1", "-e", "robots=off", nginx.url("/site/")],
        environment: through(larder, home: rig.folder.path), folder: folder)
      for name in names { #expect(try readText("\(folder)/site/\(name)") == "<p>\(name)</p>") }
    }
  }

  private func aria2(_ rig: Rig, _ url: String, _ name: String, _ environment: [String: String]) throws {
    try mustRun(
      "aria2c",
      [
        "-q", "--no-conf", "-x8", "-s8", "-k1M", "--max-tries=1", "--file-allocation=none", "--allow-overwrite=true",
        "-d", rig.folder.path, "-o", name, url,
      ], environment: environment)
  }

  @Test func aria2SplitsInEight() throws {
    try withDownload { rig, nginx, _, environment in
      for name in ["first", "second"] {
        try aria2(rig, nginx.url("/file.bin"), name, environment)
        try expectBytes(readFile(rig.folder.file(name)), Self.body.bytes)
      }
      try expectSent(Self.body.size, by: nginx, rig)
    }
  }

  @Test func aria2OverWhatIsThereInPart() throws {
    try withDownload { rig, nginx, larder, environment in
      let client = try RawClient(port: larder.port)
      for first in [1_000_000, 4_500_000, 9_000_000] {
        let part = try client.fetch(nginx.url("/file.bin"), [("Range", "bytes=\(first)-\(first + 699_999)")])
        expectBytes(part.body, Self.body.bytes(first..<first + 700_000))
      }
      try aria2(rig, nginx.url("/file.bin"), "file", environment)
      try expectBytes(readFile(rig.folder.file("file")), Self.body.bytes)
      try expectSent(Self.body.size, by: nginx, rig)
    }
  }
}
