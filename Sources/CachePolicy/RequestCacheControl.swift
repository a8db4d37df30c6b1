// What the Cache-Control and Pragma fields of a request say.
public import HTTPMessage

/// The request directives of RFC 9111 §5.2.1, and Pragma (§5.4).
///
/// Of several values for one directive the most restrictive counts, and so does the most restrictive reading of a
/// value that is not a number.
public struct RequestCacheControl: Equatable, Sendable {
  /// How much staleness a client accepts.
  public enum MaxStale: Equatable, Sendable {
    case any
    case seconds(Int64)
  }

  /// Seconds, at most 2^31.
  public private(set) var maxAge: Int64?
  /// Seconds, at most 2^31.
  public private(set) var minFresh: Int64?
  public private(set) var maxStale: MaxStale?
  public private(set) var noCache = false
  public private(set) var noStore = false
  public private(set) var noTransform = false
  public private(set) var onlyIfCached = false
  /// RFC 5861 §4; seconds.
  public private(set) var staleIfError: Int64?

  public init(_ fields: Fields) {
    guard fields.contains(anyOf: RequestCacheControl.names) else { return }
    CacheDirective.forEach(fields) { add($0) }
    // §5.4: Pragma was for caches that know no Cache-Control; a client that writes both means Cache-Control.
    if !fields.contains(.cacheControl), fields.hasListMember(.pragma, "no-cache") { noCache = true }
  }

  private static let names = FieldNameSet([.cacheControl, .pragma])

  /// RFC 9111 §5.2.3: directives that are not known are ignored.
  private mutating func add(_ directive: CacheDirective) {
    if directive.isNamed("max-age") {
      maxAge = min(maxAge ?? .max, directive.seconds ?? 0)
    } else if directive.isNamed("min-fresh") {
      minFresh = max(minFresh ?? 0, directive.seconds ?? DeltaSeconds.limit)
    } else if directive.isNamed("max-stale") {
      maxStale = RequestCacheControl.lesser(maxStale, directive)
    } else if directive.isNamed("no-cache") {
      noCache = true
    } else if directive.isNamed("no-store") {
      noStore = true
    } else if directive.isNamed("no-transform") {
      noTransform = true
    } else if directive.isNamed("only-if-cached") {
      onlyIfCached = true
    } else if directive.isNamed("stale-if-error") {
      staleIfError = min(staleIfError ?? .max, directive.seconds ?? 0)
    }
  }

  private static func lesser(_ before: MaxStale?, _ directive: CacheDirective) -> MaxStale {
    guard directive.argument != nil else { return before ?? .any }
    let seconds = directive.seconds ?? 0
    switch before {
    case .seconds(let earlier): return .seconds(min(earlier, seconds))
    case .any, nil: return .seconds(seconds)
    }
  }
}
