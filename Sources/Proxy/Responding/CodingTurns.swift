// Content codings cost processor time: their pieces take turns, so that a loop does little of it at a time.

import EventLoop

/// Lets the coded bodies of one worker do one piece in each turn of its loop, one after the other. So however many
/// there are, everything else on the loop waits for one piece at most. Bound to its worker's loop.
final class CodingTurns {
  private let loop: EventLoop
  private var isTaken = false
  private var waiting: [UnsafeContinuation<Void, Never>] = []

  init(loop: EventLoop) {
    self.loop = loop
  }

  /// Does one piece of work when it is its turn.
  func take<Result, Failure>(_ work: () throws(Failure) -> Result) async throws(Failure) -> Result {
    // Who is woken here has been handed the turn.
    if isTaken { await withUnsafeContinuation { waiting.append($0) } }
    isTaken = true
    await loop.nextTurn()
    defer {
      if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
    return try work()
  }
}
