// The built binary under test: started with its own folders, watched, stopped, started again.
internal import Glibc

/// A running `larder serve` on ports of its own.
public final class LarderProcess: Sendable {
  /// The client listener's port.
  public let port: UInt16
  /// The administrative listener's port.
  public let adminPort: UInt16
  public let process: ChildProcess
  private let folder: String

  /// Where a run keeps what it writes: the cache, the access log, the settings.
  public struct Folders: Sendable {
    public let path: String
    public var cache: String
    public var accessLog: String { "\(path)/access.log" }
    public var settings: String { "\(path)/larder.yaml" }

    public init(_ path: String, cache: String? = nil) {
      self.path = path
      self.cache = cache ?? "\(path)/cache"
    }
  }

  public let folders: Folders

  /// Starts the binary with settings made of the harness's own and `settings`, by their dotted names, and waits until
  /// it says it is ready.
  public init(
    in folders: Folders, settings: [String: String] = [:], arguments: [String] = [], environment: [String: String] = [:]
  ) throws {
    self.folders = folders
    folder = folders.path
    try writeFile(folders.settings, Self.yaml(in: folders, settings))
    process = try ChildProcess(
      try Self.binary(), ["serve", "--config", folders.settings] + arguments,
      environment: environment.merging(["HOME": folders.path]) { $1 })
    do {
      port = try process.waitForLine("its listening line") { Self.port($0, after: "larder: listening on ") }
      adminPort = try process.waitForLine("its admin line") { Self.port($0, after: "larder: admin on ") }
      try process.waitForLine("its ready line") { $0 == "larder: ready" ? () : nil }
    } catch {
      process.kill9()
      throw error
    }
  }

  private static func port(_ line: Substring, after prefix: String) -> UInt16? {
    guard line.hasPrefix(prefix) else { return nil }
    return line.split(separator: ":").last.flatMap { UInt16($0) }
  }

  /// The settings file of a run, sections grouped.
  public static func yaml(in folders: Folders, _ settings: [String: String]) -> String {
    var all = [
      "listen": "[127.0.0.1:0]", "admin": "127.0.0.1:0", "workers": "2", "cache.directory": folders.cache,
      "cache.size": "8G", "cache.memory": "32M", "log.level": "debug", "log.access_log": folders.accessLog,
      "log.access_format": "json", "fills.backoff": "20ms", "fills.backoff_max": "200ms",
    ]
    all.merge(settings) { $1 }
    var sections: [String: [String]] = [:]
    var lines: [String] = []
    for (name, value) in all.sorted(by: { $0.key < $1.key }) {
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      if parts.count == 1 {
        lines.append("\(name): \(value)")
      } else {
        sections[parts[0], default: []].append("  \(parts[1]): \(value)")
      }
    }
    for (section, members) in sections.sorted(by: { $0.key < $1.key }) {
      lines.append("\(section):")
      lines += members
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The binary under test: `LARDER_BINARY`, else the one that was built beside the tests.
  public static func binary() throws -> String {
    if let path = environment("LARDER_BINARY") { return path }
    var buffer = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/exe", &buffer, buffer.count)
    let own = String(decoding: buffer[..<max(0, length)].map(UInt8.init(bitPattern:)), as: UTF8.self)
    let beside = own.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/larder"
    for path in [beside, ".build/debug/larder"] where access(path, X_OK) == 0 { return path }
    throw HarnessError("no larder binary: set LARDER_BINARY, or build it beside the tests")
  }

  /// Runs the binary to its end, for commands other than a running server.
  public static func run(_ arguments: [String], home: String = "/tmp", seconds: Double = Patience.seconds) throws
    -> ToolResult
  {
    try runTool(try binary(), arguments, environment: ["HOME": home], seconds: seconds)
  }

  // MARK: - Its end

  /// The signals that end it.
  public enum Signal: Int32, Sendable {
    case interrupt = 2
    case terminate = 15
  }

  /// Sends a signal and waits for the end.
  @discardableResult
  public func stop(_ signal: Signal = .terminate, seconds: Double = Patience.seconds * 2) throws -> ProcessEnd {
    process.signal(signal.rawValue)
    return try process.wait(seconds: seconds)
  }

  /// `kill -9`, and the wait for it.
  public func kill9() {
    process.kill9()
  }

  // MARK: - What it says

  /// Gets a path of the administrative listener.
  public func admin(_ path: String) throws -> RawResponse {
    try RawClient.fetch("http://127.0.0.1:\(adminPort)\(path)", through: adminPort)
  }

  /// The value of a metric, summed over its labels; nil when there is no such metric.
  public func metric(_ name: String) throws -> Double? {
    let text = try admin("/metrics").text
    let values = text.split(separator: "\n").compactMap { line -> Double? in
      guard !line.hasPrefix("#"), line.hasPrefix(name) else { return nil }
      let rest = line.dropFirst(name.count)
      guard rest.first == " " || rest.first == "{" else { return nil }
      return rest.split(separator: " ").last.flatMap { Double($0) }
    }
    return values.isEmpty ? nil : values.reduce(0, +)
  }

  /// Waits until the access log has that many lines.
  public func accessLog(count: Int) throws -> [String] {
    try waitForFile(folders.accessLog, for: "\(count) lines in the access log") { text in
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
      return lines.count >= count ? lines : nil
    }
  }

  /// What it has written to standard error, where the log goes.
  public var errorText: String { process.errorText }

  // MARK: - What it costs

  /// Resident anonymous and file memory, in bytes.
  public func residentBytes() throws -> Int { try status("VmRSS:") * 1024 }

  /// The highest that resident memory has been, in bytes.
  public func peakResidentBytes() throws -> Int { try status("VmHWM:") * 1024 }

  private func status(_ name: String) throws -> Int {
    let text = try readText("/proc/\(process.id)/status")
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      if let value = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) }) {
        return value
      }
    }
    throw HarnessError("no \(name) in /proc/\(process.id)/status")
  }

  /// The number of open descriptors.
  public func descriptorCount() throws -> Int {
    guard let folder = opendir("/proc/\(process.id)/fd") else { throw HarnessError.system("opendir") }
    defer { closedir(folder) }
    var count = -2
    while readdir(folder) != nil { count += 1 }
    return count
  }

  /// Processor time in user and system mode, in seconds.
  public func processorSeconds() throws -> Double {
    let text = try readText("/proc/\(process.id)/stat")
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw HarnessError("cannot read /proc/\(process.id)/stat")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
