// A disk that fails or waits at a test's word, for the real binary: a library loaded before the C library's calls.
internal import Glibc

/// Stands between a program and its system calls on the files below one folder.
///
/// The library is compiled once by the toolchain's clang. It reads what to do from a file that both sides map; a read
/// that is made to wait says so through a pipe, and goes on when it is told to through another.
public final class DiskShim: Sendable {
  /// The calls that can be made to fail.
  public enum Call: Int, Sendable {
    case read = 0
    case write = 1
    case sync = 2
    case open = 3
    /// Giving a file blocks, and taking them back.
    case allocate = 5
  }

  private let control: Int32
  private let waiting: Int32
  private let gate: Int32
  /// What the program's environment needs.
  public let environment: [String: String]

  /// Acts on files whose paths contain `part`. Throws where there is no compiler.
  public init(in folder: TemporaryFolder, filesWith part: String) throws {
    let library = folder.file("shim.so")
    try writeFile(folder.file("shim.c"), Self.source)
    try mustRun(
      "clang", ["-shared", "-fPIC", "-O1", "-o", library, folder.file("shim.c"), "-ldl"])
    let paths = ["control", "waiting", "gate"].map { folder.file("shim-\($0)") }
    try writeFile(paths[0], [UInt8](repeating: 0, count: 4096))
    for path in paths[1...] where mkfifo(path, 0o600) != 0 { throw HarnessError.system("mkfifo \(path)") }
    // Open for both directions: neither end then waits for the other to be opened.
    let descriptors = paths.map { open($0, O_RDWR | O_CLOEXEC) }
    for (path, descriptor) in zip(paths, descriptors) where descriptor < 0 { throw HarnessError.system("open \(path)") }
    control = descriptors[0]
    waiting = descriptors[1]
    gate = descriptors[2]
    environment = [
      "LD_PRELOAD": library, "SHIM_CONTROL": paths[0], "SHIM_WAITING": paths[1], "SHIM_GATE": paths[2],
      "SHIM_FILES": part,
    ]
  }

  deinit { for descriptor in [control, waiting, gate] { close(descriptor) } }

  /// Makes a kind of call fail with an `errno` from now on, or with 0, work again.
  public func fail(_ call: Call, with code: Int32) { set(call.rawValue, code) }

  /// Makes every byte look cold and every read wait, from now on.
  public func closeGate() { set(4, 1) }

  /// Waits until a read waits.
  public func waitForWaiting() throws {
    var entry = pollfd(fd: waiting, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, Int32(Patience.seconds * 1000)) == 1 else { throw HarnessError("no read came to the gate") }
    var byte: UInt8 = 0
    guard read(waiting, &byte, 1) == 1 else { throw HarnessError.system("read of the pipe") }
  }

  /// Lets the reads that wait go on, and later ones pass.
  public func openGate() {
    set(4, 0)
    let bytes = [UInt8](repeating: 1, count: 1024)
    _ = write(gate, bytes, bytes.count)
  }

  private func set(_ place: Int, _ value: Int32) {
    var value = value
    _ = pwrite(control, &value, 4, off_t(4 * place))
  }

  private static let source = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <stdarg.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/uio.h>
    #include <unistd.h>

    static volatile int *control;
    static int waiting = -1, gate = -1;
    static const char *files;

    #define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

    __attribute__((constructor)) static void begin(void) {
      int descriptor = REAL(open)(getenv("SHIM_CONTROL"), O_RDWR | O_CLOEXEC);
      control = mmap(0, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
      waiting = REAL(open)(getenv("SHIM_WAITING"), O_RDWR | O_CLOEXEC);
      gate = REAL(open)(getenv("SHIM_GATE"), O_RDWR | O_CLOEXEC);
      files = getenv("SHIM_FILES");
    }

    static int is_ours(int descriptor) {
      char name[64], path[4096];
      snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
      ssize_t count = readlink(name, path, sizeof path - 1);
      if (count < 0) return 0;
      path[count] = 0;
      return strstr(path, files) != 0;
    }

    static int fails(int kind, int descriptor) {
      if (!control || !control[kind] || !is_ours(descriptor)) return 0;
      errno = control[kind];
      return 1;
    }

    static void pass_gate(int descriptor) {
      char byte = 1;
      if (!control || !control[4] || !is_ours(descriptor)) return;
      if (write(waiting, &byte, 1) != 1) return;
      while (read(gate, &byte, 1) < 0 && errno == EINTR) {}
    }

    ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
      if (fails(0, descriptor)) return -1;
      pass_gate(descriptor);
      return REAL(pread)(descriptor, bytes, count, offset);
    }
    ssize_t pread64(int descriptor, void *bytes, size_t count, off_t offset) {
      return pread(descriptor, bytes, count, offset);
    }
    ssize_t preadv2(int descriptor, const struct iovec *vectors, int count, off_t offset, int flags) {
      if (fails(0, descriptor)) return -1;
      if (control && control[4] && is_ours(descriptor)) { errno = EAGAIN; return -1; }
      return REAL(preadv2)(descriptor, vectors, count, offset, flags);
    }
    ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
      if (fails(1, descriptor)) return -1;
      return REAL(pwrite)(descriptor, bytes, count, offset);
    }
    ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) {
      return pwrite(descriptor, bytes, count, offset);
    }
    ssize_t pwritev(int descriptor, const struct iovec *vectors, int count, off_t offset) {
      if (fails(1, descriptor)) return -1;
      return REAL(pwritev)(descriptor, vectors, count, offset);
    }
    int fdatasync(int descriptor) { return fails(2, descriptor) ? -1 : REAL(fdatasync)(descriptor); }
    int fsync(int descriptor) { return fails(2, descriptor) ? -1 : REAL(fsync)(descriptor); }
    int fallocate(int descriptor, int mode, off_t offset, off_t length) {
      return fails(5, descriptor) ? -1 : REAL(fallocate)(descriptor, mode, offset, length);
    }
    int fallocate64(int descriptor, int mode, off_t offset, off_t length) {
      return fallocate(descriptor, mode, offset, length);
    }
    int open(const char *path, int flags, ...) {
      va_list arguments;
      va_start(arguments, flags);
      int mode = va_arg(arguments, int);
      va_end(arguments);
      if (control && control[3] && strstr(path, files)) { errno = control[3]; return -1; }
      return REAL(open)(path, flags, mode);
    }
    int open64(const char *path, int flags, ...) {
      va_list arguments;
      va_start(arguments, flags);
      int mode = va_arg(arguments, int);
      va_end(arguments);
      return open(path, flags, mode);
    }

    """
}
