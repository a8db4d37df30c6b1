// CachePolicy: what may be stored, when it may be reused, and what a client's conditions come to, as pure decisions.
public import HTTPMessage

/// What RFC 9111 leaves to a cache, or to whoever runs it.
public struct CacheRules: Equatable, Sendable {
  /// The share of the time between Last-Modified and Date that counts as fresh when nothing is said; 0…1 (§4.2.2).
  public var heuristicFraction: Double
  /// The longest heuristic lifetime, in seconds.
  public var heuristicMaximum: Int64
  /// The response fields that stand in for Cache-Control and Expires, first come first (RFC 9213 §2.2).
  public var targetedFields: [FieldName]
  /// Whether a response with Set-Cookie may be stored. RFC 9111 §7.3 does not forbid it.
  public var storesSetCookie: Bool
  /// How many seconds past its lifetime a response may stand in for an origin that fails, where neither it nor the
  /// request says so (RFC 9111 §4.2.4 allows it by configuration); 0 is never.
  public var staleIfError: Int64

  public init(
    heuristicFraction: Double = 0.10, heuristicMaximum: Int64 = 86_400, targetedFields: [FieldName] = [],
    storesSetCookie: Bool = true, staleIfError: Int64 = 0
  ) {
    self.heuristicFraction = heuristicFraction
    self.heuristicMaximum = heuristicMaximum
    self.targetedFields = targetedFields
    self.storesSetCookie = storesSetCookie
    self.staleIfError = staleIfError
  }

  /// 10 %, which RFC 9111 §4.2.2 calls typical, and at most a day; nothing beyond the letter of the RFC.
  public static let standard = CacheRules()
}
