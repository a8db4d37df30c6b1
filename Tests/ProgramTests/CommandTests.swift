// The command line: what it prints, what it refuses, and with which exit code.
import TestSupport
import Testing

@Suite struct CommandTests {
  @Test(arguments: [["--help"], ["serve", "--help"], ["check-config", "--help"], ["version", "--help"], ["help"]])
  func helpIsEverywhere(_ arguments: [String]) throws {
    let result = try LarderProcess.run(arguments)
    #expect(result.end == .exited(0), "\(result)")
    #expect(result.outputText.lowercased().contains("usage"))
  }

  @Test func helpOfServeNamesEveryFlag() throws {
    let text = try LarderProcess.run(["serve", "--help"]).outputText
    for flag in [
      "--config", "--listen", "--admin", "--cache-dir", "--cache-size", "--workers", "--access-log", "--log-level",
    ] {
      #expect(text.contains(flag), "\(flag)")
    }
  }

  @Test func versionIsOneLine() throws {
    let result = try LarderProcess.run(["version"])
    #expect(result.end == .exited(0))
    #expect(result.outputText.hasPrefix("larder ") && result.outputText.split(separator: "\n").count == 1)
  }

  /// Wrong usage: exit code 2, and standard error says what was expected.
  @Test(arguments: [
    (["frobnicate"], ["frobnicate", "serve"]),
    (["serve", "--frobnicate"], ["--frobnicate"]),
    (["serve", "--workers", "many"], ["--workers", "many", "expected"]),
    (["serve", "--cache-size", "12X"], ["--cache-size", "12X", "expected"]),
    (["serve", "--listen", "nowhere"], ["--listen", "nowhere", "expected"]),
    (["serve", "--listen", "127.0.0.1:99999"], ["--listen", "99999", "expected"]),
    (["serve", "--log-level", "loud"], ["--log-level", "loud", "debug"]),
    (["serve", "--cache-dir"], ["--cache-dir", "expected"]),
    (["serve", "stray"], ["stray"]),
    ([], ["serve"]),
  ])
  func wrongUsageSaysWhatWasExpected(_ arguments: [String], _ words: [String]) throws {
    let result = try LarderProcess.run(arguments)
    #expect(result.end == .exited(2), "\(result)")
    for word in words { #expect(result.errorText.contains(word), "\(result)") }
  }

  /// A settings file that is wrong: file, line, setting, what was found and what was expected.
  @Test(arguments: [
    ("cache:\n  size: lots\n", 2, "cache.size", "lots"),
    ("listen: [127.0.0.1:3128]\nworkers: -1\n", 2, "workers", "-1"),
    ("upstream:\n  connect_timeout: 10x\n", 2, "upstream.connect_timeout", "10x"),
    ("cache:\n  seize: 1G\n", 2, "cache.seize", "cache.size"),
    ("tunnels:\n  connect_ports: [443, http]\n", 2, "tunnels.connect_ports", "http"),
    ("log:\n  level: loud\n", 2, "log.level", "loud"),
    ("cache:\n  size: 1G\n  size: 2G\n", 3, "cache.size", ""),
  ])
  func checkConfigNamesFileLineSettingFoundAndExpected(
    _ text: String, _ line: Int, _ setting: String, _ found: String
  ) throws {
    try withRig { rig in
      let file = rig.folder.file("wrong.yaml")
      try writeFile(file, text)
      for arguments in [["check-config", file], ["serve", "--config", file]] {
        let result = try LarderProcess.run(arguments, home: rig.folder.path)
        #expect(result.end == .exited(2), "\(result)")
        #expect(result.errorText.contains("\(file):\(line)"), "\(result)")
        #expect(result.errorText.contains(setting), "\(result)")
        #expect(result.errorText.contains(found), "\(result)")
        #expect(result.errorText.contains("expected"), "\(result)")
      }
    }
  }

  @Test func checkConfigAcceptsTheDocumentedSettings() throws {
    let result = try LarderProcess.run(["check-config", repository("conf/larder.yaml")])
    #expect(result.end == .exited(0), "\(result)")
  }

  @Test func whatCheckConfigPrintsIsASettingsFile() throws {
    try withRig { rig in
      let file = rig.folder.file("first.yaml")
      try writeFile(file, "access:\n  denied_networks: [\"::1/128\", 10.0.0.0/8]\ncache.size: 3G\n")
      let first = try LarderProcess.run(["check-config", file])
      #expect(first.outputText.contains("\naccess.denied_networks: [\"::1/128\", 10.0.0.0/8]\n"), "\(first)")
      try writeFile(file, first.outputText)
      let second = try LarderProcess.run(["check-config", file])
      #expect(second.end == .exited(0), "\(second)")
      #expect(second.outputText == first.outputText)
    }
  }

  @Test func aMissingOrBrokenSettingsFileIsSaidSo() throws {
    try withRig { rig in
      let missing = try LarderProcess.run(["check-config", rig.folder.file("none.yaml")])
      #expect(missing.end == .exited(2) && missing.errorText.contains("none.yaml"), "\(missing)")
      try writeFile(rig.folder.file("broken.yaml"), "listen: [unclosed\n")
      let broken = try LarderProcess.run(["check-config", rig.folder.file("broken.yaml")])
      #expect(broken.end == .exited(2) && broken.errorText.contains("broken.yaml"), "\(broken)")
    }
  }

  @Test func flagsWinOverTheSettingsFile() throws {
    try withRig { rig in
      let nginx = try rig.nginx()
      try nginx.publish("/a.txt", Array("text".utf8))
      let cache = rig.folder.file("elsewhere")
      let larder = try rig.larder(arguments: ["--cache-dir", cache, "--workers", "1", "--cache-size", "1G"])
      #expect(try RawClient.fetch(nginx.url("/a.txt"), through: larder.port).text == "text")
      #expect(!filesBelow(cache).isEmpty)
      #expect(!exists(larder.folders.cache))
    }
  }

  @Test func serveSaysHowToUseItWhereTheCacheIsAndHowToStopIt() throws {
    try withRig { rig in
      let larder = try rig.larder()
      let text = larder.process.outputText + larder.process.errorText
      #expect(text.contains("export http_proxy=http://127.0.0.1:\(larder.port)"))
      #expect(text.contains(larder.folders.cache))
      #expect(text.lowercased().contains("stop"))
    }
  }

  /// The line is to be pasted, here or on another machine.
  @Test func whoListensEverywhereNamesAnAddressThatCanBeUsed() throws {
    try withRig { rig in
      let larder = try rig.larder(["listen": "[0.0.0.0:0]"])
      let lines = larder.process.outputText.split(separator: "\n")
      let line = try #require(lines.first { $0.hasPrefix("export http_proxy=http://") })
      #expect(!line.contains("0.0.0.0") && line.hasSuffix(":\(larder.port)"), "\(line)")
    }
  }

  @Test func severalListenersServe() throws {
    try withRig { rig in
      let nginx = try rig.nginx()
      try nginx.publish("/a.txt", Array("text".utf8))
      let larder = try rig.larder(["listen": "[127.0.0.1:0, 127.0.0.1:0]"])
      let ports = larder.process.outputText.split(separator: "\n").filter { $0.contains("listening on") }
        .compactMap { $0.split(separator: ":").last.flatMap { UInt16($0) } }
      #expect(Set(ports).count == 2)
      for port in ports { #expect(try RawClient.fetch(nginx.url("/a.txt"), through: port).text == "text") }
    }
  }
}

/// A path in the repository.
func repository(_ path: String, file: String = #filePath) -> String {
  file.split(separator: "/").dropLast(3).map { "/\($0)" }.joined() + "/" + path
}
