// Child processes: started with a plain environment, their output captured, their end awaited with a bound.
internal import Glibc

/// How a process ended.
public enum ProcessEnd: Equatable, Sendable {
  case exited(Int32)
  case killed(signal: Int32)
}

/// A running or ended child process in a process group of its own.
public final class ChildProcess: Sendable {
  /// The process id.
  public let id: Int32
  private let name: String
  private let state = Monitor(State())

  private struct State {
    var end: ProcessEnd?
    var output: [[UInt8]] = [[], []]
    var openPipes = 2
  }

  /// Starts a program, found by `PATH` when its name has no slash. Variables not given are not inherited, but `PATH`.
  /// `inherited` becomes descriptor 3.
  public init(
    _ program: String, _ arguments: [String], environment variables: [String: String] = [:], folder: String? = nil,
    inherited: Int32? = nil
  ) throws {
    name = program
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    if let inherited { posix_spawn_file_actions_adddup2(&actions, inherited, 3) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)

    var all = ["PATH": TestSupport.environment("PATH") ?? "/usr/bin:/bin", "LANG": "C.UTF-8"]
    // The Swift run-time's and the sanitizers' own settings go along.
    for name in ["LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"] {
      all[name] = TestSupport.environment(name)
    }
    all.merge(variables) { $1 }
    let command = (folder.map { ["env", "--chdir=\($0)"] } ?? []) + [program] + arguments
    var process: pid_t = 0
    var pipes: [[Int32]] = []
    let failure = try descriptorsAreBeingMade.withLock { _ in
      for descriptor in Int32(1)...2 {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw HarnessError.system("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor)
        pipes.append(ends)
      }
      let failure = withCStrings(command) { arguments in
        withCStrings(all.map { "\($0.key)=\($0.value)" }) { variables in
          posix_spawnp(&process, command[0], &actions, &attributes, arguments, variables)
        }
      }
      for ends in pipes { Glibc.close(ends[1]) }
      if failure == 0 { Self.living.withLock { _ = $0.insert(process) } }
      return failure
    }
    guard failure == 0 else {
      for ends in pipes { Glibc.close(ends[0]) }
      throw HarnessError("cannot start \(program): \(String(cString: strerror(failure)))")
    }
    id = process
    for (index, ends) in pipes.enumerated() { startThread { [state] in Self.collect(ends[0], index, state) } }
    startThread { [state, process] in
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0 && errno == EINTR {}
      Self.living.withLock { _ = $0.remove(process) }
      let signal = status & 0x7f
      state.withLock { $0.end = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal: signal) }
    }
  }

  /// Waits for the end of the process and of its output.
  public func wait(seconds: Double = Patience.seconds) throws -> ProcessEnd {
    try state.wait(for: "the end of \(name), whose output is:\n\(outputText)\n\(errorText)", seconds: seconds) {
      $0.openPipes == 0 ? $0.end : nil
    }
  }

  /// How it ended, nil while it runs.
  public var end: ProcessEnd? { state.withLock { $0.end } }

  /// Sends a signal, unless the process has ended.
  public func signal(_ number: Int32) {
    state.withLock { if $0.end == nil { kill(id, number) } }
  }

  /// Kills the process and its group and waits for the end.
  public func kill9() {
    state.withLock { if $0.end == nil { _ = kill(-id, SIGKILL) } }
    _ = try? wait()
  }

  /// Standard output so far.
  public var output: [UInt8] { state.withLock { $0.output[0] } }
  public var outputText: String { String(decoding: output, as: UTF8.self) }
  /// Standard error so far.
  public var errorText: String { String(decoding: state.withLock { $0.output[1] }, as: UTF8.self) }

  /// Waits for a line of standard output that `match` takes.
  public func waitForLine<Result>(_ what: String, _ match: (Substring) -> Result?) throws -> Result {
    let found: Result? = try state.wait(for: "\(what) from \(name)") { state in
      // Only whole lines.
      let lines = String(decoding: state.output[0], as: UTF8.self).split(
        separator: "\n", omittingEmptySubsequences: false
      ).dropLast()
      for line in lines { if let result = match(line) { return .some(.some(result)) } }
      return state.end == nil || state.openPipes > 0 ? nil : .some(nil)
    }
    guard let found else {
      throw HarnessError("\(name) ended without \(what); its output was:\n\(outputText)\n\(errorText)")
    }
    return found
  }

  /// Waits until standard error holds a text.
  public func waitForErrorText(_ text: String) throws {
    try state.wait(for: "“\(text)” in the error output of \(name)") {
      String(decoding: $0.output[1], as: UTF8.self).contains(text) ? () : nil
    }
  }

  private static func collect(_ pipe: Int32, _ index: Int, _ state: Monitor<State>) {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(pipe, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { break }
      state.withLock { $0.output[index].append(contentsOf: buffer[..<count]) }
    }
    Glibc.close(pipe)
    state.withLock { $0.openPipes -= 1 }
  }

  /// Processes that must not outlive the tests.
  private static let living: Monitor<Set<pid_t>> = {
    atexit { ChildProcess.killLiving() }
    return Monitor([])
  }()

  private static func killLiving() {
    living.withLock { for process in $0 { kill(-process, SIGKILL) } }
  }
}

/// Held between the making of a descriptor and its marking as close-on-exec, and while a child is started: else the
/// descriptor could leak into the child and stay open there.
let descriptorsAreBeingMade = Monitor(())

private func withCStrings<Result>(
  _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
  defer { for pointer in pointers { free(pointer) } }
  return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
}

/// What a command-line tool did.
public struct ToolResult: Sendable, CustomStringConvertible {
  public let end: ProcessEnd
  public let output: [UInt8]
  public let errorText: String
  let command: String

  public var outputText: String { String(decoding: output, as: UTF8.self) }
  public var description: String {
    let shown = output.count > 4096 ? "(\(output.count) bytes)" : outputText
    return "\(command) → \(end)\n\(shown)\n\(errorText.suffix(4096))"
  }
}

/// Runs a tool to its end. A tool that is not installed is a failure: `make test` installs them all.
public func runTool(
  _ program: String, _ arguments: [String], environment variables: [String: String] = [:], folder: String? = nil,
  seconds: Double = Patience.seconds * 2
) throws -> ToolResult {
  let process = try ChildProcess(program, arguments, environment: variables, folder: folder)
  defer { process.kill9() }
  let end = try process.wait(seconds: seconds)
  return ToolResult(
    end: end, output: process.output, errorText: process.errorText,
    command: ([program] + arguments).joined(separator: " "))
}

/// Runs a tool that has to succeed; its failure is thrown with all it said.
@discardableResult
public func mustRun(
  _ program: String, _ arguments: [String], environment variables: [String: String] = [:], folder: String? = nil,
  seconds: Double = Patience.seconds * 2
) throws -> ToolResult {
  let result = try runTool(program, arguments, environment: variables, folder: folder, seconds: seconds)
  guard result.end == .exited(0) else { throw HarnessError("\(result)") }
  return result
}
