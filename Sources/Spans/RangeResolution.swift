// A Range field's byte ranges against a representation of known length.
public import HTTPMessage

/// How many and what kind of ranges of one request are answered as asked (RFC 9110 §14.2, §17.15).
public struct RangeLimits: Equatable, Sendable {
  /// The most ranges of one request.
  public var count: Int
  /// The most ranges that may cover one byte; §14.2 lets a server refuse "more than two overlapping ranges".
  public var overlap: Int
  /// The most ranges that may begin before the one in front of them ("many small ranges not in ascending order").
  public var descents: Int

  /// Limits of its own.
  public init(count: Int, overlap: Int, descents: Int) {
    self.count = count
    self.overlap = overlap
    self.descents = descents
  }

  /// Room for what players, readers of archives and resuming downloads ask.
  public static let standard = RangeLimits(count: 100, overlap: 2, descents: 20)
}

/// What a Range field asks of a representation whose length is known.
public enum RangeResolution: Equatable, Sendable {
  /// There is nothing to cut: no usable range, or one that is answered with the whole (a suffix of no bytes' length).
  case whole
  /// These spans, none empty, in the order they were asked.
  case spans([ByteSpan])
  /// No range begins within the representation: 416 (RFC 9110 §15.5.17).
  case unsatisfiable
  /// Too many or absurdly overlapping ranges: the field is ignored and the whole is sent (RFC 9110 §14.2).
  case refused

  /// Resolves `ranges` as RFC 9110 §14.1.2 says: ends beyond the last byte are cut, ranges beyond it are left out.
  public static func resolve(
    _ ranges: [ByteRange], total: UInt64, limits: RangeLimits = .standard
  ) -> RangeResolution {
    guard !ranges.isEmpty else { return .whole }
    guard ranges.count <= limits.count else { return .refused }
    let spans = ranges.compactMap { span(of: $0, total: total) }
    guard !spans.isEmpty else {
      // §14.1.2: of a representation of length zero a suffix is the only satisfiable form, and no Content-Range
      // can name it, so the whole (nothing) is the answer.
      let isSatisfiable = ranges.contains { if case .suffix(let count) = $0 { count > 0 } else { false } }
      return isSatisfiable ? .whole : .unsatisfiable
    }
    // One range alone cannot be silly.
    guard spans.count > 1 else { return .spans(spans) }
    guard descents(spans) <= limits.descents, deepestOverlap(spans) <= limits.overlap else { return .refused }
    return .spans(spans)
  }

  /// What one range comes to, cut at the last byte; nil where that is nothing.
  public static func span(of range: ByteRange, total: UInt64) -> ByteSpan? {
    switch range {
    case .bounded(let first, let last):
      first <= last && first < total ? ByteSpan(first, last < total ? last + 1 : total) : nil
    case .from(let first):
      first < total ? ByteSpan(first, total) : nil
    case .suffix(let count):
      count > 0 && total > 0 ? ByteSpan(total - min(count, total), total) : nil
    }
  }

  private static func descents(_ spans: [ByteSpan]) -> Int {
    zip(spans, spans.dropFirst()).count { $1.lower < $0.lower }
  }

  /// The largest number of spans that cover one byte.
  private static func deepestOverlap(_ spans: [ByteSpan]) -> Int {
    let lowers = spans.map(\.lower).sorted()
    let uppers = spans.map(\.upper).sorted()
    var (deepest, closed) = (0, 0)
    for (opened, lower) in lowers.enumerated() {
      while uppers[closed] <= lower { closed += 1 }
      deepest = max(deepest, opened + 1 - closed)
    }
    return deepest
  }
}
