// The lock that whoever changes a store holds.
import Glibc
import Synchronization

/// Keeps a store's directory for one process: a server, or a repair.
final class StoreLock: Sendable {
  /// How often it is tried beside those that only ask, a millisecond apart.
  private static let mostAttempts = 200

  /// nil once it was let go.
  private let descriptor: Mutex<Int32?>

  /// Locks the file behind `descriptor`, which belongs to the lock from here on, and is closed where this throws.
  init(_ descriptor: Int32, _ layout: Layout) throws(StoreOpenError) {
    var attempts = 0
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      attempts += 1
      // Who asks whether it is taken shares it for a moment, which is no use of the store.
      guard code == EWOULDBLOCK, attempts < Self.mostAttempts, flock(descriptor, LOCK_SH | LOCK_NB) == 0 else {
        close(descriptor)
        throw code == EWOULDBLOCK ? .inUse(directory: layout.root) : StoreOpenError(code, path: layout.lock)
      }
      flock(descriptor, LOCK_UN)
      usleep(1000)
    }
    self.descriptor = Mutex(descriptor)
  }

  deinit { release() }

  /// Lets others have the store.
  ///
  /// Closing alone would not always do: a child that this process is just starting has the descriptor too, and with it
  /// the lock, until it has become another program.
  func release() {
    guard let descriptor = descriptor.withLock({ $0.take() }) else { return }
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Whether somebody has the store open for writing. Nothing is locked by asking but for a moment.
  static func isTaken(_ layout: Layout, _ calls: SystemCalls) -> Bool {
    guard let descriptor = try? calls.open(layout.lock, flags: O_RDONLY) else { return false }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return true }
    flock(descriptor, LOCK_UN)
    return false
  }
}
