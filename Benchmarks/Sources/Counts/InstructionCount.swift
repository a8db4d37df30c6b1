// Instructions of a program, counted by callgrind while it runs.
import Glibc
import TestSupport

/// A program that runs under callgrind, and what it has executed between two points.
final class InstructionCount {
  private let folder: String
  private var dumps = 0

  init(in folder: String) throws {
    self.folder = folder
    try makeFolder(folder)
  }

  /// What to put before the program.
  func launcher() throws -> [String] {
    let library = try Preload.smallIndex.build(in: folder)
    return [
      "env", "LD_PRELOAD=\(library)", "valgrind", "--tool=callgrind", "--quiet", "--vgdb-prefix=\(folder)/vgdb",
      "--callgrind-out-file=\(folder)/out",
    ]
  }

  /// Instructions in user mode, all threads, since the last call.
  func take(_ process: Int32) throws -> Int {
    try mustRun("vgdb", ["--pid=\(process)", "--vgdb-prefix=\(folder)/vgdb", "dump"])
    dumps += 1
    let path = "\(folder)/out.\(dumps)"
    let line = try waitForFile(path, for: "callgrind's totals") { text in
      text.split(separator: "\n").last { $0.hasPrefix("totals: ") }
    }
    unlink(path)
    guard let count = line.split(separator: " ").last.flatMap({ Int($0) }) else {
      throw HarnessError("callgrind's totals are strange: \(line)")
    }
    return count
  }
}
