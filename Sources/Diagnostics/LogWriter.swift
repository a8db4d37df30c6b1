// The thread that writes the lines of a log, whichever log it is.

import Glibc
import Threads

/// Takes lines from any thread and writes them in order.
public final class LogWriter: Sendable {
  private struct State {
    var lines: [UInt8] = []
    var dropped = 0
    var isWriting = false
    var reopens = false
    var isStopped = false
    /// Whether there is a thread that writes.
    var isRunning = true

    var isEmpty: Bool { lines.isEmpty && dropped == 0 }
  }

  private let path: String?
  private let state = Monitor(State())

  /// - Parameter descriptor: is closed in the end where it belongs to a `path`.
  init(path: String?, descriptor: Int32) {
    self.path = path
    do {
      pthread_detach(try startThread("larder-log") { [self] in run(descriptor) })
    } catch {
      // Lines are dropped then, but nobody waits for them.
      state.withLock { $0.isRunning = false }
      if path != nil { close(descriptor) }
    }
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
    let isFirst = state.withLock { state in
      // Whoever finds lines has been told of them already.
      let isFirst = state.isEmpty
      if state.lines.count + line.utf8.count <= Self.capacity {
        state.lines.append(contentsOf: line.utf8)
      } else {
        state.dropped += 1
      }
      return isFirst
    }
    if isFirst { state.broadcast() }
  }

  /// Opens the file anew, after it was renamed by a log rotation.
  public func reopen() { change { $0.reopens = true } }

  /// Lets the thread write what it has, and end.
  public func stop() { change { $0.isStopped = true } }

  /// Waits until everything appended before has been written.
  public func flush() {
    state.wait { $0.isRunning && ($0.isWriting || !$0.isEmpty) ? .wait(until: nil) : .done(()) }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    state.broadcast()
  }

  // MARK: - The thread

  private enum Step {
    case write([UInt8])
    case reopen
    /// There are lines after a while without any.
    case gather
    case end
  }

  private func run(_ descriptor: Int32) {
    var descriptor = descriptor
    while true {
      switch nextStep() {
      case .write(let batch):
        writeAll(batch, to: descriptor)
        change { $0.isWriting = false }
      case .reopen: descriptor = openedAnew(instead: descriptor)
      // A line seldom comes alone, and to write each would cost more than to answer what it tells of.
      case .gather: usleep(Self.gatheringMicroseconds)
      case .end:
        if path != nil { close(descriptor) }
        return change { $0.isRunning = false }
      }
    }
  }

  private func nextStep() -> Step {
    var hasWaited = false
    return state.wait { state in
      if state.reopens {
        state.reopens = false
        return .done(.reopen)
      }
      if state.isEmpty {
        if state.isStopped { return .done(.end) }
        hasWaited = true
        return .wait(until: nil)
      }
      if hasWaited { return .done(.gather) }
      var batch = state.lines
      state.lines = []
      if state.dropped > 0 { batch.append(contentsOf: "... \(state.dropped) lines were dropped here\n".utf8) }
      state.dropped = 0
      state.isWriting = true
      return .done(.write(batch))
    }
  }

  /// A file that cannot be opened anew is written on: better than none.
  private func openedAnew(instead descriptor: Int32) -> Int32 {
    guard let path, let new = try? Self.open(path) else { return descriptor }
    close(descriptor)
    return new
  }

  /// A line that cannot be written is lost; there is nowhere to say so.
  private func writeAll(_ batch: [UInt8], to descriptor: Int32) {
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
