// When an origin sent which bytes: what a fetch after a kill is compared with.
internal import Glibc

/// The body bytes that an origin has sent, with their times, in epochs that the test begins.
///
/// What is sent is logged once the connection has taken it, under the epoch in which its request came: bytes on their
/// way to a process that is being killed do not count for the time after it.
public final class ByteLog: Sendable {
  private struct Entry: Sendable {
    let epoch: Int
    let path: String
    let range: Range<Int>
    let seconds: Double
  }

  private struct State {
    var epoch = 0
    var entries: [Entry] = []
  }

  private let state = Monitor(State())

  public init() {}

  /// Seconds on the clock that the log uses.
  public static var now: Double { monotonicSeconds() }

  /// The current epoch.
  public var epoch: Int { state.withLock { $0.epoch } }

  /// Begins another epoch and returns it.
  @discardableResult
  public func begin() -> Int {
    state.withLock { state in
      state.epoch += 1
      return state.epoch
    }
  }

  /// Sends bytes of a body and logs them, in pieces with a pause after each.
  public func send(_ exchange: Exchange, _ body: PatternBody, _ range: Range<Int>, epoch: Int, pause: Double) throws {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let piece = offset..<min(range.upperBound, offset + (16 << 10))
      try exchange.body(body.bytes(piece))
      let entry = Entry(epoch: epoch, path: exchange.request.target, range: piece, seconds: Self.now)
      state.withLock { $0.entries.append(entry) }
      offset = piece.upperBound
      if pause > 0 { poll(nil, 0, Int32(pause * 1000)) }
    }
  }

  /// Waits until so many bytes have been sent in an epoch.
  public func waitForBytes(_ count: Int, in epoch: Int) throws {
    try state.wait(for: "\(count) bytes from the origin", seconds: Patience.seconds * 4) { state in
      state.entries.reduce(0) { $0 + ($1.epoch == epoch ? $1.range.count : 0) } >= count ? () : nil
    }
  }

  /// The bytes sent in an epoch from a time on.
  public func bytes(in epoch: Int, since seconds: Double = 0) -> Int {
    state.withLock { state in
      state.entries.reduce(0) { $0 + ($1.epoch == epoch && $1.seconds >= seconds ? $1.range.count : 0) }
    }
  }

  /// What bytes were sent of in an epoch.
  public func paths(in epoch: Int) -> Set<String> {
    state.withLock { Set($0.entries.lazy.filter { $0.epoch == epoch }.map(\.path)) }
  }

  /// The bytes of some paths sent in an epoch that had been sent in an earlier one already.
  public func bytesSentAgain(in epoch: Int, of paths: Set<String>) -> Int {
    let entries = state.withLock { $0.entries.filter { paths.contains($0.path) } }
    var again = 0
    for (path, of) in Dictionary(grouping: entries, by: \.path) where of.contains(where: { $0.epoch == epoch }) {
      let before = merged(of.filter { $0.epoch < epoch && $0.path == path }.map(\.range))
      for entry in of where entry.epoch == epoch {
        again += before.reduce(0) { $0 + $1.clamped(to: entry.range).count }
      }
    }
    return again
  }

  private func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
    var merged: [Range<Int>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }
}
