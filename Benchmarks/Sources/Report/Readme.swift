// Writes measured tables into a page, so that none is copied by hand.
import TestSupport

/// A page with places for tables: `<!-- results: NAME -->` to `<!-- end of results -->`.
enum Readme {
  private static let beginning = "<!-- results: "
  private static let end = "<!-- end of results -->"

  /// Puts each table that the results have, and the machine under `machine`, in its place; the rest of the page stays.
  static func rewrite(_ path: String, with results: Results) throws {
    var lines: [Substring] = []
    var isSkipping = false
    let page = try readText(path)
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line == end { isSkipping = false }
      if !isSkipping { lines.append(line) }
      guard line.hasPrefix(beginning), line.hasSuffix(" -->") else { continue }
      let name = String(line.dropFirst(beginning.count).dropLast(" -->".count))
      guard let content = content(name, results) else { continue }
      lines.append("")
      lines += content.map { $0[...] } + [""]
      isSkipping = true
    }
    guard !isSkipping else { throw HarnessError("\(path): a place for results has no end") }
    try writeFile(path, lines.joined(separator: "\n"))
  }

  private static func content(_ name: String, _ results: Results) -> [String]? {
    if name == "machine" { return [results.machine.description + "."] }
    return results.tables[name].map { ["\($0.title):", ""] + $0.markdown }
  }
}
