// A page cache that is full, as that of a machine which has run for long.
import Glibc
import TestSupport

/// Leaves this machine next to no free memory, by way of a file of holes that is read once: its pages are clean, and the
/// first that the kernel takes for something else.
///
/// The host of a virtual machine gives a page when it is first used, and may take back what is free (free page reporting,
/// a balloon): each such page then cost whoever used it next some 10 µs, where 0.5 µs are usual. Without this a server that
/// writes new files or takes new memory pays for it by chance, and one that writes over an old file never.
final class FullMemory {
  private let descriptor: Int32
  private var position: off_t = 0
  private static let fileSize: off_t = 1 << 40
  /// What is read beyond what is free, in bytes, so that the kernel has begun to take pages back.
  private static let beyond = 256 << 20
  /// What is filled at most, in bytes: a machine with more was not bought to be shared.
  private static let most = 32 << 30

  init(in folder: TemporaryFolder) throws {
    let path = folder.file("holes")
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw HarnessError.system("open of \(path)") }
    guard ftruncate(descriptor, Self.fileSize) == 0 else { throw HarnessError.system("ftruncate of \(path)") }
  }

  deinit { close(descriptor) }

  /// Fills what has become free since the last time.
  func fill() throws {
    var rest = min(try Self.freeBytes() + Self.beyond, Self.most)
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while rest > 0 {
      if position + off_t(buffer.count) > Self.fileSize { position = 0 }
      let count = buffer.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, position) }
      guard count > 0 else { throw HarnessError.system("pread of a file of holes") }
      position += off_t(count)
      rest -= count
    }
  }

  private static func freeBytes() throws -> Int {
    let lines = try readText("/proc/meminfo").split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix("MemFree:") }),
      let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { throw HarnessError("/proc/meminfo has no MemFree") }
    return kibibytes << 10
  }
}
