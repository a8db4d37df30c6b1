// What "auto" comes to on this machine, for this user.
internal import Glibc

/// What of the process's surroundings settings depend on.
public struct SettingsEnvironment: Sendable {
  public var isRoot: Bool
  /// `HOME`; nil or empty where there is none.
  public var home: String?
  /// `XDG_CACHE_HOME`; used only if it is an absolute path, as its specification demands.
  public var cacheHome: String?

  public init(isRoot: Bool, home: String?, cacheHome: String?) {
    self.isRoot = isRoot
    self.home = home
    self.cacheHome = cacheHome
  }

  /// That of this process.
  public static var current: SettingsEnvironment {
    func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
    return SettingsEnvironment(isRoot: geteuid() == 0, home: variable("HOME"), cacheHome: variable("XDG_CACHE_HOME"))
  }
}

extension Settings {
  /// The settings with every `auto` made concrete (name, workers, cache directory) and `~/` expanded in paths.
  ///
  /// To be called once, after the last setting is set: a name that is made up differs with each call.
  ///
  /// - Throws: `SettingsError` if settings contradict each other, or if a home directory is needed and unknown.
  public func resolved(
    processors: Int, environment: SettingsEnvironment = .current, source: String = "settings"
  ) throws(SettingsError) -> Settings {
    try validate(source: source)
    var settings = self
    if settings.workers == 0 { settings.workers = max(1, processors) }
    if settings.name.isEmpty {
      settings.name = "larder-" + String(UInt32.random(in: .min ... .max) | 1 << 31, radix: 16)
    }
    if settings.cache.directory.isEmpty { settings.cache.directory = environment.defaultCacheDirectory }
    func expand(_ path: String, _ setting: String) throws(SettingsError) -> String {
      guard path == "~" || path.hasPrefix("~/") else { return path }
      guard let home = environment.home, home.hasPrefix("/") else {
        throw SettingsError(
          source: source, setting: setting, found: "\(path) without a HOME", expected: "an absolute path")
      }
      return home + path.dropFirst()
    }
    settings.cache.directory = try expand(settings.cache.directory, "cache.directory")
    if case .file(let path) = log.destination {
      settings.log.destination = .file(try expand(path, "log.destination"))
    }
    if case .file(let path) = log.accessLog {
      settings.log.accessLog = .file(try expand(path, "log.access_log"))
    }
    return settings
  }
}

extension SettingsEnvironment {
  fileprivate var defaultCacheDirectory: String {
    if isRoot { return "/var/cache/larder" }
    if let cacheHome, cacheHome.hasPrefix("/") { return cacheHome + "/larder" }
    return "~/.cache/larder"
  }
}
