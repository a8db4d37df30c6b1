// CachePolicy: what may be stored, when it may be reused, and what a client's conditions come to, as pure decisions.

/// What RFC 9111 leaves to a cache's own judgement about freshness (§4.2.2).
public struct FreshnessRules: Equatable, Sendable {
  /// The share of the time between Last-Modified and Date that counts as fresh when nothing is said; 0…1.
  public var heuristicFraction: Double
  /// The longest heuristic lifetime, in seconds.
  public var heuristicMaximum: Int64

  public init(heuristicFraction: Double, heuristicMaximum: Int64) {
    self.heuristicFraction = heuristicFraction
    self.heuristicMaximum = heuristicMaximum
  }

  /// 10 %, which RFC 9111 §4.2.2 calls typical, and at most a day.
  public static let standard = FreshnessRules(heuristicFraction: 0.10, heuristicMaximum: 86_400)
}
