// How often and how soon a fill that was cut off asks again.

public import Configuration
import EventLoop

/// Jittered exponential backoff, bounded by attempts without progress. A pure value: randomness is passed in.
public struct RetryPolicy: Sendable {
  /// Attempts that brought nothing, one after another, before the fill gives up.
  public let attempts: Int
  /// The first delay, in seconds; each further attempt doubles it.
  public let backoff: Double
  /// No delay is longer, in seconds.
  public let longest: Double
  private var fruitless = 0

  public init(attempts: Int, backoff: Double, longest: Double) {
    self.attempts = attempts
    self.backoff = backoff
    self.longest = longest
  }

  public init(_ settings: Settings) {
    self.init(
      attempts: settings.fills.attempts, backoff: settings.fills.backoff.inSeconds,
      longest: settings.fills.backoffMax.inSeconds)
  }

  /// What to do after a failure.
  public enum Decision: Equatable, Sendable {
    /// Ask again after so many seconds.
    case again(after: Double)
    case giveUp
  }

  /// A byte has arrived since the last failure: the count begins anew.
  public mutating func progressed() { fruitless = 0 }

  /// Another failure.
  ///
  /// - Parameter retryAfter: what the origin asked for, in seconds (RFC 9110 §10.2.3); longer than the longest
  ///   delay means that waiting is no use.
  /// - Parameter jitter: 0 to 1; the delay lies between half and the whole of its nominal length.
  public mutating func failed(retryAfter: Double? = nil, jitter: Double) -> Decision {
    fruitless += 1
    guard fruitless <= attempts else { return .giveUp }
    if let retryAfter {
      return retryAfter <= longest ? .again(after: max(retryAfter, backoff * jitter)) : .giveUp
    }
    // The first attempt goes out at once: most cuts are single events, and a reader is waiting.
    if fruitless == 1 { return .again(after: 0) }
    let nominal = min(longest, backoff * Double(1 << min(fruitless - 2, 20)))
    return .again(after: nominal * (0.5 + jitter / 2))
  }
}
