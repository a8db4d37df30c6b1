// A stored response together with its representation.
public import CachePolicy
public import HTTPMessage
import Synchronization

/// One variant stored under a cache key. A snapshot: changes make new entries.
public final class StoredEntry: Sendable {
  /// The key it is stored under.
  public let key: CacheKey
  /// Status, fields and times as last stored or validated.
  public let response: StoredResponse
  /// Where its bytes are.
  public let representation: Representation
  /// Whether what is missing of it can be asked for, and combined with what is there.
  public let isResumable: Bool
  /// Stands for the nominated fields and their values; two entries of a key with the same one replace each other.
  let variant: UInt64
  /// The field lines that all responses made of it share, ready to be sent: without those that say how old it is, how
  /// long the body is and how the connection goes on, and with `Accept-Ranges` where parts can be had.
  public let lines: [UInt8]
  /// Whether any request may have it, whatever its fields.
  private let isInvariant: Bool
  private let knownTerms: Mutex<ReuseTerms?>

  init(key: CacheKey, response: StoredResponse, representation: Representation, terms: ReuseTerms? = nil) {
    knownTerms = Mutex(terms)
    self.key = key
    self.response = response
    self.representation = representation
    variant = ResponseRecord.variant(of: response)
    isInvariant = !response.fields.contains(.vary) && response.nominated.isEmpty
    let shared = response.fields.serialized(without: Self.ownOfEach)
    isResumable = response.isResumable(under: representation.validator)
    let addsRanges = isResumable && !response.fields.contains(.acceptRanges)
    lines = addsRanges ? shared + Self.acceptRanges.serialized : shared
  }

  private static let ownOfEach = FieldNameSet([.age, .contentLength, .transferEncoding, .connection])
  private static let acceptRanges: Fields = [.acceptRanges: "bytes"]

  /// Whether the request has every field that Vary nominates as the original request had it (RFC 9111 §4.1).
  public func matches(_ request: Fields) -> Bool { isInvariant || response.matches(request) }

  /// What it says of its own reuse, by the rules of the first who asks: a process has one set of them.
  public func terms(_ rules: CacheRules) -> ReuseTerms {
    if let known = knownTerms.withLock({ $0 }) { return known }
    let terms = ReuseTerms(response, rules: rules)
    knownTerms.withLock { $0 = terms }
    return terms
  }

  /// About how many bytes of memory it takes.
  var cost: Int { 400 + key.text.utf8.count + response.fields.serialized.count * 3 }
}
