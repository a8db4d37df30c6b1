// Opening a store: the directory, the lock, the index, the journal.
import Diagnostics
import Glibc

/// What an open store must end: its threads, its index, its lock.
final class OpenedStore: Sendable {
  let engine: Engine
  private let lock: StoreLock
  /// The index thread.
  private let thread: pthread_t
  /// The one that looks for what is in no account; none in a store that cannot be written.
  private let sweeper: pthread_t?

  init(engine: Engine, lock: StoreLock, thread: pthread_t, sweeper: pthread_t?) {
    self.engine = engine
    self.lock = lock
    self.thread = thread
    self.sweeper = sweeper
  }

  /// Ends the threads, with or without making everything durable, and lets others open the store. Blocks.
  func end(_ command: Command) {
    engine.isEnding.set(1)
    engine.inbox.send(command)
    pthread_join(thread, nil)
    if let sweeper { pthread_join(sweeper, nil) }
    engine.committer.stop()
    if case .stop = command { engine.giveBackAll() }
    engine.pool.stop()
    engine.packFiles.forgetAll()
    engine.index.close()
    lock.release()
  }
}

/// The steps of opening. Whatever it has made is removed if a later step fails.
///
/// A store that is there is opened wherever it can be read: on a file system that is read-only, or has no room, it
/// serves what it has and takes nothing in.
struct Opening {
  /// The version of the directory's layout and of the index.
  static let format: UInt32 = 2

  let options: StoreOptions
  let log: Log
  let calls: SystemCalls
  let boot: String
  let layout: Layout
  var made: [String] = []

  init(options: StoreOptions, log: Log, calls: SystemCalls, boot: String) {
    self.options = options
    self.log = log
    self.calls = calls
    self.boot = boot
    layout = Layout(directory: options.directory)
  }

  mutating func open() throws(StoreOpenError) -> OpenedStore {
    do throws(StoreOpenError) {
      return try openAll()
    } catch {
      // Directories only go if they are empty: nothing that others put there is lost.
      for path in made.reversed() where Glibc.unlink(path) != 0 { rmdir(path) }
      throw error
    }
  }

  private mutating func openAll() throws(StoreOpenError) -> OpenedStore {
    try makeDirectories(layout.root)
    try checkEmptyOrOurs()
    // Let go of where something throws.
    let (lock, mode) = try takeLock()
    if mode == .readWrite {
      for path in [layout.index, layout.bodies, layout.packs] { try makeDirectory(path) }
      for number in 0...255 { try makeDirectory(layout.shard(UInt8(number))) }
    }
    let index = try openIndex(mode)
    do throws(StoreOpenError) {
      return try start(index, lock)
    } catch {
      index.close()
      throw error
    }
  }

  // MARK: The directory

  private mutating func makeDirectories(_ path: String) throws(StoreOpenError) {
    guard access(path, F_OK) != 0 else { return }
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex { try makeDirectories(String(path[..<slash])) }
    try makeDirectory(path)
  }

  /// A directory with somebody's files is not taken for a cache: whoever removes a cache removes the directory.
  private func checkEmptyOrOurs() throws(StoreOpenError) {
    let names = calls.names(in: layout.root)
    if names.contains(where: { layout.isOwn($0) }) { return }
    // What a file system or a desktop puts into every directory is nobody's.
    if let other = names.first(where: { !$0.hasPrefix(".") && $0 != "lost+found" }) {
      throw .occupied(directory: layout.root, name: other)
    }
  }

  private mutating func makeDirectory(_ path: String) throws(StoreOpenError) {
    do throws(SystemError) {
      if try calls.makeDirectory(path) { made.append(path) }
    } catch {
      throw StoreOpenError(error.code, path: path)
    }
  }

  /// The lock, and whether anything may be written.
  private mutating func takeLock() throws(StoreOpenError) -> (lock: StoreLock, mode: Index.Mode) {
    let isNew = access(layout.lock, F_OK) != 0
    let descriptor: Int32
    var mode = Index.Mode.readWrite
    do throws(SystemError) {
      do throws(SystemError) {
        descriptor = try calls.open(layout.lock, flags: O_RDWR | O_CREAT)
        if isNew { made.append(layout.lock) }
      } catch {
        guard error.code == EROFS, !isNew else { throw error }
        descriptor = try calls.open(layout.lock, flags: O_RDONLY)
        mode = .readOnly
      }
    } catch {
      throw StoreOpenError(error.code, path: layout.lock)
    }
    return (try StoreLock(descriptor, layout), mode)
  }
}
