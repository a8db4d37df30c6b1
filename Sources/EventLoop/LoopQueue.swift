// What waits for its turn on a loop, first come, first served.

/// A queue that keeps its memory.
struct LoopQueue<Element> {
  private var items: [Element] = []
  /// Those before it have been taken.
  private var next = 0

  var isEmpty: Bool { next == items.count }

  mutating func append(_ item: Element) { items.append(item) }

  /// Takes over what `others` has, which is empty then.
  mutating func append(takingFrom others: inout [Element]) {
    if items.isEmpty { swap(&others, &items) } else { items.append(contentsOf: others) }
    others.removeAll(keepingCapacity: true)
  }

  /// Takes out the first.
  mutating func pop() -> Element? {
    guard next < items.count else { return nil }
    let item = items[next]
    next += 1
    if next == items.count {
      items.removeAll(keepingCapacity: true)
      next = 0
    }
    return item
  }
}
