// Diagnostics: the log of the program and the clock it tells the time by.

/// How much a message matters; a log leaves out what is below its own level.
public enum LogLevel: String, Comparable, CaseIterable, Sendable {
  case debug, info, warning, error

  private var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }

  public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }
}

/// Where a log's lines go.
public enum LogDestination: Equatable, Sendable {
  case standardError
  case standardOutput
  /// Appended to; made where it is not there.
  case file(path: String)
  case nowhere
}
