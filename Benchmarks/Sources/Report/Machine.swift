// On what it was measured.
import Glibc
import TestSupport

/// The machine, its system and the programs that were compared.
struct Machine: Codable, CustomStringConvertible {
  let date: String
  let processor: String
  let cores: Int
  let memoryGB: Int
  let kernel: String
  let system: String
  /// By name, as each tells of itself.
  let versions: [String: String]
  /// Runnable processes on average over the last minute, when the run began: beyond a few tenths, times are not to be
  /// trusted.
  let loadAverage: Double

  static func current() -> Machine {
    var now = time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    return Machine(
      date: "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))",
      processor: line(of: "/proc/cpuinfo", after: "model name") ?? "unknown",
      cores: sysconf(Int32(_SC_NPROCESSORS_ONLN)),
      memoryGB: sysconf(Int32(_SC_PHYS_PAGES)) / 1024 * sysconf(Int32(_SC_PAGESIZE)) / 1_000_000,
      kernel: said(by: "uname", "-sr") ?? "unknown",
      system: line(of: "/etc/os-release", after: "PRETTY_NAME") ?? "unknown",
      versions: versions(),
      loadAverage: (try? readText("/proc/loadavg")).flatMap { $0.split(separator: " ").first.flatMap { Double($0) } }
        ?? 0
    )
  }

  var description: String {
    let programs = versions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    return "\(date); \(processor), \(cores) cores, \(memoryGB) GB, load \(text(loadAverage, digits: 2)); \(kernel), "
      + "\(system); \(programs)"
  }

  /// Whether results of both may stand beside each other.
  func isSame(as other: Machine) -> Bool {
    processor == other.processor && cores == other.cores && kernel == other.kernel && versions == other.versions
  }

  private static func versions() -> [String: String] {
    let programs: [(name: String, command: [String])] = [
      ("nginx", ["nginx", "-v"]), ("Squid", ["squid", "-v"]), ("Varnish", ["varnishd", "-V"]),
      ("ATS", ["traffic_server", "-V"]), ("wrk", ["wrk", "-v"]), ("Swift", ["swift", "--version"]),
    ]
    var found: [String: String] = [:]
    for program in programs {
      guard let text = said(by: program.command[0], program.command[1]) else { continue }
      // The first thing in it that looks like a version.
      let words = text.split { !($0.isNumber || $0 == ".") }
      found[program.name] = words.first { $0.first?.isNumber == true && $0.contains(".") }.map(String.init) ?? text
    }
    return found
  }

  /// All that a program says, on one line.
  private static func said(by program: String, _ argument: String) -> String? {
    guard
      let result = try? runTool(program, [argument], environment: ["PATH": Programs.path], seconds: 20)
    else { return nil }
    let text = (result.outputText + result.errorText).split(whereSeparator: \.isNewline).joined(separator: " ")
    return text.isEmpty ? nil : text
  }

  private static func line(of path: String, after name: String) -> String? {
    guard let text = try? readText(path), let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) })
    else { return nil }
    return line.dropFirst(name.count).drop { " \t:=\"".contains($0) }.split(separator: "\"").first.map(String.init)
  }

  private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// Where programs are found; Debian's servers are not on everybody's path.
enum Programs {
  static let path = (environment("PATH") ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin"
}
