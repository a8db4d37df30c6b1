// A large gap cut into pieces, for several connections that bring it side by side.

/// How long the next piece of a gap is, and which part of the gaps is still free.
///
/// Pieces are laid from the front, where the reader is, and become shorter toward the end, so that the connections
/// finish at about the same time and no piece has to be cut while it is on its way.
public enum Splitting {
  /// Pieces end at multiples of this many bytes, where extents end too.
  public static let grain: UInt64 = 256 << 10
  /// No piece is longer, in bytes.
  public static let longest: UInt64 = 16 << 20
  /// A connection is to be busy with a piece for about so many seconds.
  static let seconds = 2.0

  /// The first piece of `gap`, which must not be empty.
  ///
  /// - Parameter missing: the bytes that all connections still have to bring.
  /// - Parameter rate: what one connection brings, in bytes per second; nil where that is not known.
  public static func piece(of gap: ByteSpan, missing: UInt64, connections: Int, rate: Double?) -> ByteSpan {
    var length = min(longest, missing / UInt64(2 * max(1, connections)))
    if let rate { length = min(length, UInt64(min(rate * seconds, Double(longest)))) }
    let (end, overflow) = gap.lower.addingReportingOverflow(max(length, grain))
    guard !overflow else { return gap }
    let aligned = max(end / grain, gap.lower / grain + 1) * grain
    // A crumb behind it would cost a request of its own.
    return aligned.saturatingAdd(grain / 2) >= gap.upper ? gap : ByteSpan(gap.lower, aligned)
  }

  /// The first run of bytes of `gaps` (ascending) that is in none of `taken`; nil where there is none.
  public static func firstFree(of gaps: [ByteSpan], without taken: some Sequence<ByteSpan>) -> ByteSpan? {
    let taken = SpanSet(taken)
    return gaps.lazy.compactMap { taken.firstGap(in: $0) }.first
  }
}

extension UInt64 {
  /// The sum, or the largest value where it does not fit.
  public func saturatingAdd(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
