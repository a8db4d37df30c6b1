// A table of results, as text that is Markdown as well.
import Glibc

/// Prints rows under a title, columns aligned, the first to the left.
struct Table: Codable {
  let title: String
  private var rows: [[String]]

  init(_ title: String, _ columns: [String]) {
    self.title = title
    rows = [columns]
  }

  mutating func add(_ row: [String]) { rows.append(row) }

  /// Prints it under its title.
  func print() {
    Swift.print("\n\(title)\n")
    for line in markdown { Swift.print(line) }
    // A pipe is read while a long run goes on.
    fflush(nil)
  }

  /// Its lines without the title.
  var markdown: [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    let rule = widths.enumerated().map { $0 == 0 ? String(repeating: "-", count: $1 + 2) : dashes($1) }
    var lines = rows.map { line($0, widths) }
    lines.insert("|" + rule.joined(separator: "|") + "|", at: 1)
    return lines
  }

  private func dashes(_ width: Int) -> String { String(repeating: "-", count: width + 1) + ":" }

  private func line(_ row: [String], _ widths: [Int]) -> String {
    let cells = row.enumerated().map { index, cell in
      let padding = String(repeating: " ", count: widths[index] - cell.count)
      return index == 0 ? cell + padding : padding + cell
    }
    return "| " + cells.joined(separator: " | ") + " |"
  }
}

/// The middle value; for an even count the upper one of the two. Nil of nothing.
func median<Value: Comparable>(_ values: [Value]) -> Value? {
  values.isEmpty ? nil : values.sorted()[values.count / 2]
}

/// A number with so many digits behind the point.
func text(_ value: Double, digits: Int = 1) -> String {
  var scale = 1.0
  for _ in 0..<digits { scale *= 10 }
  let scaled = Int((value * scale).rounded())
  guard digits > 0 else { return "\(scaled)" }
  let fraction = "\(abs(scaled) % Int(scale))"
  let zeros = String(repeating: "0", count: digits - fraction.count)
  return "\(scaled < 0 ? "-" : "")\(abs(scaled) / Int(scale)).\(zeros)\(fraction)"
}
