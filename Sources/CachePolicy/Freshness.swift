// How old a response is, and how long it is fresh.
import HTTPMessage

/// Age and freshness lifetime of a response at one moment (RFC 9111 §4.2).
public struct Freshness: Equatable, Sendable {
  /// What the lifetime was taken from.
  public enum Source: String, Sendable {
    case sMaxAge = "s-maxage"
    case maxAge = "max-age"
    case expires = "expires"
    case heuristic = "heuristic"
    /// Nothing was said, and no heuristic applies: the lifetime is 0.
    case unknown = "unknown"
  }

  /// The current age in seconds, 0…2^31 (§4.2.3).
  public var age: Int64
  /// In seconds, 0…2^31 (§4.2.1).
  public var lifetime: Int64
  public var source: Source

  public init(age: Int64, lifetime: Int64, source: Source) {
    self.age = age
    self.lifetime = lifetime
    self.source = source
  }

  /// §4.2: `freshness_lifetime > current_age`.
  public var isFresh: Bool { lifetime > age }

  /// The seconds that are left; negative when stale.
  public var timeToLive: Int64 { lifetime - age }
}

/// The age that a response had when it was received (RFC 9111 §4.2.3).
func correctedInitialAge(of stored: StoredResponse, date: Timestamp) -> Int64 {
  let apparentAge = limited(stored.responseTime - date)
  let responseDelay = limited(stored.responseTime - stored.requestTime)
  return max(apparentAge, receivedAge(stored.fields) + responseDelay)
}

/// The value of Age: the first member counts, and one that is not a number is ignored (RFC 9111 §5.1).
private func receivedAge(_ fields: Fields) -> Int64 {
  guard fields.contains(.age), let first = fields.listMemberBytes(.age).first else { return 0 }
  return DeltaSeconds.parse(first) ?? 0
}

/// Not below 0, and not beyond what sums can hold.
func limited(_ seconds: Int64) -> Int64 {
  min(max(seconds, 0), DeltaSeconds.limit)
}

/// RFC 9111 §4.2.1: the first rule that matches.
func freshnessLifetime(
  of stored: StoredResponse, _ control: ResponseCacheControl, date: Timestamp, rules: CacheRules
) -> (seconds: Int64, source: Freshness.Source) {
  if let seconds = control.sMaxAge { return (seconds, .sMaxAge) }
  if let seconds = control.maxAge { return (seconds, .maxAge) }
  if stored.fields.contains(.expires), !control.isTargeted { return (limited(expires(stored) - date), .expires) }
  guard control.isPublic || StatusRules.isHeuristicallyCacheable(stored.status),
    let lastModified = lastModified(of: stored.fields, now: stored.responseTime)
  else { return (0, .unknown) }
  // §4.2.2. A Last-Modified in the future says nothing about how often the representation changes.
  let unchanged = limited(date - lastModified)
  let share = Int64(Double(unchanged) * rules.heuristicFraction)
  return (min(share, limited(rules.heuristicMaximum)), .heuristic)
}

/// The value of a field that all its lines agree on.
func onlyValue(_ fields: Fields, _ name: FieldName) -> FieldValue? {
  guard let first = fields.first(name) else { return nil }
  return fields.count(of: name) == 1 || fields.all(name).allSatisfy { $0 == first } ? first : nil
}

/// The value of Expires. Anything but one date is in the past (RFC 9111 §5.3), and so are lines that disagree.
private func expires(_ stored: StoredResponse) -> Timestamp {
  let date = onlyValue(stored.fields, .expires).flatMap { HTTPDate.parse($0, now: stored.responseTime) }
  return date ?? Timestamp(seconds: .min)
}

/// The value of Last-Modified; nil unless there is exactly one and it is a date.
func lastModified(of fields: Fields, now: Timestamp) -> Timestamp? {
  onlyValue(fields, .lastModified).flatMap { HTTPDate.parse($0, now: now) }
}
