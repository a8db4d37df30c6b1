// An open data file.
import Glibc

/// Owns a descriptor; it is closed when nobody refers to it any more.
///
/// The file may be unlinked meanwhile: its bytes stay readable through the descriptor.
public final class OpenFile: Sendable {
  /// The descriptor; valid as long as this object is retained.
  public let descriptor: Int32
  private let pool: DiskPool

  init(descriptor: Int32, pool: DiskPool) {
    self.descriptor = descriptor
    self.pool = pool
  }

  deinit {
    // The last descriptor of an unlinked file frees its blocks, which may take long: never on a loop.
    let descriptor = self.descriptor
    pool.submit { close(descriptor) }
  }
}
