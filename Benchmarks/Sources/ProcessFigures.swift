// What the kernel says a process has used.
import Glibc
import TestSupport

/// Figures from /proc, of one process with all its threads.
struct ProcessFigures {
  private let folder: String

  init(_ process: Int32) { folder = "/proc/\(process)" }

  /// Of this process.
  static let own = ProcessFigures(getpid())

  /// Processor time in user and system mode, in seconds; counted in ticks of a hundredth.
  func processorSeconds() throws -> Double {
    let fields = try readText("\(folder)/stat").split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw HarnessError("cannot read \(folder)/stat")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// How many times it has called read, pread, preadv2 or sendfile: nothing a look-up reads escapes this but the map
  /// of the index, whose rows the store counts itself.
  func readCalls() throws -> Int {
    for line in try readText("\(folder)/io").split(separator: "\n") where line.hasPrefix("syscr:") {
      if let value = Int(line.dropFirst("syscr: ".count)) { return value }
    }
    throw HarnessError("no syscr in \(folder)/io")
  }
}

/// Processor time of this process, all threads, in nanoseconds.
func ownProcessorNanoseconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Keeps all threads of a process, and those it will start, on one core.
func pin(_ process: Int32, to core: Int) throws {
  try mustRun("taskset", ["-a", "-c", "-p", "\(core)", "\(process)"])
}
