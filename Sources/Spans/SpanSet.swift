// A set of bytes, kept as the spans that cover it.

/// A set of byte positions as sorted, disjoint spans that do not touch each other.
///
/// Look-ups are a binary search; a change moves only the spans behind it.
public struct SpanSet: Equatable, Sendable {
  /// The spans in ascending order, with at least one absent byte between any two.
  public private(set) var spans: [ByteSpan] = []

  /// How many bytes are in the set.
  public private(set) var totalBytes: UInt64 = 0

  /// The empty set.
  public init() {}

  /// The union of `spans`, in any order.
  public init(_ spans: some Sequence<ByteSpan>) {
    for span in spans { insert(span) }
  }

  /// How many spans the set consists of.
  public var count: Int { spans.count }

  /// Whether the set has no byte.
  public var isEmpty: Bool { spans.isEmpty }

  /// Adds the bytes of `span`; returns how many of them were not in the set.
  @discardableResult
  public mutating func insert(_ span: ByteSpan) -> UInt64 {
    guard !span.isEmpty else { return 0 }
    // Spans that merely touch are taken in as well: the set stays coalesced.
    let first = firstIndex { $0.upper >= span.lower }
    var end = first
    var (lower, upper) = (span.lower, span.upper)
    var swallowed: UInt64 = 0
    while end < spans.count, spans[end].lower <= span.upper {
      lower = min(lower, spans[end].lower)
      upper = max(upper, spans[end].upper)
      swallowed += spans[end].count
      end += 1
    }
    let merged = ByteSpan(lower, upper)
    if end == first + 1 {
      spans[first] = merged
    } else {
      spans.replaceSubrange(first..<end, with: CollectionOfOne(merged))
    }
    let added = merged.count - swallowed
    totalBytes += added
    return added
  }

  /// Takes the bytes of `span` out; returns how many of them were in the set.
  @discardableResult
  public mutating func remove(_ span: ByteSpan) -> UInt64 {
    guard !span.isEmpty else { return 0 }
    let first = firstIndex { $0.upper > span.lower }
    var end = first
    var removed: UInt64 = 0
    var kept: [ByteSpan] = []
    while end < spans.count, spans[end].lower < span.upper {
      let present = spans[end]
      removed += min(present.upper, span.upper) - max(present.lower, span.lower)
      if present.lower < span.lower { kept.append(ByteSpan(present.lower, span.lower)) }
      if present.upper > span.upper { kept.append(ByteSpan(span.upper, present.upper)) }
      end += 1
    }
    spans.replaceSubrange(first..<end, with: kept)
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
    let index = firstIndex { $0.upper > position }
    guard index < spans.count, spans[index].lower <= position else { return nil }
    return spans[index]
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
      let next = index < spans.count ? spans[index] : ByteSpan(span.upper, span.upper)
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
    while index < spans.count, let common = spans[index].intersection(span) {
      found.append(common)
      index += 1
    }
    return found
  }

  /// The first index whose span satisfies `isBehind`, which must be false and then true along the array.
  private func firstIndex(where isBehind: (ByteSpan) -> Bool) -> Int {
    var low = 0
    var high = spans.count
    while low < high {
      let middle = (low + high) / 2
      if isBehind(spans[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
