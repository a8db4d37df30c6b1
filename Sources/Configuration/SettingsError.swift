// What is wrong with a setting, so that whoever wrote it can mend it.

/// A setting that cannot be taken, or a settings file that cannot be read.
public struct SettingsError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file, or what else the setting came from (`--listen`).
  public var source: String
  /// The line in the file, counted from 1; nil where there is none.
  public var line: Int?
  /// The setting's name with its section; nil where the file as a whole is meant.
  public var setting: String?
  /// What was found, in words.
  public var found: String
  /// What was expected, in words.
  public var expected: String

  public init(source: String, line: Int? = nil, setting: String? = nil, found: String, expected: String) {
    self.source = source
    self.line = line
    self.setting = setting
    self.found = found
    self.expected = expected
  }

  /// `FILE:LINE: SETTING: found X, expected Y`.
  public var description: String {
    let place = [source, line.map { "\($0)" }].compactMap { $0 }.joined(separator: ":")
    return [place, setting, "found \(found), expected \(expected)"].compactMap { $0 }.joined(separator: ": ")
  }
}
