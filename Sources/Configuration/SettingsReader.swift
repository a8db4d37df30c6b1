// Reading of settings: from a file, from a text, one at a time from the command line.
internal import Glibc

extension Settings {
  /// The most that a settings file may hold, in bytes.
  static let fileLimit = 1 << 20

  /// Reads a settings file; what it does not name keeps its default.
  ///
  /// - Throws: `SettingsError` for a file that cannot be read, and as `parse` does.
  public static func load(path: String) throws(SettingsError) -> Settings {
    try parse(bytes: readFile(path), name: path)
  }

  /// Reads settings from YAML; `name` stands for the file in errors.
  ///
  /// - Throws: `SettingsError` for a text that is not YAML, for the first setting that is unknown or has a wrong
  ///   value, and for settings that contradict each other.
  public static func parse(text: String, name: String) throws(SettingsError) -> Settings {
    try parse(bytes: Array(text.utf8), name: name)
  }

  /// Sets one setting from texts, as a command line flag does; `source` stands for the flag in errors.
  ///
  /// - Throws: `SettingsError` for an unknown name or a value of the wrong form. Contradictions between settings are
  ///   found by `validate()`, after the last of them is set.
  public mutating func set(_ name: String, to texts: [String], source: String) throws(SettingsError) {
    guard let setting = SettingsTable.setting(named: name) else {
      throw .unknown(name, source: source, line: nil)
    }
    if let wrong = setting.assign(&self, texts) {
      throw SettingsError(source: source, found: wrong.quoted, expected: setting.expected)
    }
  }

  private static func parse(bytes: [UInt8], name: String) throws(SettingsError) -> Settings {
    let root: YAMLNode?
    do throws(YAMLProblem) {
      root = try YAMLNode.parse(bytes)
    } catch {
      throw SettingsError(source: name, line: error.line, found: error.found, expected: error.expected)
    }
    var reader = SettingsReader(file: name)
    if let root { try reader.read(root) }
    return reader.settings
  }

  private static func readFile(_ path: String) throws(SettingsError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .unreadable(path, errno) }
    defer { _ = close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .unreadable(path, errno) }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= fileLimit else {
        throw SettingsError(
          source: path, found: "more than \(SettingText.formatSize(UInt64(fileLimit)))", expected: "a settings file")
      }
    }
  }
}

/// Walks a YAML document and puts what it says into settings.
private struct SettingsReader {
  let file: String
  var settings = Settings()
  /// Where each setting stands, for errors that are found only when all are read.
  private var lines: [String: Int] = [:]

  init(file: String) {
    self.file = file
  }

  mutating func read(_ root: YAMLNode) throws(SettingsError) {
    for pair in try pairs(of: root, section: nil) {
      if SettingsTable.sections.contains(where: { $0.name == pair.key }) {
        for member in try pairs(of: pair.value, section: pair.key) {
          try read(member, name: "\(pair.key).\(member.key)")
        }
      } else {
        try read(pair, name: pair.key)
      }
    }
    if let problem = settings.contradiction {
      let line = problem.setting.flatMap { lines[$0] } ?? problem.others.compactMap { lines[$0] }.first
      throw problem.error(source: file, line: line)
    }
  }

  private func pairs(of node: YAMLNode, section: String?) throws(SettingsError) -> [YAMLNode.Pair] {
    switch node.content {
    case .mapping(let pairs): return pairs
    // A section of which every setting is commented out.
    case .null: return []
    case .scalar, .sequence:
      throw SettingsError(
        source: file, line: node.line, setting: section, found: node.inWords, expected: "settings, each NAME: VALUE")
    }
  }

  private mutating func read(_ pair: YAMLNode.Pair, name: String) throws(SettingsError) {
    guard let setting = SettingsTable.setting(named: name) else {
      throw .unknown(name, source: file, line: pair.line)
    }
    func refusal(_ found: String, _ line: Int) -> SettingsError {
      let expected = setting.isList ? "a list, each \(setting.expected)" : setting.expected
      return SettingsError(source: file, line: line, setting: name, found: found, expected: expected)
    }
    var texts: [(text: String, line: Int)] = []
    switch pair.value.content {
    case .scalar(let text):
      texts = [(text, pair.value.line)]
    case .sequence(let members) where setting.isList:
      for member in members {
        guard case .scalar(let text) = member.content else { throw refusal(member.inWords, member.line) }
        texts.append((text, member.line))
      }
    case .null, .sequence, .mapping:
      throw refusal(pair.value.inWords, pair.line)
    }
    if let wrong = setting.assign(&settings, texts.map(\.text)) {
      throw refusal(wrong.quoted, texts.first { $0.text == wrong }?.line ?? pair.line)
    }
    lines[name] = pair.line
  }
}

extension YAMLNode {
  /// What the node is, for "found …".
  fileprivate var inWords: String {
    switch content {
    case .scalar(let text): text.quoted
    case .null: "nothing"
    case .sequence: "a list"
    case .mapping: "a section"
    }
  }
}

extension String {
  /// In quotation marks, without control characters, and cut where it is long.
  fileprivate var quoted: String {
    let printable = unicodeScalars.prefix(60).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : String($0) }
    return "\"\(printable.joined())\(unicodeScalars.count > 60 ? "…" : "")\""
  }
}

extension SettingsError {
  fileprivate static func unreadable(_ path: String, _ code: CInt) -> SettingsError {
    let reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
    return SettingsError(source: path, found: reason, expected: "a settings file")
  }

  fileprivate static func unknown(_ name: String, source: String, line: Int?) -> SettingsError {
    let expected = NearestName.suggestion(for: name).map { "perhaps \($0)" } ?? "a known setting"
    return SettingsError(source: source, line: line, setting: name, found: "an unknown setting", expected: expected)
  }
}
