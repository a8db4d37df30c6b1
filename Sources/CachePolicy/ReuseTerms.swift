// What a stored response says of its own reuse, read once: none of it depends on the moment or on who asks.
public import HTTPMessage

/// The directives of a stored response, its freshness lifetime and its age on arrival (RFC 9111 §4.2, §5.2.2).
public final class ReuseTerms: Sendable {
  /// What they were read by.
  let rules: CacheRules
  let control: ResponseCacheControl
  private let lifetime: Int64
  private let source: Freshness.Source
  private let correctedInitialAge: Int64
  private let responseTime: Timestamp

  public convenience init(_ stored: StoredResponse, rules: CacheRules = .standard) {
    self.init(stored, ResponseCacheControl(stored.fields, rules), rules: rules)
  }

  /// Where the directives have been read already.
  init(_ stored: StoredResponse, _ control: ResponseCacheControl, rules: CacheRules) {
    self.rules = rules
    self.control = control
    let date = stored.date
    (lifetime, source) = freshnessLifetime(of: stored, control, date: date, rules: rules)
    correctedInitialAge = CachePolicy.correctedInitialAge(of: stored, date: date)
    responseTime = stored.responseTime
  }

  /// Age and lifetime at `now`.
  public func freshness(at now: Timestamp) -> Freshness {
    // A clock that was put back must not make a response younger than it was when it came.
    let residentTime = limited(now - responseTime)
    return Freshness(
      age: min(correctedInitialAge + residentTime, DeltaSeconds.limit), lifetime: lifetime, source: source)
  }
}
