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
    await begin()
    await loop.nextTurn()
    defer {
      if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
    return try work()
  }

  /// Waits for the turn, and takes it.
  private func begin() async {
    await withUnsafeContinuation { continuation in
      // Looked at inside: the turn may have ended while this task was on its way to wait. Who is woken later has been
      // handed it.
      if isTaken {
        waiting.append(continuation)
      } else {
        isTaken = true
        continuation.resume()
      }
    }
  }
}
