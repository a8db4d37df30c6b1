// An open data file.
import Glibc
import Synchronization

/// Owns a descriptor; it is closed when nobody refers to it any more.
///
/// The file may be unlinked meanwhile: its bytes stay readable through the descriptor.
public final class OpenFile: Sendable {
  /// The descriptor; valid as long as this object is retained.
  public let descriptor: Int32
  private let pool: DiskPool
  /// The least length the file must have, as far as this process has written it.
  private let leastLength = Atomic<UInt64>(0)

  init(descriptor: Int32, pool: DiskPool) {
    self.descriptor = descriptor
    self.pool = pool
  }

  /// The bytes before `end` have been written.
  func noteWritten(upTo end: UInt64) {
    var known = leastLength.load(ordering: .relaxed)
    while known < end {
      let (isSet, now) = leastLength.compareExchange(expected: known, desired: end, ordering: .relaxed)
      if isSet { return }
      known = now
    }
  }

  /// Whether somebody else has cut the file short since this process wrote it.
  ///
  /// To be asked before every write: writing behind the end would put the length right again, with a hole of zeros.
  func wasCut(_ calls: SystemCalls) -> Bool {
    let known = leastLength.load(ordering: .relaxed)
    guard known > 0, let length = calls.length(of: descriptor), length < known else { return false }
    // Told once: whoever asked has to draw the consequences.
    leastLength.store(length, ordering: .relaxed)
    return true
  }

  deinit {
    // The last descriptor of an unlinked file frees its blocks, which may take long: never on a loop.
    let descriptor = self.descriptor
    pool.submit { close(descriptor) }
  }
}
