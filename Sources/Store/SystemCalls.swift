// The one gate for system calls on files: a failing disk is forced here by tests, and nowhere else.
import CLMDB
import Glibc
import Spans

/// A system call's `errno`.
struct SystemError: Error, Equatable {
  let code: Int32

  var explanation: String { String(cString: strerror(code)) }

  /// Whether it says nothing about the file: the process or the machine is short of something.
  var isPassing: Bool { [EMFILE, ENFILE, ENOMEM, EAGAIN].contains(code) }
}

#if DEBUG
  /// A call about to be made, as tests see it.
  enum SystemCall: Sendable {
    case open(path: String)
    case read(descriptor: Int32, offset: UInt64, count: Int)
    case write(descriptor: Int32, offset: UInt64, count: Int)
    case sync(descriptor: Int32)
    case allocate(descriptor: Int32)
    case punch(descriptor: Int32, offset: UInt64, count: UInt64)
    case unlink(path: String)
    case commit
  }

  /// What becomes of a call.
  enum Fate: Sendable {
    case proceed
    case fail(Int32)
    /// A write or a read that stops after so many bytes; the next call finds the disk in whatever state the test has it.
    case shortened(Int)
  }

  /// Decides the fate of calls; consulted right before each.
  protocol FaultySystem: Sendable {
    func fate(of call: SystemCall) -> Fate
  }
#endif

/// How large a file is, and how many bytes its blocks have.
struct FileSize {
  var length: UInt64
  var blocks: UInt64
}

/// System calls on files; in release builds each method is the call and nothing else.
struct SystemCalls: Sendable {
  #if DEBUG
    let faults: (any FaultySystem)?

    init(faults: (any FaultySystem)? = nil) { self.faults = faults }

    private func fate(of call: SystemCall) -> Fate { faults?.fate(of: call) ?? .proceed }
  #endif

