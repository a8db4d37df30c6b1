// Which status codes are cacheable, and on what terms.

/// What a response's status code alone says about storing it.
enum StatusRules {
  /// Statuses that may be reused without explicit freshness (RFC 9110 §15.1; RFC 7725 §3 for 451).
  static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 451, 501: true
    default: false
    }
  }

  /// Statuses whose caching-related behaviour is implemented, as `must-understand` demands (RFC 9111 §3).
  static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 200...206, 300...303, 307, 308, 400...406, 408...411, 413...415, 421, 422, 451, 500...505: true
    default: false
    }
  }

  /// Statuses that are never stored, whatever the response says.
  static func isNeverStored(_ status: Int) -> Bool {
    switch status {
    // Not final, or about this connection only (RFC 9111 §3).
    case ..<200, 1000...: true
    // An answer about stored responses, not one itself (RFC 9111 §4.3.3).
    case 304: true
    // Answers to conditions and ranges of this request, which are not part of the key (RFC 9110 §15.5.13, §15.5.17).
    case 412, 416, 417: true
    // Between this proxy and its next hop (RFC 9110 §15.5.8).
    case 407: true
    // "MUST NOT be stored by a cache" (RFC 6585 §3–§6).
    case 428, 429, 431, 511: true
    default: false
    }
  }
}
