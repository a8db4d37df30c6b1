// The thread that writes the lines of a log, whichever log it is.

import Glibc

/// Takes lines from any thread and writes them in order.
///
/// Unchecked, because the compiler does not see the locks. Whatever changes is reached under `mutex`, but for
/// `descriptor`: after `init` that is the business of the one thread in `run`, and of `deinit`, when nobody has the
/// object any more. The two pointers never change, and what they point to is made to be shared.
public final class LogWriter: @unchecked Sendable {
  private let path: String?
  private var descriptor: Int32
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var lines: [UInt8] = []
  private var dropped = 0
  private var isWriting = false
  private var reopens = false
  private var isStopped = false
  private var isRunning = true

  init(path: String?, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(changed, nil)
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self)
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<LogWriter>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    if code == 0 {
      pthread_detach(thread)
    } else {
      // Lines are dropped then, but nobody waits for them.
      isRunning = false
      context.release()
    }
  }

  deinit {
    if path != nil { close(descriptor) }
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  static func open(_ path: String) throws(LogError) -> Int32 {
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else { throw LogError(path: path, code: errno) }
    return descriptor
  }

  /// - Throws: `LogError` where the file cannot be opened.
  /// - Returns: nil for a log that goes nowhere.
  public static func make(_ destination: LogDestination) throws(LogError) -> LogWriter? {
    switch destination {
    case .standardError: LogWriter(path: nil, descriptor: STDERR_FILENO)
    case .standardOutput: LogWriter(path: nil, descriptor: STDOUT_FILENO)
    case .file(let path): LogWriter(path: path, descriptor: try open(path))
    case .nowhere: nil
    }
  }

  /// Adds text that ends its line; it is dropped and counted where the disk is far behind.
  public func append(_ line: String) {
    pthread_mutex_lock(mutex)
    // Whoever finds lines has been told of them already.
    let isFirst = lines.isEmpty && dropped == 0
    if lines.count + line.utf8.count <= Self.capacity {
      lines.append(contentsOf: line.utf8)
    } else {
      dropped += 1
    }
    pthread_mutex_unlock(mutex)
    if isFirst { pthread_cond_broadcast(changed) }
  }

  /// Opens the file anew, after it was renamed by a log rotation.
  public func reopen() { change { $0.reopens = true } }

  /// Lets the thread write what it has, and end.
  public func stop() { change { $0.isStopped = true } }

  /// Waits until everything appended before has been written.
  public func flush() {
    pthread_mutex_lock(mutex)
    while isRunning && (isWriting || !lines.isEmpty || dropped > 0) { pthread_cond_wait(changed, mutex) }
    pthread_mutex_unlock(mutex)
  }

  private func change(_ body: (LogWriter) -> Void) {
    pthread_mutex_lock(mutex)
    body(self)
    pthread_mutex_unlock(mutex)
    pthread_cond_broadcast(changed)
  }

  private func run() {
    pthread_mutex_lock(mutex)
    while true {
      if reopens {
        reopens = false
        openAnew()
      }
      if lines.isEmpty, dropped == 0 {
        if isStopped { break }
        pthread_cond_wait(changed, mutex)
        // A line seldom comes alone, and to write each would cost more than to answer what it tells of.
        pthread_mutex_unlock(mutex)
        usleep(Self.gatheringMicroseconds)
        pthread_mutex_lock(mutex)
        continue
      }
      var batch = lines
      lines = []
      if dropped > 0 { batch.append(contentsOf: "... \(dropped) lines were dropped here\n".utf8) }
      dropped = 0
      isWriting = true
      pthread_mutex_unlock(mutex)
      writeAll(batch)
      pthread_mutex_lock(mutex)
      isWriting = false
      pthread_cond_broadcast(changed)
    }
    isRunning = false
    pthread_cond_broadcast(changed)
    pthread_mutex_unlock(mutex)
  }

  /// A file that cannot be opened anew is written on: better than none.
  private func openAnew() {
    guard let path, let new = try? Self.open(path) else { return }
    close(descriptor)
    descriptor = new
  }

  /// A line that cannot be written is lost; there is nowhere to say so.
  private func writeAll(_ batch: [UInt8]) {
    batch.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count > 0 {
          rest = rest.dropFirst(count)
        } else if errno != EINTR {
          return
        }
      }
    }
  }

  /// How long more lines are waited for when one has come.
  private static let gatheringMicroseconds: useconds_t = 5_000
  /// Bytes that may wait to be written.
  private static let capacity = 1 << 20
}
