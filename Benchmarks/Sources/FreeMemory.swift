// Memory that the host of a virtual machine has taken back, fetched before it can be a server's burden.
import Glibc
import TestSupport

/// What is free on this machine.
enum FreeMemory {
  /// Uses 1 GiB for a moment, so that what is used next needs nothing from the host.
  ///
  /// A host that takes back what is free (free page reporting, a balloon) lets the next use of each page wait: 10 µs
  /// were seen where 2 µs are usual. Without this a server that writes new files or takes new memory pays for it by
  /// chance, and one that writes over an old file never.
  static func touch() throws {
    let size = 1 << 30
    let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | Int32(MAP_POPULATE), -1, 0)
    guard memory != MAP_FAILED else { throw HarnessError.system("mmap of 1 GiB") }
    munmap(memory, size)
  }
}
