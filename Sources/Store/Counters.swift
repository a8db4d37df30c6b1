// Counts of what the store did.
import Synchronization

/// A number any thread may add to.
final class Counter: Sendable {
  private let number = Atomic<Int>(0)

  func add(_ count: Int) { number.wrappingAdd(count, ordering: .relaxed) }

  var value: Int { number.load(ordering: .relaxed) }
}

/// The store's counts since it was opened.
struct Counters: Sendable {
  let evictions = Counter()
  let evictedBytes = Counter()
  let writeErrors = Counter()
  let readErrors = Counter()
  let checksumErrors = Counter()
  let missingData = Counter()
  let indexRowsRead = Counter()
  let bytesWritten = Counter()
  let bytesChecked = Counter()
  let poolReads = Counter()
  let commits = Counter()
  let packsReclaimed = Counter()
  let throttledWrites = Counter()
}
