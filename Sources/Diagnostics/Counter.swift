// A number that only grows, counted by all threads.

import Synchronization

/// A counter. Adding costs one uncontended atomic instruction; readers may see it a moment late.
public struct Counter: ~Copyable, Sendable {
  private let count = Atomic<UInt64>(0)

  public init() {}

  public func add(_ number: UInt64 = 1) { count.wrappingAdd(number, ordering: .relaxed) }

  public var value: UInt64 { count.load(ordering: .relaxed) }
}
