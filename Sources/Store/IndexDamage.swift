// What was found to be wrong with the index while it was read.
import Diagnostics
import Synchronization

/// Rows that are not what was written: each is logged and counted the first time it is met, and counts as absent.
final class IndexDamage: Sendable {
  /// So many different rows are told apart; more are only counted.
  private static let remembered = 10_000

  /// How many bad rows, and failed looks into the index, there were.
  let count = Counter()
  private let log: Log
  private let known = Mutex<Set<UInt64>>([])

  init(log: Log) { self.log = log }

  /// Notes a row whose checksum is wrong, or that cannot be decoded.
  func note(_ table: Table, key: UnsafeRawBufferPointer, _ what: String) {
    let identity = RowSeal.sum(table, key: key, value: UnsafeRawBufferPointer(start: nil, count: 0))
    guard isNew(identity) else { return }
    count.add(1)
    let name = key.prefix(32).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    log.warning("cache: the row \(name) of the index's table \(table.name) \(what): it counts as absent")
  }

  /// Notes that LMDB could not read something of a table.
  func note(_ table: Table, code: Int32) {
    guard isNew(UInt64(UInt32(bitPattern: code)) << 8 | UInt64(table.rawValue)) else { return }
    count.add(1)
    log.error(
      "cache: the index's table \(table.name) cannot be read: \(IndexError(code: code).explanation); "
        + "stop the server and run `larder verify --repair`")
  }

  private func isNew(_ identity: UInt64) -> Bool {
    known.withLock { $0.count < IndexDamage.remembered && $0.insert(identity).inserted }
  }
}
