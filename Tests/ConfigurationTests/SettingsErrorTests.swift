// Every wrong settings file says where, what was found, and what was expected.
import Configuration
import Testing

@Suite struct SettingsErrors {
  struct Row: Sendable {
    let text: String
    let line: Int?
    let setting: String?
    let found: String
    let expected: String

    init(_ text: String, _ line: Int?, _ setting: String?, _ found: String, _ expected: String) {
      self.text = text
      self.line = line
      self.setting = setting
      self.found = found
      self.expected = expected
    }
  }

  static let rows: [Row] = [
    Row("cache:\n  size: 20X", 2, "cache.size", "\"20X\"", "a size such as 20G"),
    Row("cache:\n  size: 20GB", 2, "cache.size", "\"20GB\"", "a size such as 20G"),
    Row("cache:\n  size: 1K", 2, "cache.size", "\"1K\"", "at least 1M"),
    Row("cache:\n  size: [1G]", 2, "cache.size", "a list", "a size"),
    Row("cache:\n  size:\n", 2, "cache.size", "nothing", "a size"),
    Row("cache:\n  size: {a: 1}", 2, "cache.size", "a section", "a size"),
    Row("cache:\n  szie: 1G", 2, "cache.szie", "an unknown setting", "perhaps cache.size"),
    Row("cache:\n  read_ahead: 1G", 2, "cache.read_ahead", "an unknown setting", "perhaps fills.read_ahead"),
    Row("acess:\n  allow_own: no", 1, "acess", "an unknown setting", "perhaps access"),
    Row("\n\nlistn: 1", 3, "listn", "an unknown setting", "perhaps listen"),
    Row("colour: red", 1, "colour", "an unknown setting", "a known setting"),
    Row("cache: 20G", 1, "cache", "\"20G\"", "settings"),
    Row("- a\n- b", 1, nil, "a list", "settings"),
    Row("listen: [127.0.0.1:1,\n  example.com:2]", 2, "listen", "\"example.com:2\"", "a list, each HOST:PORT"),
    Row("listen: [[a]]", 1, "listen", "a list", "a list, each HOST:PORT"),
    Row("listen: []", 1, "listen", "an empty list", "at least one address"),
    Row("listen: [127.0.0.1:1, 127.0.0.1:1]", 1, "listen", "127.0.0.1:1 twice", "each address once"),
    Row("listen: 127.0.0.1:3129", 1, "admin", "127.0.0.1:3129", "other than listen's 127.0.0.1:3129"),
    Row("admin: 0.0.0.0:3128", 1, "admin", "0.0.0.0:3128", "other than listen's 127.0.0.1:3128"),
    Row("log:\n  level: loud", 2, "log.level", "\"loud\"", "debug, info, warning or error"),
    Row("log:\n  access_log: yes", 2, "log.access_log", "\"yes\"", "off, - for standard output, or a path"),
    Row("log:\n  destination: stdout", 2, "log.destination", "\"stdout\"", "stderr, or a path"),
    Row("fills:\n  backoff: 5", 2, "fills.backoff", "\"5\"", "a time such as 250ms"),
    Row("fills:\n  attempts: 0", 2, "fills.attempts", "\"0\"", "from 1 to 1000"),
    Row("fills:\n  window: 1G", 2, "fills.window", "1G", "at most fills.window_max, which is 64M"),
    Row("cache:\n  high_watermark: 90%", 2, "cache.low_watermark", "95%", "at most cache.high_watermark"),
    Row("limits:\n  head_bytes: 8K", 2, "limits.target_bytes", "16K", "at most limits.head_bytes"),
    Row("name: \"a b\"", 1, "name", "\"a b\"", "a name of letters"),
    Row("name: 7up", 1, "name", "\"7up\"", "begins with a letter"),
    Row("workers: -1", 1, "workers", "\"-1\"", "a whole number"),
    Row("access:\n  client_networks: [10.1.0.0/8]", 2, "access.client_networks", "\"10.1.0.0/8\"", "no bits set"),
    Row("tunnels:\n  connect_ports: [443, 65536]", 2, "tunnels.connect_ports", "\"65536\"", "a whole number"),
    Row("freshness:\n  heuristic_fraction: 101%", 2, "freshness.heuristic_fraction", "\"101%\"", "0% to 100%"),
    Row("cache:\n  size: 1G\n  size: 2G", 3, nil, "size a second time (first in line 2)", "it once"),
    Row("cache:\n  size: 1G\ncache:\n  memory: 2G", 3, nil, "cache a second time (first in line 1)", "it once"),
    Row("cache: &a\n  size: 1G\nfills: *a", 3, nil, "an alias", "not supported"),
    Row("[a]: b", 1, nil, "a key that is not a name", "NAME: VALUE"),
    Row("cache:\n\tsize: 1G", 2, nil, "character", "YAML"),
    Row("listen: [a", 2, nil, "did not find expected", "YAML"),
    Row("listen: localhost:1\n---\nlisten: localhost:2", 2, nil, "a second document", "one"),
    Row("cache:\n  directory: \"a\\0b\"", 2, "cache.directory", "\"a?b\"", "a path"),
    Row(String(repeating: "[", count: 100), 1, nil, "more than 16 levels", "sections"),
  ]

  @Test(arguments: rows) func nameThePlaceAndTheRemedy(_ row: Row) {
    let error = #expect(throws: SettingsError.self) { try Settings.parse(text: row.text, name: "larder.yaml") }
    #expect(error?.source == "larder.yaml")
    #expect(error?.line == row.line)
    #expect(error?.setting == row.setting)
    #expect(error?.found.contains(row.found) == true, "\(error?.found ?? "")")
    #expect(error?.expected.contains(row.expected) == true, "\(error?.expected ?? "")")
  }

  @Test func readAsOneLine() {
    let error = #expect(throws: SettingsError.self) {
      try Settings.parse(text: "workers: many", name: "conf/larder.yaml")
    }
    #expect(
      error?.description
        == "conf/larder.yaml:1: workers: found \"many\", expected a whole number, at most 1024")
  }

  @Test func nameAFileThatIsNotThere() {
    let error = #expect(throws: SettingsError.self) { try Settings.load(path: "/nonexistent/larder.yaml") }
    #expect(error?.description == "/nonexistent/larder.yaml: found No such file or directory, expected a settings file")
  }

  @Test func nameADirectory() {
    let error = #expect(throws: SettingsError.self) { try Settings.load(path: "/") }
    #expect(error?.found == "Is a directory")
  }

  @Test func nameTheFlag() {
    var settings = Settings()
    let error = #expect(throws: SettingsError.self) {
      try settings.set("cache.size", to: ["lots"], source: "--cache-size")
    }
    #expect(error?.description.hasPrefix("--cache-size: found \"lots\", expected a size such as 20G") == true)
    #expect(settings == Settings())
  }
}
