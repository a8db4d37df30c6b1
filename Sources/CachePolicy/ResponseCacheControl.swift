// What the Cache-Control field of a response says.
public import HTTPMessage

/// The response directives of RFC 9111 §5.2.2, RFC 5861 and RFC 8246.
///
/// Of several values for one directive the first counts, a value that is not a number counts as 0, and directives
/// that conflict are all kept, so that whoever decides can honour the most restrictive (RFC 9111 §4.2.1).
public struct ResponseCacheControl: Equatable, Sendable {
  /// Seconds, at most 2^31; 0 for a value that is not a number.
  public private(set) var maxAge: Int64?
  /// The same for shared caches.
  public private(set) var sMaxAge: Int64?
  public private(set) var noStore = false
  public private(set) var noCache: FieldNameArgument?
  public private(set) var isPrivate: FieldNameArgument?
  public private(set) var isPublic = false
  public private(set) var mustRevalidate = false
  public private(set) var proxyRevalidate = false
  public private(set) var mustUnderstand = false
  public private(set) var noTransform = false
  /// RFC 8246.
  public private(set) var immutable = false
  /// RFC 5861 §3; nil for a value that is not a number.
  public private(set) var staleWhileRevalidate: Int64?
  /// RFC 5861 §4; nil for a value that is not a number.
  public private(set) var staleIfError: Int64?
  /// Whether there is a quote that does not delimit a whole argument: what follows it may be text or a directive.
  public private(set) var isUnreadable = false

  /// Whether the directives come from a targeted field, so that Cache-Control and Expires mean nothing (RFC 9213 §2.2).
  public private(set) var isTargeted = false

  public init(_ fields: Fields, _ rules: CacheRules = .standard) {
    for name in rules.targetedFields where fields.contains(name) {
      guard let value = fields.combined(name), CacheDirective.forEach(targeted: value, { add($0) }) else { continue }
      isTargeted = true
      return
    }
    CacheDirective.forEach(fields) { add($0) }
  }

  /// RFC 9111 §5.2.3: directives that are not known are ignored.
  private mutating func add(_ directive: CacheDirective) {
    if directive.isUnreadable { isUnreadable = true }
    if directive.isNamed("max-age") {
      maxAge = maxAge ?? directive.seconds ?? 0
    } else if directive.isNamed("s-maxage") {
      sMaxAge = sMaxAge ?? directive.seconds ?? 0
    } else if directive.isNamed("no-store") {
      noStore = true
    } else if directive.isNamed("no-cache") {
      noCache = noCache?.joined(with: directive.fieldNames) ?? directive.fieldNames
    } else if directive.isNamed("private") {
      isPrivate = isPrivate?.joined(with: directive.fieldNames) ?? directive.fieldNames
    } else if directive.isNamed("public") {
      isPublic = true
    } else if directive.isNamed("must-revalidate") {
      mustRevalidate = true
    } else if directive.isNamed("proxy-revalidate") {
      proxyRevalidate = true
    } else if directive.isNamed("must-understand") {
      mustUnderstand = true
    } else if directive.isNamed("no-transform") {
      noTransform = true
    } else if directive.isNamed("immutable") {
      immutable = true
    } else if directive.isNamed("stale-while-revalidate") {
      staleWhileRevalidate = staleWhileRevalidate ?? directive.seconds
    } else if directive.isNamed("stale-if-error") {
      staleIfError = staleIfError ?? directive.seconds
    }
  }

  /// Whether the whole response must be validated before each reuse.
  ///
  /// `no-cache` with field names asks it only where it names a field that reuse itself depends on; the others are
  /// simply not stored (RFC 9111 §5.2.2.4). What a later response has forbidden to store is not reused either.
  public var requiresValidation: Bool { ResponseCacheControl.concernsAll(noCache) || forbidsStoring }

  /// Whether no cache may store the response: `no-store`, which `must-understand` overrides (RFC 9111 §5.2.2.3).
  public var forbidsStoring: Bool { noStore && !mustUnderstand }

  /// Whether a shared cache may not store the response: `private`, or with field names that reuse depends on.
  public var forbidsSharedStoring: Bool { ResponseCacheControl.concernsAll(isPrivate) }

  /// The fields that may not be stored although the response may (RFC 9111 §3.1).
  public var unstorableFields: [FieldName] {
    guard noCache != nil || isPrivate != nil else { return [] }
    return [noCache, isPrivate].flatMap { argument -> [FieldName] in
      switch argument {
      case .fields(let names): names
      case .unqualified, nil: []
      }
    }
  }

  /// Whether stale reuse is forbidden whatever the client allows (RFC 9111 §4.2.4; §5.2.2.10 for s-maxage).
  public var forbidsStaleReuse: Bool {
    requiresValidation || mustRevalidate || proxyRevalidate || sMaxAge != nil
  }

  private static func concernsAll(_ argument: FieldNameArgument?) -> Bool {
    switch argument {
    case .unqualified: true
    case .fields(let names): names.contains { essential.contains($0) }
    case nil: false
    }
  }

  /// Fields without which a stored response would be reused wrongly.
  private static let essential: Set<FieldName> = [
    .cacheControl, .expires, .date, .age, .vary, .contentType, .contentEncoding, .contentLength, .contentRange,
  ]
}
