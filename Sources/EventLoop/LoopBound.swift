// What an actor needs to live on a loop.

/// An actor whose code runs on one loop, together with the tasks it begins there.
public protocol LoopBound: Actor {
  /// The loop; it must outlive the actor.
  nonisolated var loop: EventLoop { get }
}

extension LoopBound {
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// Begins a task on the loop, isolated to this actor; its body may use what is bound to the loop.
  ///
  /// Must be called on the loop.
  @discardableResult
  public nonisolated func spawn(_ body: @escaping () async -> Void) -> Task<Void, Never> {
    precondition(loop.isCurrent, "a task can be begun on its own loop only")
    let carried = LoopConfined(body)
    return Task(executorPreference: loop) { @Sendable [self] in await run(carried) }
  }

  private func run(_ carried: LoopConfined<() async -> Void>) async { await carried.value() }
}

/// Carries a value that is bound to a loop through a closure or a task that the same loop runs.
///
/// Unchecked, because the compiler cannot know that both ends are on one thread. Whoever makes one vouches for it:
/// it is made on the loop, and opened in a callback of that loop, in a job of that loop, or nowhere.
public struct LoopConfined<Value>: @unchecked Sendable {
  public let value: Value

  public init(_ value: Value) { self.value = value }
}
