// XXH3, the hash of extents and of batches.
import CXXHash

/// XXH3-64 of bytes that come in pieces.
struct StreamedChecksum: ~Copyable {
  private let state: OpaquePointer

  init() {
    guard let state = XXH3_createState() else { preconditionFailure("out of memory") }
    self.state = state
    XXH3_64bits_reset(state)
  }

  deinit { XXH3_freeState(state) }

  mutating func reset() { XXH3_64bits_reset(state) }

  mutating func update(_ bytes: UnsafeRawBufferPointer) { XXH3_64bits_update(state, bytes.baseAddress, bytes.count) }

  /// The hash of what came since the last reset; more may come after.
  var value: UInt64 { XXH3_64bits_digest(state) }
}

/// XXH3-64 of bytes that are all there.
func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 { XXH3_64bits(bytes.baseAddress, bytes.count) }
