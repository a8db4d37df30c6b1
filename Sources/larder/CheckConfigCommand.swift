// `larder check-config`: reads settings and says what they come to.

import Configuration

enum CheckConfigCommand {
  static func run(_ arguments: [String]) -> ExitCode {
    if arguments.contains("--help") || arguments.contains("-h") {
      Output.print(Help.checkConfig)
      return .success
    }
    guard arguments.count <= 1 else {
      Output.error("found \(arguments.count) arguments; expected one settings file at most")
      return .usage
    }
    do {
      var settings = Settings()
      if let file = arguments.first { settings = try Settings.load(path: file) }
      try settings.validate(source: arguments.first ?? "defaults")
      for setting in SettingsTable.all {
        Output.print("\(setting.name): \(setting.text(in: settings))")
      }
      return .success
    } catch {
      Output.error(error.description)
      return .usage
    }
  }
}
