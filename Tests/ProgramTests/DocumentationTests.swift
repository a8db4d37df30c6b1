// What the documents say of the settings agrees with the documented settings file, which the program itself accepts.
import TestSupport
import Testing

@Suite struct DocumentationTests {
  /// The settings of conf/larder.yaml with their defaults: `section.name`, in order.
  private func documentedSettings() throws -> [(name: String, value: String)] {
    var section = ""
    return try readText(repository("conf/larder.yaml")).split(separator: "\n").compactMap { line in
      let isIndented = line.hasPrefix(" ")
      let text = line.drop { $0 == " " }
      guard !text.hasPrefix("#"), let colon = text.firstIndex(of: ":") else { return nil }
      let name = text[..<colon]
      let value = text[text.index(after: colon)...].drop { $0 == " " }
      if !isIndented { section = "" }
      if value.isEmpty {
        section = name + "."
        return nil
      }
      return (section + name, String(value))
    }
  }

  @Test func theTableInTheReadmeHasEverySettingWithItsDefault() throws {
    let rows = try readText(repository("README.md")).split(separator: "\n").compactMap { line -> (String, String)? in
      let cells = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
      guard line.hasPrefix("| `"), cells.count == 3, cells[1].hasPrefix("`") else { return nil }
      return (cells[0].replacing("`", with: ""), cells[1].replacing("`", with: ""))
    }
    let settings = try documentedSettings()
    #expect(settings.count > 40)
    #expect(rows.map(\.0) == settings.map(\.name))
    #expect(rows.map(\.1) == settings.map(\.value))
  }
}
