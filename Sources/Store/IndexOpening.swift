// Opening the index of a store: its pages are looked at first, then its format.
import Diagnostics
import Glibc

extension Opening {
  /// What the file system must have free for a new index to be made, in bytes.
  private static let leastFree: UInt64 = 1 << 20
  /// All pages of an index up to this size are looked at, which takes a fraction of a second; of a larger one those that
  /// lead to others.
  private static let fullyChecked: UInt64 = 256 << 20
  /// What LMDB's lock file has at least, in bytes: room for a thousand readers.
  private static let lockFileSize: off_t = 64 << 10

  /// Opens the index with its tables, and takes over one of the format before.
  mutating func openIndex(_ mode: Index.Mode) throws(StoreOpenError) -> Index {
    try checkPages()
    if mode == .readWrite { try prepareFiles() }
    do throws(IndexError) {
      let index = try openEnvironment(mode)
      do throws(IndexError) {
        var migrates = false
        if try index.hasTables() {
          migrates = try checkFormat(index, mode)
        } else if mode == .readOnly {
          throw IndexError(code: EROFS)
        }
        try index.openTables()
        if migrates { try migrate(index) }
      } catch {
        index.close()
        throw error
      }
      return index
    } catch {
      if error.code == Index.unknownFormat {
        throw .unknownVersion(directory: layout.root, found: UInt32(bitPattern: error.detail), expected: Opening.format)
      }
      throw StoreOpenError(error, layout)
    }
  }

  private func openEnvironment(_ mode: Index.Mode) throws(IndexError) -> Index {
    let damage = IndexDamage(log: log)
    let mapBytes = max(64 << 30, Int(clamping: options.capacity / 8))
    // An address range costs nothing; where even that is limited, a smaller one serves.
    do throws(IndexError) {
      return try Index(directory: layout.index, mapBytes: mapBytes, mode: mode, damage: damage)
    } catch {
      guard error.code == ENOMEM else { throw error }
      return try Index(directory: layout.index, mapBytes: 4 << 30, mode: mode, damage: damage)
    }
  }

  /// LMDB believes its pages: one that cannot be right, or is not there any more, would be a crash.
  private func checkPages() throws(StoreOpenError) {
    let descriptor: Int32
    do throws(SystemError) {
      descriptor = try calls.open(layout.indexData, flags: O_RDONLY)
    } catch {
      if error.code == ENOENT { return }
      throw StoreOpenError(error.code, path: layout.indexData)
    }
    defer { close(descriptor) }
    guard let size = calls.length(of: descriptor), size > 0 else { return }
    let (first, second) = PageWalk.heads(descriptor, calls)
    if case .failure(let error) = first, case .failure = second {
      throw .badIndex(directory: layout.root, reason: error.explanation)
    }
    do throws(PageDamage) {
      var walk = try PageWalk.newest(descriptor, calls: calls, depth: size <= Self.fullyChecked ? .all : .branches)
      walk.run { _, _, _ in }
      if let first = walk.damage.first { throw first }
    } catch {
      throw .damagedIndex(directory: layout.root, reason: error.explanation)
    }
  }

  /// LMDB maps its lock file and writes to it there: where the file system had no block for it, that would be SIGBUS.
  /// And its data file is to have some room to grow when others have filled the file system.
  private mutating func prepareFiles() throws(StoreOpenError) {
    let isNew = access(layout.indexData, F_OK) != 0
    for file in [layout.indexData, layout.indexLock] where access(file, F_OK) != 0 { made.append(file) }
    if isNew, let free = calls.freeBytes(at: layout.root), free < Self.leastFree { throw .noSpace(path: layout.root) }
    do throws(SystemError) {
      let descriptor = try calls.open(layout.indexLock, flags: O_RDWR | O_CREAT)
      defer { close(descriptor) }
      let code = posix_fallocate(descriptor, 0, Self.lockFileSize)
      if code != 0 { throw SystemError(code: code) }
    } catch {
      throw StoreOpenError(error.code, path: layout.indexLock)
    }
  }

  /// Whether the index is of the format before, to be taken over.
  private func checkFormat(_ index: Index, _ mode: Index.Mode) throws(IndexError) -> Bool {
    let row = try index.peekMeta(IndexKey.format) ?? []
    let found = Opening.decode(row) as UInt32?
    if found == Index.unsealedFormat, row.count == 4, mode == .readWrite { return true }
    guard found == Opening.format else {
      throw IndexError(code: Index.unknownFormat, detail: Int32(bitPattern: found ?? 0))
    }
    return false
  }

  private func migrate(_ index: Index) throws(IndexError) {
    log.info("cache: giving the rows of the index checksums: it is of format \(Index.unsealedFormat)")
    do {
      try index.migrate(to: Opening.format)
    } catch {
      throw error as? IndexError ?? IndexError(code: EINVAL)
    }
  }

  static func decode<Number: FixedWidthInteger & BitwiseCopyable>(_ bytes: [UInt8]) -> Number? {
    var reader = RecordReader()
    return try? reader.number(bytes.span.bytes)
  }
}

extension SystemCalls {
  /// Opens a file without which the store cannot be opened.
  func openNeeded(_ path: String, flags: Int32) throws(StoreOpenError) -> Int32 {
    do throws(SystemError) {
      return try open(path, flags: flags)
    } catch {
      throw StoreOpenError(error.code, path: path)
    }
  }
}

extension StoreOpenError {
  /// What a system call's failure comes to.
  init(_ code: Int32, path: String) {
    self = code == ENOSPC || code == EDQUOT ? .noSpace(path: path) : .unusable(path: path, code: code)
  }

  init(_ error: IndexError, _ layout: Layout) {
    switch error.code {
    case ENOSPC, EDQUOT: self = .noSpace(path: layout.index)
    case EACCES, EPERM, EROFS, EIO, ENOTDIR, EISDIR: self = .unusable(path: layout.index, code: error.code)
    default: self = .badIndex(directory: layout.root, reason: error.explanation)
    }
  }
}
