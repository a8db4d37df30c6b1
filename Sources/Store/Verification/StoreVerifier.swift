// Checking a whole store, and taking out of it what is bad.
import Glibc
import HTTPMessage

/// Something that is not as it should be.
public enum StoreFinding: Sendable, Equatable {
  /// An extent whose bytes do not have their checksum; `found` nil where they are not there or cannot be read.
  case extent(
    file: String, offset: UInt64, lower: UInt64, length: UInt64, expected: UInt64, found: UInt64?, url: String?)
  /// A row of the index that does not have its checksum, or cannot be read.
  case row(table: String, key: String, expected: UInt64, found: UInt64?)
  /// A page of the index that cannot be right.
  case page(String)
  /// The damaged index was replaced by what could be read of it, and is kept under this name.
  case salvaged(rows: Int, kept: String)
  /// A file that nothing refers to.
  case orphanFile(path: String, bytes: UInt64)
  /// A row that refers to nothing that is there.
  case orphanRow(table: String, key: String)

  /// One line.
  public var explanation: String {
    switch self {
    case .extent(let file, let offset, let lower, let length, let expected, let found, let url):
      "bad extent: \(file) offset \(offset) length \(length): expected \(hexadecimal(expected)), "
        + "found \(found.map(hexadecimal) ?? "nothing") "
        + "(bytes \(lower)-\(lower + length - 1) of \(url ?? "an unknown object"))"
    case .row(let table, let key, let expected, let found):
      "bad row: table \(table) key \(key): expected \(hexadecimal(expected)), "
        + "found \(found.map(hexadecimal) ?? "nothing")"
    case .page(let what): "bad index: \(what)"
    case .salvaged(let rows, let kept): "index: \(rows) rows kept of a damaged one, which is now \(kept)"
    case .orphanFile(let path, let bytes): "orphan file: \(path) (\(bytes) bytes)"
    case .orphanRow(let table, let key): "orphan row: table \(table) key \(key)"
    }
  }
}

/// What was looked at and what was found.
public struct StoreVerdict: Sendable, Equatable {
  /// Representations.
  public var objects = 0
  /// Extents whose bytes were read.
  public var extents = 0
  /// Bytes of those.
  public var bytes: UInt64 = 0
  /// Extents that are bad or gone.
  public var badExtents = 0
  /// Rows and pages of the index that are not what was written.
  public var badRows = 0
  public var badPages = 0
  /// Files and rows that nothing refers to.
  public var orphans = 0
  /// Whether what was found has been taken out.
  public var isRepaired = false

  /// Whether something is (or was) not what was written.
  public var isBad: Bool { badExtents + badRows + badPages > 0 }
}

/// How far a check has come.
public struct VerificationProgress: Sendable {
  public var bytes: UInt64
  /// The bytes that there are; a little more or less while a server runs.
  public var total: UInt64
}

/// Checks every row, every extent and every file of a store against what was written.
public enum StoreVerifier {
  /// Checks the store in `directory`, also while a server has it open: it is only read then. With `repairs` it is opened
  /// for writing, which nobody else may have done: bad extents and rows are taken out, and files and rows that nothing
  /// refers to are removed.
  ///
  /// Memory does not grow with the store. Throws where the store cannot be opened.
  public static func run(
    directory: String, repairs: Bool, report: @escaping (StoreFinding) -> Void,
    progress: @escaping (VerificationProgress) -> Void
  ) throws(StoreOpenError) -> StoreVerdict {
    let layout = Layout(directory: directory)
    let calls = SystemCalls()
    guard let size = calls.size(of: layout.indexData)?.length else {
      throw .absent(directory: layout.root)
    }
    guard size > 0 else { throw .badIndex(directory: layout.root, reason: "it is empty") }
    var lock: StoreLock?
    if repairs { lock = try StoreLock(calls.openNeeded(layout.lock, flags: O_RDWR | O_CREAT), layout) }
    defer { withExtendedLifetime(lock) {} }
    var verdict = StoreVerdict()
    let damage = try IndexPages(layout: layout, calls: calls).damage(isOurs: repairs)
    for found in damage { report(.page(found.explanation)) }
    verdict.badPages = damage.count
    if !damage.isEmpty {
      // LMDB cannot be let near it.
      guard repairs else { return verdict }
      report(try Salvage(layout: layout, calls: calls).run())
    }
    var verification = try Verification(
      layout: layout, calls: calls, repairs: repairs, verdict: verdict, report: report, progress: progress)
    return try verification.run()
  }
}

/// A number's sixteen digits.
func hexadecimal(_ number: UInt64) -> String {
  let text = String(number, radix: 16)
  return String(repeating: "0", count: 16 - text.utf8.count) + text
}

/// Octets as digits.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
}
