// conf/larder.yaml names every setting, and says the truth about its default.
import Configuration
import Glibc
import Testing

/// `conf/larder.yaml` as the table of settings makes it.
private func exampleFile() -> String {
  var text = """
    # Every setting of Larder with its default. What a file does not name keeps its default.
    # Sizes: 64K, 256M, 20G, 1T (powers of 1024). Times: 250ms, 90s, 5m, 1h, 2d. Lists: [a, b].
    # Check a file with `larder check-config FILE`.


    """
  let defaults = Settings()
  func append(_ settings: [Setting], indent: String) {
    for setting in settings {
      text += "\(indent)# \(setting.summary)\n\(indent)\(setting.shortName): \(setting.text(in: defaults))\n"
    }
  }
  append(SettingsTable.all.filter { $0.section == nil }, indent: "")
  for section in SettingsTable.sections {
    text += "\n# \(section.summary)\n\(section.name):\n"
    append(SettingsTable.all.filter { $0.section == section.name }, indent: "  ")
  }
  return text
}

private let examplePath = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/conf/larder.yaml"

private func contents(of path: String) throws -> String {
  let file = try #require(fopen(path, "r"), "\(path) is missing")
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 4096)
  while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
  return String(decoding: bytes, as: UTF8.self)
}

@Suite struct ExampleFile {
  /// With `LARDER_WRITE_EXAMPLE` in the environment, the file is written anew instead.
  @Test func namesEverySettingWithItsDefaultAndWhatItDoes() throws {
    if getenv("LARDER_WRITE_EXAMPLE") != nil {
      let file = try #require(fopen(examplePath, "w"))
      fputs(exampleFile(), file)
      fclose(file)
    }
    let found = try contents(of: examplePath).split(separator: "\n", omittingEmptySubsequences: false)
    let expected = exampleFile().split(separator: "\n", omittingEmptySubsequences: false)
    for (line, pair) in zip(found, expected).enumerated() {
      #expect(pair.0 == pair.1, "line \(line + 1); run with LARDER_WRITE_EXAMPLE=1 to write the file anew")
    }
    #expect(found.count == expected.count)
  }

  @Test func parsesToTheDefaults() throws {
    #expect(try Settings.load(path: examplePath) == Settings())
  }

  @Test func fitsTheTerminal() {
    for setting in SettingsTable.all {
      #expect(setting.summary.utf8.count <= 100 && setting.summary.hasSuffix("."), "\(setting.name)")
    }
  }
}
