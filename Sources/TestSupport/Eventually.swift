// Waits for a state of another process that announces itself by no event.
internal import Glibc

/// Asks again and again until the answer is there. Throws, naming `what` and the last answer, when that takes too long.
///
/// Only for what can be asked and does not tell, such as the number of open descriptors of a process.
@discardableResult
public func eventually<Answer>(
  _ what: String, seconds: Double = Patience.seconds, until isReached: (Answer) throws -> Bool,
  ask: () throws -> Answer
) throws -> Answer {
  let limit = monotonicSeconds() + seconds
  while true {
    let answer = try ask()
    if try isReached(answer) { return answer }
    guard monotonicSeconds() < limit else { throw HarnessError("waited \(seconds) s in vain for \(what): \(answer)") }
    poll(nil, 0, 2)
  }
}
