// The least that a peer has to send in a time: who sends an octet now and then would hold a connection for ever.

import EventLoop

/// Watches that something comes, and on average enough. Only the time spent waiting for the peer counts.
struct RateFloor {
  private let seconds: Double
  private let needed: Double
  private var left: Double
  private var received = 0.0

  /// In every `seconds` of waiting at least `rate` bytes a second must come, and in any case one.
  init(rate: Int, over seconds: Double) {
    self.seconds = seconds
    needed = max(1, Double(rate) * seconds)
    left = seconds
  }

  /// When a wait that begins now has lasted too long.
  var deadline: Deadline { .after(seconds: left) }

  /// So many bytes have come after a wait of so many seconds.
  mutating func received(_ count: Int, after waited: Double) {
    received += Double(count)
    left -= waited
    guard received >= needed else { return }
    received = 0
    left = seconds
  }
}
