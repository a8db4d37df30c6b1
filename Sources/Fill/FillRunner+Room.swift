// What a fill has room promised for, ahead of what it brings.

import Spans
import Store

extension FillRunner {
  /// Bytes that may still come without a promise of more room: those that the writer keeps are spoken for.
  var promised: UInt64 {
    let left = reservation?.remaining ?? 0
    return left - min(left, writer?.keptBytes ?? 0)
  }

  /// Sees to it that there is room for what comes next, before upstream is asked or read (design: Space).
  ///
  /// - Parameter limit: where what is to be written ends.
  /// - Parameter end: where what upstream sends ends; nil where nobody knows.
  func reserveSpace(upTo limit: UInt64, knowing end: UInt64?) async throws(Interruption) {
    guard position < limit else { return }
    let wanted = Self.shortfall(
      of: promised, brought: position - min(position, claim.span.lower), missing: limit - position,
      isExpected: end != nil)
    guard wanted > 0 else { return }
    // Readers may have to move on before there is room.
    do { try await drain() } catch { throw interruption(by: error) }
    guard let reserved = await table.store.makeRoom(for: wanted) else {
      throw .ended(.storage(.noRoom))
    }
    if let reservation { reserved.add(reservation) }
    reservation = reserved
  }

  /// How much is to be promised to a fill of `claim` that begins with an exchange whose head is known.
  public static func firstReservation(of claim: Claim, on opened: OpenedExchange) -> UInt64 {
    let upper = min(claim.upper, opened.upper ?? .max)
    return shortfall(
      of: 0, brought: 0, missing: upper - min(claim.span.lower, upper),
      isExpected: (opened.upper ?? opened.total) != nil)
  }

  /// How much more is to be promised; 0 while what is left is enough.
  ///
  /// What is known to come has a window promised, or all of it where it is less. Of a body without a known end no more
  /// is expected than it has brought already: who reserves more throws out what others need for what never comes.
  /// Either way the promise is renewed while an eighth of it is left, which is seldom once it has grown.
  ///
  /// - Parameter brought: what the fill has brought of its claim.
  /// - Parameter missing: what it has yet to bring, at most.
  /// - Parameter isExpected: whether that much will come, as far as upstream has said.
  static func shortfall(of left: UInt64, brought: UInt64, missing: UInt64, isExpected: Bool) -> UInt64 {
    let window = isExpected ? reservationWindow : min(max(brought, leastReservation), reservationWindow)
    return left < min(window / 8, missing) ? min(window, missing) - left : 0
  }

  /// Space is reserved in pieces of at most this many bytes.
  public static let reservationWindow: UInt64 = 8 << 20
  /// A promise that grows begins with as much.
  private static let leastReservation: UInt64 = 64 << 10
}
