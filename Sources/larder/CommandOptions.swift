// The command lines of `larder serve` and `larder verify`, turned into settings.

import Configuration
import Glibc

/// What the flags of a command came to.
enum CommandOptions {
  case help
  case settings(Settings)
  case wrong(String)

  /// Reads the flags: the settings file first, whatever the order, then what the flags say.
  ///
  /// - Parameter flags: those of the command besides `--config` and `--help`, and the settings that they stand for.
  static func parse(_ arguments: [String], flags: [String: String]) -> CommandOptions {
    var values: [(flag: String, text: String)] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--help" || argument == "-h" { return .help }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts[0] == "--config" || flags[parts[0]] != nil else {
        return .wrong(
          "unknown flag \"\(argument)\"; expected one of --config, \(flags.keys.sorted().joined(separator: ", "))")
      }
      guard let text = parts.count == 2 ? parts[1] : rest.popFirst() else {
        return .wrong("\(argument) is the last word; expected its value after it")
      }
      values.append((parts[0], text))
    }
    do {
      return .settings(try settings(values, flags))
    } catch {
      return .wrong(error.description)
    }
  }

  private static func activeProcessors() -> Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  private static func settings(_ values: [(flag: String, text: String)], _ flags: [String: String])
    throws(SettingsError) -> Settings
  {
    var settings = Settings()
    var source = "settings"
    if let file = values.last(where: { $0.flag == "--config" })?.text {
      settings = try Settings.load(path: file)
      source = file
    }
    for (flag, name) in flags.sorted(by: { $0.key < $1.key }) {
      let texts = values.filter { $0.flag == flag }.map(\.text)
      if !texts.isEmpty { try settings.set(name, to: texts, source: flag) }
    }
    try settings.validate(source: source)
    return try settings.resolved(processors: activeProcessors(), source: source)
  }
}
