// In which form a stored response is served: with its content coding as it is stored, taken off, or put on.

import CachePolicy
import Configuration
import HTTPMessage
import Store

extension CachedRequest {
  /// The form of a stored response that this client gets.
  func form(of entry: StoredEntry) -> ServedForm {
    // Most often there is nothing to choose.
    guard context.codingRules.encodes || entry.response.fields.contains(.contentEncoding) else { return .stored }
    return servedForm(
      of: entry.response, for: request, isComplete: entry.representation.isComplete,
      length: entry.representation.total,
      rules: context.codingRules,
      cacheRules: context.rules)
  }
}

extension ServedForm {
  /// What Cache-Status says of it.
  var detail: String? {
    switch self {
    case .stored, .negotiated: nil
    case .decoded: "decoded"
    case .encoded: "encoded"
    }
  }
}
