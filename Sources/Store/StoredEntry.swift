// A stored response together with its representation.
public import CachePolicy
import HTTPMessage
import Synchronization

/// One variant stored under a cache key. A snapshot: changes make new entries.
public final class StoredEntry: Sendable {
  /// The key it is stored under.
  public let key: CacheKey
  /// Status, fields and times as last stored or validated.
  public let response: StoredResponse
  /// Where its bytes are.
  public let representation: Representation
  /// Stands for the nominated fields and their values; two entries of a key with the same one replace each other.
  let variant: UInt64
  /// The field lines that all responses made of it share, ready to be sent: without those that say how old it is, how
  /// long the body is and how the connection goes on, and with `Accept-Ranges` where parts can be had.
  public let lines: [UInt8]
  private let knownTerms: Mutex<ReuseTerms?>

  init(key: CacheKey, response: StoredResponse, representation: Representation, terms: ReuseTerms? = nil) {
    knownTerms = Mutex(terms)
    self.key = key
    self.response = response
    self.representation = representation
    variant = ResponseRecord.variant(of: response)
    var shared = response.fields
    for name: FieldName in [.age, .contentLength, .transferEncoding, .connection] { shared.remove(name) }
    let addsRanges = response.status == 200 && representation.validator.isStrong && !shared.contains(.acceptRanges)
    lines = addsRanges ? shared.serialized + Self.acceptRanges.serialized : shared.serialized
  }

  private static let acceptRanges: Fields = [.acceptRanges: "bytes"]

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
