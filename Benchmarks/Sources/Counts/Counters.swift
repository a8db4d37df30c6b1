// Counts from inside a program: a small library laid under it writes them into a file that is mapped here.
import Glibc
import TestSupport

/// Builds the libraries of Benchmarks/preload.
enum Preload: String {
  /// Counts allocations and turns of loops.
  case counters
  /// Caps the index's map.
  case smallIndex = "small-index"

  /// Compiles it into a folder; returns the path of the library.
  func build(in folder: String) throws -> String {
    let library = "\(folder)/\(rawValue).so"
    try mustRun(
      "clang",
      ["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, "Benchmarks/preload/\(rawValue).c", "-ldl"])
    return library
  }
}

/// The counters of one process.
///
/// Unchecked: the memory is written by another process; words are read and written whole.
final class Counters {
  private let words: UnsafeMutablePointer<UInt64>
  private let library: String
  private let path: String
  private static let size = 4096

  /// Counters in a file of `folder`.
  init(in folder: String) throws {
    library = try Preload.counters.build(in: folder)
    path = "\(folder)/counters"
    try writeFile(path, [UInt8](repeating: 0, count: Self.size))
    words = try Self.map(path)
  }

  /// The counters of this process, which was started by another's `command`.
  init(own path: String) throws {
    (library, self.path) = ("", path)
    words = try Self.map(path)
  }

  private static func map(_ path: String) throws -> UnsafeMutablePointer<UInt64> {
    let file = open(path, O_RDWR | O_CLOEXEC)
    guard file >= 0 else { throw HarnessError("cannot open \(path)") }
    defer { close(file) }
    guard let map = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), map != MAP_FAILED else {
      throw HarnessError("cannot map \(path)")
    }
    return map.bindMemory(to: UInt64.self, capacity: size / 8)
  }

  deinit { munmap(words, Self.size) }

  /// What to put before a program. `env` is the last to run without the library: a program takes the settings away
  /// when it has begun, so that what it starts is not counted.
  var launcher: [String] { ["env", "LD_PRELOAD=\(library)", "BENCH_COUNTERS=\(path)"] }

  /// Calls of malloc and its kin since the start.
  var allocations: Int { Int(words[0]) }

  /// The longest time between two waits for events, since `forgetTurns`, in milliseconds: by the clock and by the
  /// processor.
  var longestTurn: (clock: Double, processor: Double) { (Double(words[2]) / 1e6, Double(words[3]) / 1e6) }

  /// How many turns there were since `forgetTurns`, and how many of more than 2 ms of processor time.
  var turns: (all: Int, long: Int) { (Int(words[4]), Int(words[5])) }

  func forgetTurns() { for index in 2...5 { words[index] = 0 } }
}
