// A set of bytes, kept as the spans that cover it.

/// A set of byte positions as sorted, disjoint spans that do not touch each other.
///
/// Look-ups are a binary search; a change moves only the spans behind it.
public struct SpanSet: Equatable, Sendable {
  /// The first span, which most sets have no more than: it needs no memory beside the set.
  public private(set) var first: ByteSpan?

  /// The spans behind the first, in ascending order, with at least one absent byte between any two.
  private var others: [ByteSpan] = []

  /// How many bytes are in the set.
  public private(set) var totalBytes: UInt64 = 0

  /// The empty set.
  public init() {}

  /// The union of `spans`, in any order.
  public init(_ spans: some Sequence<ByteSpan>) {
    for span in spans { insert(span) }
  }

  /// The spans in ascending order, with at least one absent byte between any two.
  public var spans: [ByteSpan] { (first.map { [$0] } ?? []) + others }

  /// Calls `body` with each span, in ascending order.
  public func forEach(_ body: (ByteSpan) -> Void) {
    first.map(body)
    others.forEach(body)
  }

  /// The last span; nil in an empty set.
  public var last: ByteSpan? { others.last ?? first }

  /// How many spans the set consists of.
  public var count: Int { first == nil ? 0 : others.count + 1 }

  /// Whether the set has no byte.
  public var isEmpty: Bool { first == nil }

  /// Adds the bytes of `span`; returns how many of them were not in the set.
  @discardableResult
  public mutating func insert(_ span: ByteSpan) -> UInt64 {
    guard !span.isEmpty else { return 0 }
    // Spans that merely touch are taken in as well: the set stays coalesced.
    let start = firstIndex { $0.upper >= span.lower }
    var end = start
    var (lower, upper) = (span.lower, span.upper)
    var swallowed: UInt64 = 0
    while let present = self[end], present.lower <= span.upper {
      lower = min(lower, present.lower)
      upper = max(upper, present.upper)
      swallowed += present.count
      end += 1
    }
    let merged = ByteSpan(lower, upper)
    replace(start..<end, with: merged)
    let added = merged.count - swallowed
    totalBytes += added
    return added
  }

  /// Takes the bytes of `span` out; returns how many of them were in the set.
  @discardableResult
  public mutating func remove(_ span: ByteSpan) -> UInt64 {
    guard !span.isEmpty else { return 0 }
    let start = firstIndex { $0.upper > span.lower }
    var end = start
    var removed: UInt64 = 0
    var (before, behind): (ByteSpan?, ByteSpan?)
    while let present = self[end], present.lower < span.upper {
      removed += min(present.upper, span.upper) - max(present.lower, span.lower)
      if present.lower < span.lower { before = ByteSpan(present.lower, span.lower) }
      if present.upper > span.upper { behind = ByteSpan(span.upper, present.upper) }
      end += 1
    }
    replace(start..<end, with: before ?? behind)
    if before != nil, let behind { replace((start + 1)..<(start + 1), with: behind) }
    totalBytes -= removed
    return removed
  }

  /// Whether every byte of `span` is in the set; true for an empty span.
  public func contains(_ span: ByteSpan) -> Bool {
    guard !span.isEmpty else { return true }
    return present(at: span.lower).map { span.upper <= $0.upper } ?? false
  }

  /// The whole span of the set that the byte at `position` belongs to, or nil when it is absent.
  public func present(at position: UInt64) -> ByteSpan? {
    guard let span = self[firstIndex { $0.upper > position }], span.lower <= position else { return nil }
    return span
  }

  /// The first run of bytes of `span` that are not in the set, or nil when all are.
  public func firstGap(in span: ByteSpan) -> ByteSpan? {
    gaps(in: span, limit: 1).first
  }

  /// At most `limit` runs of bytes of `span` that are not in the set, in ascending order.
  public func gaps(in span: ByteSpan, limit: Int = .max) -> [ByteSpan] {
    var found: [ByteSpan] = []
    var position = span.lower
    var index = firstIndex { $0.upper > span.lower }
    while position < span.upper, found.count < limit {
      let next = self[index] ?? ByteSpan(span.upper, span.upper)
      if next.lower > position { found.append(ByteSpan(position, min(next.lower, span.upper))) }
      position = max(next.upper, position)
      index += 1
    }
    return found
  }

  /// The parts of the set that lie in `span`, in ascending order.
  public func intersection(_ span: ByteSpan) -> [ByteSpan] {
    var found: [ByteSpan] = []
    var index = firstIndex { $0.upper > span.lower }
    while let common = self[index]?.intersection(span) {
      found.append(common)
      index += 1
    }
    return found
  }

  /// The first index whose span satisfies `isBehind`, which must be false and then true along the array.
  private func firstIndex(where isBehind: (ByteSpan) -> Bool) -> Int {
    guard let first, !isBehind(first) else { return 0 }
    var low = 0
    var high = others.count
    while low < high {
      let middle = (low + high) / 2
      if isBehind(others[middle]) { high = middle } else { low = middle + 1 }
    }
    return low + 1
  }

  /// Puts a span, or none, in the place of those in `range`.
  private mutating func replace(_ range: Range<Int>, with span: ByteSpan?) {
    if range.lowerBound > 0 {
      let range = (range.lowerBound - 1)..<(range.upperBound - 1)
      if let span {
        others.replaceSubrange(range, with: CollectionOfOne(span))
      } else {
        others.removeSubrange(range)
      }
    } else if range.isEmpty {
      guard let span else { return }
      if let first { others.insert(first, at: 0) }
      first = span
    } else {
      others.removeFirst(range.count - 1)
      first = span ?? (others.isEmpty ? nil : others.removeFirst())
    }
  }

  /// The span at an index from 0 on; nil behind the last one.
  private subscript(index: Int) -> ByteSpan? {
    guard index > 0 else { return first }
    return index <= others.count ? others[index - 1] : nil
  }
}
