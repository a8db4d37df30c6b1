// The segments of a representation that are known, by their numbers.

/// Segments by their numbers. The first one, which is the only one of a small body, needs no memory beside the table.
struct SegmentTable {
  private var first: Segment?
  private var others: [UInt64: Segment] = [:]

  var isEmpty: Bool { first == nil && others.isEmpty }

  /// What they count for together among the segments that may be let go of.
  var charge: Int { others.values.reduce(first?.charge ?? 0) { $0 + $1.charge } }

  /// In no particular order.
  var all: [Segment] { Array(others.values) + (first.map { [$0] } ?? []) }

  subscript(number: UInt64) -> Segment? {
    get { number == 0 ? first : others[number] }
    set { if number == 0 { first = newValue } else { others[number] = newValue } }
  }

  /// Changes a segment in its place; nil, and nothing happens, where it is not known.
  @discardableResult
  mutating func change<Result>(_ number: UInt64, _ body: (inout Segment) -> Result) -> Result? {
    guard number == 0 else {
      guard let place = others.index(forKey: number) else { return nil }
      return body(&others.values[place])
    }
    // Taken out meanwhile, so that its extents have one owner and are changed where they are.
    guard var segment = first.take() else { return nil }
    defer { first = segment }
    return body(&segment)
  }

  /// Changes every one of them.
  mutating func changeAll(_ body: (inout Segment) -> Void) {
    change(0, body)
    for place in others.indices { body(&others.values[place]) }
  }
}
