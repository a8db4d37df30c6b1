// larder: the executable: commands, signals, exit codes.

import Glibc

/// The program's exit codes.
enum ExitCode: Int32 {
  /// The command did what it was asked.
  case success = 0
  /// The server could not start or run: a port in use, an unusable cache directory. Or the cache is not as it was
  /// written, and was left so.
  case failure = 1
  /// The command line or the settings are wrong.
  case usage = 2
}

@main
struct Larder {
  static let version = "0.1.0"

  /// Runs a command; the server's own work is done on other threads, so that this one has nothing to wait for but
  /// their end.
  static func main() {
    var arguments = Array(CommandLine.arguments.dropFirst())
    let code: ExitCode
    switch arguments.first {
    case "serve":
      arguments.removeFirst()
      code = ServeCommand.run(arguments)
    case "check-config":
      arguments.removeFirst()
      code = CheckConfigCommand.run(arguments)
    case "verify":
      arguments.removeFirst()
      code = VerifyCommand.run(arguments)
    case "version" where arguments.contains("--help"):
      Output.print(Help.version)
      code = .success
    case "version", "--version":
      Output.print("larder \(version)")
      code = .success
    case "--help", "-h", "help":
      Output.print(Help.overview)
      code = .success
    case let command?:
      Output.error("unknown command \"\(command)\"; expected serve, verify, check-config, version or --help")
      code = .usage
    case nil:
      Output.error("a command is missing; expected serve, verify, check-config, version or --help")
      code = .usage
    }
    exit(code.rawValue)
  }
}

/// What the program says outside its logs.
enum Output {
  /// A line on standard output, written at once.
  static func print(_ line: String) {
    write(line, to: STDOUT_FILENO)
  }

  /// A line on standard error.
  static func error(_ line: String) {
    write("larder: \(line)", to: STDERR_FILENO)
  }

  private static func write(_ line: String, to descriptor: Int32) {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      rest = rest.dropFirst(max(0, count))
    }
  }
}
