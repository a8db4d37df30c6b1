// The program's log: lines with a time and a level, written by a thread of its own.

import Glibc

/// A log. May be used on any thread; a caller never waits for the disk.
///
/// Lines that come faster than they can be written are dropped, counted, and the count is logged.
public final class Log: Sendable {
  public let level: LogLevel
  private let writer: LogWriter?

  /// - Throws: `LogError` where the file cannot be opened.
  public init(level: LogLevel, to destination: LogDestination) throws(LogError) {
    self.level = level
    writer = try LogWriter.make(destination)
  }

  /// A log that keeps nothing.
  public static let silent = Log()

  private init() {
    level = .error
    writer = nil
  }

  deinit { writer?.stop() }

  public func debug(_ message: @autoclosure () -> String) { write(.debug, message) }
  public func info(_ message: @autoclosure () -> String) { write(.info, message) }
  public func warning(_ message: @autoclosure () -> String) { write(.warning, message) }
  public func error(_ message: @autoclosure () -> String) { write(.error, message) }

  /// Waits until what was logged before has been written; for the end of the program.
  public func flush() { writer?.flush() }

  /// Opens the file anew, after it was renamed by a log rotation.
  public func reopen() { writer?.reopen() }

  private func write(_ level: LogLevel, _ message: () -> String) {
    guard let writer, level >= self.level else { return }
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    var parts = tm()
    gmtime_r(&time.tv_sec, &parts)
    let date = "\(parts.tm_year + 1900)-\(Self.two(parts.tm_mon + 1))-\(Self.two(parts.tm_mday))"
    let clock = "\(Self.two(parts.tm_hour)):\(Self.two(parts.tm_min)):\(Self.two(parts.tm_sec))"
    let thousandths = String(1000 + time.tv_nsec / 1_000_000).dropFirst()
    writer.append("\(date)T\(clock).\(thousandths)Z \(level.rawValue) \(Self.oneLine(message()))\n")
  }

  private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// What a peer sent may be part of a message, and must not look like another line or steer a terminal.
  private static func oneLine(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) else {
      return text
    }
    var clean = ""
    for scalar in text.unicodeScalars {
      if scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) {
        clean += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        clean.unicodeScalars.append(scalar)
      }
    }
    return clean
  }
}

/// Why a log could not be opened.
public struct LogError: Error, Equatable, Sendable {
  public let path: String
  /// The `errno` of the failed call.
  public let code: Int32

  /// What went wrong, in words.
  public var explanation: String {
    var text = [CChar](repeating: 0, count: 128)
    guard strerror_r(code, &text, text.count) == 0 else { return "the log \(path) cannot be opened: error \(code)" }
    let reason = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "the log \(path) cannot be opened: \(reason)"
  }
}
