// What stands for a cache key where keys are looked up: in memory, in the index, among those who wait for each other.
import CXXHash

/// 128 bits that stand for a cache key, XXH3-128 of its text. Equal hashes are never taken for equal keys: the key itself
/// is compared.
public struct KeyHash: Hashable, Sendable {
  public let high: UInt64
  public let low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  init(_ text: String) {
    let hash = text.utf8Span.span.bytes.withUnsafeBytes { XXH3_128bits($0.baseAddress, $0.count) }
    self.init(high: hash.high64, low: hash.low64)
  }
}
