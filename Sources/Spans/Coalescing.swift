// Gaps that lie close together, fetched in one exchange.

/// One upstream exchange that brings one or several gaps.
public struct PlannedExchange: Equatable, Sendable {
  /// What is asked of the origin: from the first gap's beginning to the last one's end.
  public let claim: ByteSpan
  /// The present bytes inside the claim, in ascending order: they come along and are not stored again.
  public let bridged: [ByteSpan]

  /// An exchange over `claim` that passes over `bridged`.
  public init(claim: ByteSpan, bridged: [ByteSpan]) {
    self.claim = claim
    self.bridged = bridged
  }

  /// How many bytes are fetched although they are present.
  public var bridgedBytes: UInt64 { bridged.reduce(0) { $0 + $1.count } }
}

/// Joins gaps that lie close together.
public enum Coalescing {
  /// Turns `gaps` (ascending, disjoint) into exchanges: two gaps are fetched together when fewer than `distance` bytes
  /// lie between them, because those cost less than another exchange.
  ///
  /// What lies between two gaps must be present: a caller that leaves out bytes for another reason (claimed by another
  /// fill) names them in `barriers` (ascending), and no exchange reaches across one.
  public static func exchanges(gaps: [ByteSpan], closerThan distance: UInt64, barriers: [ByteSpan] = [])
    -> [PlannedExchange]
  {
    var exchanges: [PlannedExchange] = []
    var barrier = barriers[...]
    for gap in gaps where !gap.isEmpty {
      guard let last = exchanges.last else {
        exchanges.append(PlannedExchange(claim: gap, bridged: []))
        continue
      }
      let between = ByteSpan(last.claim.upper, gap.lower)
      while let first = barrier.first, first.upper <= between.lower { barrier = barrier.dropFirst() }
      let isBarred = barrier.first?.overlaps(between) ?? false
      if between.count < distance, !isBarred {
        let bridged = between.isEmpty ? last.bridged : last.bridged + [between]
        exchanges[exchanges.count - 1] = PlannedExchange(claim: ByteSpan(last.claim.lower, gap.upper), bridged: bridged)
      } else {
        exchanges.append(PlannedExchange(claim: gap, bridged: []))
      }
    }
    return exchanges
  }
}
