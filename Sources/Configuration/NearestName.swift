// The known setting that a mistyped name was most likely meant to be.

enum NearestName {
  /// The setting, or section of settings, whose name is nearest to `name`, if any is near.
  ///
  /// A setting of the right short name in another section counts as near: that is the commonest slip.
  static func suggestion(for name: String) -> String? {
    let short = name.split(separator: ".").last.map(String.init) ?? name
    let known = SettingsTable.all.map(\.name) + SettingsTable.all.compactMap(\.section)
    let nearest = known.map { (name: $0, edits: edits(from: name, to: $0)) }.min { $0.edits < $1.edits }
    if let nearest, nearest.edits <= max(2, short.count / 4) { return nearest.name }
    return SettingsTable.all.first { $0.shortName == short }?.name
  }

  /// How many bytes must be inserted, removed or replaced (Levenshtein).
  static func edits(from: String, to: String) -> Int {
    let target = Array(to.utf8)
    var row = Array(0...target.count)
    // Names are short; a long one is no slip of a known one, and must not cost time.
    for (index, byte) in from.utf8.prefix(64).enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in target.indices {
        let replaced = diagonal + (byte == target[column] ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
      }
    }
    return row[target.count]
  }
}
