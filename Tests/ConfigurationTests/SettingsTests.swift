// What a settings file says is what the program gets.
import Configuration
import Testing

@Suite struct SettingsFiles {
  @Test(arguments: ["", "\n# nothing\n", "---\n", "cache:\n", "~", "cache:\n  # size: 1G\n"])
  func thatSayNothingMeanTheDefaults(_ text: String) throws {
    #expect(try Settings.parse(text: text, name: "x") == Settings())
  }

  @Test func setWhatTheyNameAndNothingElse() throws {
    let text = """
      listen:
        - 192.168.1.2:8080
        - "[::1]:8080"
      admin: off
      name: kitchen
      cache: {size: 1T, low_watermark: 90.5%, directory: ~/c}
      fills:
        backoff: 250ms
        attempts: 7
      tunnels:
        connect_ports: []
      access:
        allow_own: yes
        denied_networks: 10.0.0.0/8
      freshness:
        store_close_delimited: yes
      log:
        access_log: "-"
        access_format: json
        destination: /var/log/larder
      """
    var expected = Settings()
    expected.listen = [ListenAddress("192.168.1.2:8080"), ListenAddress("[::1]:8080")].compactMap(\.self)
    expected.admin = nil
    expected.name = "kitchen"
    expected.cache.size = 1 << 40
    expected.cache.lowWatermark = 0.905
    expected.cache.directory = "~/c"
    expected.fills.backoff = .milliseconds(250)
    expected.fills.attempts = 7
    expected.tunnels.connectPorts = []
    expected.access.allowOwn = .yes
    expected.access.deniedNetworks = [AddressBlock("10.0.0.0/8")].compactMap(\.self)
    expected.freshness.storeCloseDelimited = true
    expected.log.accessLog = .stdout
    expected.log.accessFormat = .json
    expected.log.destination = .file("/var/log/larder")
    #expect(try Settings.parse(text: text, name: "x") == expected)
    #expect(expected.listen.count == 2)
  }

  /// Were a row of the table bound to a neighbour's property, setting it would change the neighbour's text.
  @Test(arguments: SettingsTable.all.map(\.name)) func bindEveryNameToItsOwnProperty(_ name: String) throws {
    let samples = [
      "1", "77", "2K", "2M", "3s", "7%", "yes", "no", "debug", "json", "127.0.0.1:9", "203.0.113.0/24", "/tmp/larder",
      "other",
    ]
    let defaults = Settings()
    let setting = try #require(SettingsTable.setting(named: name))
    var changed = 0
    for sample in samples {
      var settings = defaults
      guard (try? settings.set(name, to: [sample], source: "test")) != nil, settings != defaults else { continue }
      changed += 1
      #expect(setting.values(settings) != setting.values(defaults))
      for other in SettingsTable.all where other.name != name {
        #expect(other.values(settings) == other.values(defaults), "\(name) also changes \(other.name)")
      }
    }
    #expect(changed > 0, "no sample fits \(name)")
  }

  @Test func nameEachSettingOnceAndInAKnownSection() {
    #expect(Set(SettingsTable.all.map(\.name)).count == SettingsTable.all.count)
    let sections = SettingsTable.sections.map(\.name)
    for setting in SettingsTable.all {
      #expect(setting.section.map(sections.contains) ?? true, "\(setting.name)")
    }
  }
}

@Suite struct ResolvedSettings {
  static let user = SettingsEnvironment(isRoot: false, home: "/home/ann", cacheHome: nil)

  @Test(
    arguments: [
      ("", true, "/root", nil, "/var/cache/larder"),
      ("", false, "/home/ann", nil, "/home/ann/.cache/larder"),
      ("", false, "/home/ann", "/scratch", "/scratch/larder"),
      ("", false, "/home/ann", "relative", "/home/ann/.cache/larder"),
      ("", false, nil, "/scratch", "/scratch/larder"),
      ("~/c", false, "/home/ann", nil, "/home/ann/c"),
      ("/srv/~/c", false, "/home/ann", nil, "/srv/~/c"),
    ] as [(String, Bool, String?, String?, String)])
  func knowTheCacheDirectory(
    _ directory: String, _ isRoot: Bool, _ home: String?, _ cacheHome: String?, _ expected: String
  ) throws {
    var settings = Settings()
    settings.cache.directory = directory
    let environment = SettingsEnvironment(isRoot: isRoot, home: home, cacheHome: cacheHome)
    #expect(try settings.resolved(processors: 2, environment: environment).cache.directory == expected)
  }

  @Test func needAHomeForAHome() {
    let homeless = SettingsEnvironment(isRoot: false, home: nil, cacheHome: nil)
    let error = #expect(throws: SettingsError.self) {
      try Settings().resolved(processors: 1, environment: homeless)
    }
    #expect(error?.setting == "cache.directory")
  }

  @Test func expandLogPaths() throws {
    var settings = Settings()
    settings.log.destination = .file("~/l")
    settings.log.accessLog = .file("~/a")
    let resolved = try settings.resolved(processors: 1, environment: Self.user)
    #expect(resolved.log.destination == .file("/home/ann/l"))
    #expect(resolved.log.accessLog == .file("/home/ann/a"))
  }

  @Test func haveAWorkerForEachCoreUnlessTold() throws {
    var settings = Settings()
    #expect(try settings.resolved(processors: 6, environment: Self.user).workers == 6)
    settings.workers = 3
    #expect(try settings.resolved(processors: 6, environment: Self.user).workers == 3)
  }

  @Test func haveANameThatNoOtherInstanceHas() throws {
    let first = try Settings().resolved(processors: 1, environment: Self.user).name
    let second = try Settings().resolved(processors: 1, environment: Self.user).name
    #expect(first.hasPrefix("larder-") && first.utf8.count == 15)
    #expect(first != second)
    var settings = Settings()
    settings.name = "kitchen"
    #expect(try settings.resolved(processors: 1, environment: Self.user).name == "kitchen")
  }

  @Test func areCheckedTogether() {
    var settings = Settings()
    settings.fills.backoff = .seconds(60)
    #expect(throws: SettingsError.self) { try settings.resolved(processors: 1, environment: Self.user) }
  }

  @Test(arguments: [
    (["127.0.0.1:1", "[::1]:1"], true, true, false), (["127.0.0.1:1", "0.0.0.0:1"], false, true, false),
    (["192.168.1.1:1"], false, true, false),
  ])
  func allowLoopbackOnlyToThoseOnIt(_ listen: [String], _ auto: Bool, _ yes: Bool, _ no: Bool) {
    var settings = Settings()
    settings.listen = listen.compactMap { ListenAddress($0) }
    #expect(settings.allows(.auto) == auto)
    #expect(settings.allows(.yes) == yes)
    #expect(settings.allows(.no) == no)
  }
}
