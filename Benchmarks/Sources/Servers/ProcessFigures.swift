// What the kernel says a process has used.
import Glibc
import TestSupport

/// Figures of one process with all its threads.
struct ProcessFigures {
  let process: Int32
  private var folder: String { "/proc/\(process)" }

  init(_ process: Int32) { self.process = process }

  /// Of this process.
  static let own = ProcessFigures(getpid())

  /// User and system time of all its threads, also those that have ended, in seconds.
  ///
  /// The process's own clock has in nanoseconds what /proc shows in ticks of a hundredth of a second.
  func processorSeconds() throws -> Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
      throw HarnessError("process \(process) has no clock: it has ended")
    }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// User and system time of those of its threads that run now and whose names are included; seconds, in steps of a
  /// hundredth.
  func threadSeconds(of isIncluded: (String) -> Bool) throws -> (user: Double, system: Double) {
    guard let tasks = opendir("\(folder)/task") else { throw HarnessError("process \(process) has ended") }
    defer { closedir(tasks) }
    var (user, system) = (0.0, 0.0)
    while let entry = readdir(tasks) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      // A thread may end between the listing and the reading.
      guard Int32(name) != nil, let text = try? readText("\(folder)/task/\(name)/stat"),
        let begin = text.firstIndex(of: "("), let end = text.lastIndex(of: ")")
      else { continue }
      // Behind the name the state is the first figure, user and system time are the twelfth and the thirteenth.
      let figures = text[end...].dropFirst().split(separator: " ")
      guard isIncluded(String(text[text.index(after: begin)..<end])), figures.count > 12,
        let userTicks = Double(figures[11]), let systemTicks = Double(figures[12])
      else { continue }
      user += userTicks / 100
      system += systemTicks / 100
    }
    return (user, system)
  }

  /// How many times it has called read, pread, preadv2 or sendfile: nothing a look-up reads escapes this but the map
  /// of the index, whose rows the store counts itself.
  func readCalls() throws -> Int { try figure("syscr:", in: "\(folder)/io") }

  /// Anonymous memory that nobody else has, in bytes: the heap and the stacks, but no file and no map.
  func privateBytes() throws -> Int { try figure("Anonymous:", in: "\(folder)/smaps_rollup") * 1024 }

  private func figure(_ name: String, in path: String) throws -> Int {
    for line in try readText(path).split(separator: "\n") where line.hasPrefix(name) {
      let words = line.dropFirst(name.count).split(separator: " ")
      if let value = words.first.flatMap({ Int($0) }) { return value }
    }
    throw HarnessError("no \(name) in \(path)")
  }
}

/// A process and all that descend from it.
struct ProcessTree {
  let root: Int32

  /// User and system time of all of them, in seconds.
  func processorSeconds() throws -> Double {
    try members().reduce(0) { $0 + (try ProcessFigures($1).processorSeconds()) }
  }

  /// The root and its descendants that run now.
  func members() throws -> [Int32] {
    var children: [Int32: [Int32]] = [:]
    guard let folder = opendir("/proc") else { throw HarnessError("cannot list /proc") }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      // A process may end between the listing and the reading.
      guard let process = Int32(name), let text = try? readText("/proc/\(name)/stat"),
        let parent = text.split(separator: ")").last?.split(separator: " ").dropFirst().first.flatMap({ Int32($0) })
      else { continue }
      children[parent, default: []].append(process)
    }
    var found = [root]
    var next = 0
    while next < found.count {
      found += children[found[next]] ?? []
      next += 1
    }
    return found
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
