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
    var spans: [ByteSpan] = []
    var isSatisfiable = false
    for range in ranges {
      switch range {
      case .bounded(let first, let last):
        guard first <= last, first < total else { continue }
        spans.append(ByteSpan(first, last < total ? last + 1 : total))
      case .from(let first):
        guard first < total else { continue }
        spans.append(ByteSpan(first, total))
      case .suffix(let count):
        guard count > 0 else { continue }
        // §14.1.2: of a representation of length zero a suffix is the only satisfiable form, and no Content-Range
        // can name it, so the whole (nothing) is the answer.
        isSatisfiable = true
        guard total > 0 else { continue }
        spans.append(ByteSpan(total - min(count, total), total))
      }
    }
    guard !spans.isEmpty else { return isSatisfiable ? .whole : .unsatisfiable }
    // One range alone cannot be silly.
    guard spans.count > 1 else { return .spans(spans) }
    guard descents(spans) <= limits.descents, deepestOverlap(spans) <= limits.overlap else { return .refused }
    return .spans(spans)
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
