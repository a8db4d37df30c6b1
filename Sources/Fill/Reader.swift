// One response body in progress, as fills see it: how far it is and what it still wants.

/// A reader's place in the traffic of a representation; it leaves when dropped.
public final class Reader: Sendable {
  private let traffic: Traffic
  private let id: UInt64

  init(traffic: Traffic, id: UInt64) {
    self.traffic = traffic
    self.id = id
  }

  deinit { traffic.leave(id) }

  /// Everything before `position` has been sent: fills may run on accordingly.
  public func advance(to position: UInt64) { traffic.move(id, to: position) }
}
