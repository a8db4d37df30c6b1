// What of the capacity is taken, promised and free.
import Synchronization

/// The account of the store's bytes.
final class Space: Sendable {
  struct Account {
    /// Bytes of representations' own files, by blocks.
    var files: UInt64 = 0
    /// Bytes of pack files, dead ones too.
    var packs: UInt64 = 0
    /// Small bodies in memory that are in no pack yet.
    var unpacked: UInt64 = 0
    var reserved: UInt64 = 0
    /// What the file system would still take, as last looked at, less what it is to keep.
    var deviceFree: UInt64 = .max

    var used: UInt64 { files + packs + unpacked }
  }

  let capacity: UInt64
  private let high: UInt64
  private let low: UInt64
  private let unpackedLimit: UInt64
  private let account = Mutex(Account())

  /// - Parameter unpackedLimit: how many bytes of small bodies may wait in memory for the index thread's usual round.
  init(capacity: UInt64, high: Double, low: Double, unpackedLimit: UInt64) {
    self.capacity = capacity
    self.unpackedLimit = unpackedLimit
    self.high = UInt64(Double(capacity) * min(max(high, 0), 1))
    self.low = UInt64(Double(capacity) * min(max(low, 0), max(high, 0), 1))
  }

  var current: Account { account.withLock { $0 } }

  func change(_ body: (inout Account) -> Void) { account.withLock { body(&$0) } }

  /// Promises `bytes` if they fit beside what is taken and promised.
  func reserve(_ bytes: UInt64) -> Bool {
    account.withLock { account in
      let wanted = account.reserved + bytes
      guard account.used + wanted <= capacity, wanted <= account.deviceFree else { return false }
      account.reserved = wanted
      return true
    }
  }

  /// Gives back what was promised and not used.
  func release(_ bytes: UInt64) {
    account.withLock { $0.reserved -= min(bytes, $0.reserved) }
  }

  /// Turns promised bytes into written ones. What the file system has free is looked at now and then only: until the
  /// next look it is less by what was written, or fills would share the same free space again and again.
  func use(_ bytes: UInt64) {
    account.withLock { account in
      account.reserved -= min(bytes, account.reserved)
      if account.deviceFree != .max { account.deviceFree -= min(bytes, account.deviceFree) }
    }
  }

  /// Whether bytes may be written that nobody promised.
  var hasRoom: Bool {
    account.withLock { $0.used + $0.reserved <= capacity && $0.reserved <= $0.deviceFree && $0.deviceFree > 0 }
  }

  /// Whether so many bytes could be promised now.
  func fits(_ bytes: UInt64) -> Bool {
    account.withLock { account in
      let wanted = account.reserved + bytes
      return account.used + wanted <= capacity && wanted <= account.deviceFree
    }
  }

  /// Whether eviction should begin.
  var isAboveHigh: Bool { account.withLock { $0.used + $0.reserved > high } }

  /// Whether the index thread is to come before its time: to evict, or because small bodies that wait for their places
  /// take more of the memory than they may. They cannot be dropped before, however much comes until then.
  var isUrgent: Bool { account.withLock { $0.used + $0.reserved > high || $0.unpacked > unpackedLimit } }

  /// How many bytes must go to reach the low watermark with `wanted` more promised.
  func excess(wanted: UInt64) -> UInt64 {
    account.withLock { account in
      let taken = account.used + account.reserved + wanted
      let byCapacity = taken > low ? taken - low : 0
      let promised = account.reserved + wanted
      let byDevice = promised > account.deviceFree ? promised - account.deviceFree : 0
      return max(byCapacity, byDevice)
    }
  }
}

/// Space promised to one fill. What is written is taken from it; the rest goes back when it is released or forgotten.
public final class Reservation: Sendable {
  private let space: Space
  private let left: Atomic<UInt64>

  init(space: Space, bytes: UInt64) {
    self.space = space
    left = Atomic(bytes)
  }

  deinit { space.release(left.load(ordering: .relaxed)) }

  /// Bytes promised and not yet written.
  public var remaining: UInt64 { left.load(ordering: .relaxed) }

  /// Takes over what is left of another promise of the same store.
  public func add(_ other: Reservation) {
    left.wrappingAdd(other.left.exchange(0, ordering: .relaxed), ordering: .relaxed)
  }

  /// Takes what was written from the promise; at most what remains.
  public func consume(_ bytes: UInt64) {
    var before = left.load(ordering: .relaxed)
    while true {
      let taken = min(bytes, before)
      let (exchanged, original) = left.compareExchange(
        expected: before, desired: before - taken, ordering: .relaxed)
      if exchanged {
        space.use(taken)
        return
      }
      before = original
    }
  }
}
