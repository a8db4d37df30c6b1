// What can go wrong with a store, in words.
import Glibc

/// Why a store cannot be opened. Nothing half-made is left behind, and nothing is ever wiped.
public enum StoreOpenError: Error, Equatable, Sendable {
  /// The directory or something in it cannot be read, written or made; `code` is an `errno`.
  case unusable(path: String, code: Int32)
  /// There is no room on the file system.
  case noSpace(path: String)
  /// There is no store in the directory.
  case absent(directory: String)
  /// The directory has other things in it, and no store.
  case occupied(directory: String, name: String)
  /// Another process has the store open.
  case inUse(directory: String)
  /// The index was written by another version.
  case unknownVersion(directory: String, found: UInt32, expected: UInt32)
  /// The index cannot be read: not one of ours, or broken.
  case badIndex(directory: String, reason: String)
  /// Pages of the index are not what was written, or are gone.
  case damagedIndex(directory: String, reason: String)

  /// One line that says what is wrong and what to do.
  public var explanation: String {
    switch self {
    case .unusable(let path, let code):
      "cannot use \(path) for the cache: \(String(cString: strerror(code)))"
    case .noSpace(let path):
      "no space left on the device of \(path): free some, or put the cache elsewhere"
    case .absent(let directory):
      "there is no cache in \(directory): a cache has its index in \(directory)/index"
    case .occupied(let directory, let name):
      "\(directory) has \(name) in it and is no cache: give the cache an empty directory, or one that does not exist yet"
    case .inUse(let directory):
      "the cache in \(directory) is in use by another process: stop it, or give this one another directory"
    case .unknownVersion(let directory, let found, let expected):
      "the cache in \(directory) has format \(found), this program reads format \(expected): "
        + "use the program that wrote it, remove the directory, or choose another one"
    case .badIndex(let directory, let reason):
      "the index of the cache in \(directory) cannot be read (\(reason)): "
        + "remove the directory to begin anew, or choose another one"
    case .damagedIndex(let directory, let reason):
      "the index of the cache in \(directory) is damaged (\(reason)): "
        + "`larder verify --repair --cache-dir \(directory)` keeps what can still be read of it, "
        + "or remove the directory to begin anew"
    }
  }
}

/// Why the store could not do what it was asked.
public enum StoreError: Error, Equatable, Sendable {
  /// The capacity or the file system is full.
  case noSpace
  /// No room was promised: what there is, is in use. Nothing was tried.
  case noRoom
  /// The file system is mounted read-only.
  case readOnly
  /// The disk failed; an `errno`.
  case io(Int32)
  /// The bytes are not there (never written, evicted, or lost behind the store's back).
  case absent
  /// The bytes did not have their checksum; they have been dropped and are absent from now on.
  case corrupted

  init(_ error: SystemError) {
    switch error.code {
    case ENOSPC, EDQUOT, EFBIG: self = .noSpace
    case EROFS: self = .readOnly
    default: self = .io(error.code)
    }
  }

  /// One line for logs and error pages.
  public var explanation: String {
    switch self {
    case .noSpace: "no space left in the cache or on its file system"
    case .noRoom: "no room in the cache beside what is in use"
    case .readOnly: "the cache's file system is read-only"
    case .io(let code): "the cache's disk failed: \(String(cString: strerror(code)))"
    case .absent: "the bytes are not in the cache"
    case .corrupted: "the cached bytes did not have their checksum"
    }
  }
}
