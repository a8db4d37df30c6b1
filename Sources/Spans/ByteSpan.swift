// A half-open run of bytes.

/// The bytes `[lower, upper)` of one representation, counted from its first byte.
///
/// Half-open, so that a span's end is the next one's beginning; an empty span has a place but no bytes.
public struct ByteSpan: Hashable, Sendable {
  /// The first byte.
  public let lower: UInt64
  /// One past the last byte.
  public let upper: UInt64

  /// The bytes `[lower, upper)`; `lower` must not exceed `upper`.
  public init(_ lower: UInt64, _ upper: UInt64) {
    precondition(lower <= upper, "a span ends before it begins")
    self.lower = lower
    self.upper = upper
  }

  /// How many bytes it covers.
  public var count: UInt64 { upper - lower }

  /// Whether it covers no byte.
  public var isEmpty: Bool { lower == upper }

  /// The first `count` bytes of it, or all where it has fewer.
  public func prefix(_ count: UInt64) -> ByteSpan { ByteSpan(lower, lower + min(count, self.count)) }

  /// Whether the byte at `position` is one of its bytes.
  public func contains(_ position: UInt64) -> Bool {
    lower <= position && position < upper
  }

  /// Whether every byte of `other` is one of its bytes; an empty span is contained in every span.
  public func contains(_ other: ByteSpan) -> Bool {
    other.isEmpty || (lower <= other.lower && other.upper <= upper)
  }

  /// The bytes both cover, or nil when they share none.
  public func intersection(_ other: ByteSpan) -> ByteSpan? {
    let from = max(lower, other.lower)
    let to = min(upper, other.upper)
    return from < to ? ByteSpan(from, to) : nil
  }

  /// Whether they share at least one byte.
  public func overlaps(_ other: ByteSpan) -> Bool {
    max(lower, other.lower) < min(upper, other.upper)
  }
}

extension ByteSpan: CustomStringConvertible {
  /// `[lower, upper)`.
  public var description: String { "[\(lower), \(upper))" }
}
