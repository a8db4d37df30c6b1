// A stored response together with its representation.
public import CachePolicy
import HTTPMessage

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

  init(key: CacheKey, response: StoredResponse, representation: Representation) {
    self.key = key
    self.response = response
    self.representation = representation
    variant = ResponseRecord.variant(of: response)
  }

  /// About how many bytes of memory it takes.
  var cost: Int { 400 + key.text.utf8.count + response.fields.serialized.count * 2 }
}
