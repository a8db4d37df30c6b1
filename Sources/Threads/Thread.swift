// Threads of our own, for what must not share one.
import CThreads
public import Glibc

/// The system gave no thread.
public struct ThreadError: Error, CustomStringConvertible {
  /// Its reason, as in `errno`.
  public let code: Int32

  public var description: String { "no thread to be had: \(String(cString: strerror(code)))" }
}

/// Starts a thread that runs `body` and then ends; it must be joined or detached.
///
/// - Parameter name: of which the system keeps 15 bytes.
public func startThread(
  _ name: String, _ body: @escaping @Sendable () -> Void
) throws(ThreadError) -> pthread_t {
  final class Start {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
  var thread = pthread_t()
  let start = Unmanaged.passRetained(Start(name: String(name.utf8.prefix(15)) ?? "", body: body))
  let code = pthread_create(
    &thread, nil,
    { context in
      guard let context else { return nil }
      let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
      pthread_setname_np(pthread_self(), start.name)
      start.body()
      return nil
    }, start.toOpaque())
  guard code == 0 else {
    start.release()
    throw ThreadError(code: code)
  }
  return thread
}
