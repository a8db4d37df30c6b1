// The timers of one loop, the earliest first.

/// One timer. Belongs to its loop's thread.
final class TimerEntry {
  /// When it fires.
  fileprivate(set) var due = Deadline.never
  /// Its place in the heap, or -1.
  fileprivate var index = -1
  /// Whether it fires early, rather than never, when the loop stops.
  let firesOnStop: Bool
  let fire: () -> Void

  init(firesOnStop: Bool = false, fire: @escaping () -> Void) {
    self.firesOnStop = firesOnStop
    self.fire = fire
  }

  var isScheduled: Bool { index >= 0 }
}

/// A binary heap of timers that know their place, so that one can be moved or removed.
struct TimerHeap {
  private var entries: [TimerEntry] = []

  /// When the earliest timer is due.
  var earliest: Deadline { entries.first?.due ?? .never }

  /// Sets or moves a timer, rounded up to `resolution` so that timers close to each other fire together.
  mutating func schedule(_ entry: TimerEntry, at deadline: Deadline) {
    let (rounded, overflow) = deadline.nanoseconds.addingReportingOverflow(Self.resolution - 1)
    let due = overflow ? .never : Deadline(nanoseconds: rounded / Self.resolution * Self.resolution)
    guard due < .never else {
      remove(entry)
      return
    }
    if !entry.isScheduled {
      entry.index = entries.count
      entries.append(entry)
    }
    entry.due = due
    siftUp(entry.index)
    siftDown(entry.index)
  }

  mutating func remove(_ entry: TimerEntry) {
    let index = entry.index
    guard index >= 0 else { return }
    entry.index = -1
    let last = entries.removeLast()
    guard last !== entry else { return }
    place(last, at: index)
    siftUp(index)
    siftDown(last.index)
  }

  /// Takes out the earliest timer if it is due.
  mutating func popDue(_ now: Deadline) -> TimerEntry? {
    guard let first = entries.first, first.due <= now else { return nil }
    remove(first)
    return first
  }

  /// Takes out all timers.
  mutating func removeAll() -> [TimerEntry] {
    let all = entries
    entries = []
    for entry in all { entry.index = -1 }
    return all
  }

  /// 10 ms.
  static let resolution: UInt64 = 10_000_000

  private mutating func place(_ entry: TimerEntry, at index: Int) {
    entries[index] = entry
    entry.index = index
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    let entry = entries[index]
    while index > 0 {
      let parent = (index - 1) / 2
      guard entry.due < entries[parent].due else { break }
      place(entries[parent], at: index)
      index = parent
    }
    place(entry, at: index)
  }

  private mutating func siftDown(_ start: Int) {
    var index = start
    let entry = entries[index]
    while true {
      var child = 2 * index + 1
      guard child < entries.count else { break }
      if child + 1 < entries.count, entries[child + 1].due < entries[child].due { child += 1 }
      guard entries[child].due < entry.due else { break }
      place(entries[child], at: index)
      index = child
    }
    place(entry, at: index)
  }
}
