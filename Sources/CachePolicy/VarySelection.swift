// Which of the stored responses of a cache key answers a request.
public import HTTPMessage

extension StoredResponse {
  /// Whether the request has every field that Vary nominates as the original request had it (RFC 9111 §4.1).
  public func matches(_ request: Fields) -> Bool {
    !fields.hasListMember(.vary, "*") && nominated.allSatisfy { $0.matches(request) }
  }
}

/// The stored responses of one cache key that a request selects, best first.
///
/// Those with Vary come before those without, which resources often send by mistake (RFC 9111 §4.1); then the most
/// recent by Date, and by time of receipt where dates are equal (§4).
public func matchingVariants(_ request: Fields, among stored: [StoredResponse]) -> [Int] {
  stored.indices.filter { stored[$0].matches(request) }.sorted { left, right in
    let (left, right) = (stored[left], stored[right])
    if left.nominated.isEmpty != right.nominated.isEmpty { return right.nominated.isEmpty }
    return left.isMoreRecent(than: right)
  }
}

/// The one stored response of a cache key that a request selects; nil if none matches.
public func selectVariant(_ request: Fields, among stored: [StoredResponse]) -> Int? {
  matchingVariants(request, among: stored).first
}

extension StoredResponse {
  /// By Date, then by time of receipt.
  func isMoreRecent(than other: StoredResponse) -> Bool {
    date != other.date ? date > other.date : responseTime > other.responseTime
  }
}
