// The access log: lines are formatted on the loop that served the request and written by a thread of their own.

public import Configuration
public import Diagnostics
public import Proxy

/// The access log of one process. Safe to use from all workers.
public final class AccessLog: Sendable {
  private let formatter: AccessLogFormatter
  private let writer: LogWriter

  /// - Returns: nil where the settings have it off.
  /// - Throws: where the file cannot be opened for appending.
  public static func open(_ settings: Settings.Log) throws(LogError) -> AccessLog? {
    let destination: LogDestination
    switch settings.accessLog {
    case .off: destination = .nowhere
    case .stdout: destination = .standardOutput
    case .file(let path): destination = .file(path: path)
    }
    return try LogWriter.make(destination).map { AccessLog(settings.accessFormat, $0) }
  }

  private init(_ format: Settings.AccessLogFormat, _ writer: LogWriter) {
    formatter = AccessLogFormatter(format: format)
    self.writer = writer
  }

  /// Adds a request's line; it is dropped and counted where the disk is far behind.
  public func write(_ record: RequestRecord) { writer.append(formatter.line(for: record) + "\n") }

  /// Opens the file anew, after a rotation.
  public func reopen() { writer.reopen() }

  /// Returns when all lines have been written.
  public func close() {
    writer.flush()
    writer.stop()
  }
}