  func open(_ path: String, flags: Int32) throws(SystemError) -> Int32 {
    #if DEBUG
      if case .fail(let code) = fate(of: .open(path: path)) { throw SystemError(code: code) }
    #endif
    while true {
      let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o644)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw SystemError(code: errno) }
    }
  }

  /// Writes all of `bytes`; where it throws, any part of them may have been written.
  func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: UInt64) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      var wanted = bytes.count - written
      let position = offset + UInt64(written)
      #if DEBUG
        switch fate(of: .write(descriptor: descriptor, offset: position, count: wanted)) {
        case .proceed: break
        case .fail(let code): throw SystemError(code: code)
        case .shortened(let count): wanted = max(1, min(count, wanted))
        }
      #endif
      guard let base = bytes.baseAddress else { return }
      let count = pwrite(descriptor, base + written, wanted, off_t(position))
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError(code: errno)
      }
      // A regular file takes at least a byte or says why not; anything else would loop for ever.
      if count == 0 { throw SystemError(code: EIO) }
      written += count
    }
  }

  /// Reads as many bytes as there are up to the size of `buffer`; fewer only at the end of the file.
  func read(into buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, at offset: UInt64) throws(SystemError)
    -> Int
  {
    var total = 0
    while total < buffer.count, let base = buffer.baseAddress {
      var wanted = buffer.count - total
      #if DEBUG
        switch fate(of: .read(descriptor: descriptor, offset: offset + UInt64(total), count: wanted)) {
        case .proceed: break
        case .fail(let code): throw SystemError(code: code)
        case .shortened(let count): wanted = max(1, min(count, wanted))
        }
      #endif
      let count = pread(descriptor, base + total, wanted, off_t(offset) + off_t(total))
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError(code: errno)
      }
      if count == 0 { break }
      total += count
    }
    return total
  }

  /// Whether the byte at `offset` can be read without waiting for the disk.
  func isResident(_ descriptor: Int32, at offset: UInt64) -> Bool {
    var byte: UInt8 = 0
    return withUnsafeMutablePointer(to: &byte) { pointer in
      var vector = iovec(iov_base: pointer, iov_len: 1)
      return preadv2(descriptor, &vector, 1, off_t(offset), Int32(larder_rwf_nowait)) == 1
    }
  }

  /// Brings a file's data, and what is needed to find it, to the disk.
  func sync(_ descriptor: Int32) throws(SystemError) {
    #if DEBUG
      if case .fail(let code) = fate(of: .sync(descriptor: descriptor)) { throw SystemError(code: code) }
    #endif
    while fdatasync(descriptor) != 0 {
      if errno != EINTR { throw SystemError(code: errno) }
    }
  }

  /// Gives the blocks of a part of a file back; its length stays.
  func punch(_ descriptor: Int32, offset: UInt64, count: UInt64) throws(SystemError) {
    #if DEBUG
      if case .fail(let code) = fate(of: .punch(descriptor: descriptor, offset: offset, count: count)) {
        throw SystemError(code: code)
      }
    #endif
    let mode = Int32(larder_falloc_punch_hole | larder_falloc_keep_size)
    while fallocate(descriptor, mode, off_t(offset), off_t(count)) != 0 {
      if errno != EINTR { throw SystemError(code: errno) }
    }
  }

  /// Gives a part of a file its blocks before it is written; best effort. False where the file system cannot.
  func allocate(_ descriptor: Int32, _ span: ByteSpan) -> Bool {
    #if DEBUG
      if case .fail(let code) = fate(of: .allocate(descriptor: descriptor)) { return code != EOPNOTSUPP }
    #endif
    while fallocate(descriptor, Int32(larder_falloc_keep_size), off_t(span.lower), off_t(span.count)) != 0 {
      if errno != EINTR { return errno != EOPNOTSUPP && errno != ENOSYS }
    }
    return true
  }

  /// Removes a file; one that is not there counts as removed.
  func unlink(_ path: String) throws(SystemError) {
    #if DEBUG
      if case .fail(let code) = fate(of: .unlink(path: path)) { throw SystemError(code: code) }
    #endif
    if Glibc.unlink(path) != 0, errno != ENOENT { throw SystemError(code: errno) }
  }

  /// Gives a file another name, in the place of one that may have it.
  func rename(_ path: String, to new: String) throws(SystemError) {
    #if DEBUG
      if case .fail(let code) = fate(of: .unlink(path: path)) { throw SystemError(code: code) }
    #endif
    if Glibc.rename(path, new) != 0 { throw SystemError(code: errno) }
  }

  /// Makes a directory; false when it is there already.
  func makeDirectory(_ path: String) throws(SystemError) -> Bool {
    #if DEBUG
      if case .fail(let code) = fate(of: .open(path: path)) { throw SystemError(code: code) }
    #endif
    if mkdir(path, 0o755) == 0 { return true }
    // A file system that is read-only says so also of what is there.
    if errno == EEXIST || (errno == EROFS && access(path, F_OK) == 0) { return false }
    throw SystemError(code: errno)
  }

  /// Brings a directory's names to the disk.
  func syncDirectory(_ path: String) throws(SystemError) {
    let descriptor = try open(path, flags: O_RDONLY | O_DIRECTORY)
    defer { close(descriptor) }
    try sync(descriptor)
  }

  /// The names in a directory, without "." and ".."; none when it cannot be read.
  func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// How many bytes the file system of `path` would still take from us; nil when it does not say.
  func freeBytes(at path: String) -> UInt64? {
    var facts = statvfs()
    guard statvfs(path, &facts) == 0 else { return nil }
    // Without a number for another file there is no room for its bytes either; some file systems do not count them.
    if facts.f_files > 0, facts.f_favail == 0 { return 0 }
    return UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
  }

  func length(of descriptor: Int32) -> UInt64? {
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { return nil }
    return UInt64(facts.st_size)
  }

  /// Makes sure that a file can grow by some hundred KiB whatever others put on its file system; best effort.
  func keepRoom(behind path: String) {
    guard let descriptor = try? open(path, flags: O_RDWR) else { return }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_blocks * 512 < facts.st_size + (256 << 10) else { return }
    _ = fallocate(descriptor, Int32(larder_falloc_keep_size), facts.st_size, 512 << 10)
  }

  /// The size of a file by its name; nil when it is not there.
  func size(of path: String) -> FileSize? {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return nil }
    return FileSize(length: UInt64(facts.st_size), blocks: UInt64(facts.st_blocks) * 512)
  }

  #if DEBUG
    /// The index's commit is LMDB's own; tests may stop it before it begins.
    func allowsCommit() -> Bool {
      if case .fail = fate(of: .commit) { return false }
      return true
    }
  #else
    func allowsCommit() -> Bool { true }
  #endif
}
