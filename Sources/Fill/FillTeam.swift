// The fills of one object that began as one: how many there are, who brings what, and who leaves.

import Configuration
import Diagnostics
import EventLoop
import HTTPMessage
import Spans
import Store
import Upstream

/// A fill and those begun beside it because upstream is slow for each connection. Bound to one loop.
///
/// Every member has a claim and an exchange of its own, and takes the next piece when it is done with one. A member
/// that upstream refuses leaves, and nobody is told: what it had claimed is brought by the others.
final class FillTeam {
  let table: FillTable
  let pool: ConnectionPool
  let traffic: Traffic
  let representation: Representation
  /// The representation's `Content-Encoding`.
  let coding: FieldValue?
  let source: FillSource
  /// Whether what an exchange leaves missing can be asked for.
  let isResumable: Bool
  /// Begins a task on the loop.
  let spawn: (@escaping () async -> Void) -> Task<Void, Never>
  /// Told of every claim that is made after the first.
  let onClaim: (ByteSpan) -> Void
  /// Called whenever a member has ended.
  let onEnd: () -> Void
  /// Whether the stored response says that ranges are served (RFC 9110 §14.3).
  private let statesRanges: Bool
  private var pace: Pace
  private var members: [FillRunner] = []
  /// Claims of members that had to leave: the next member that is done with its own, would pause, or is sent the whole
  /// takes them over, and who waits for them waits on.
  private var orphans: [Claim] = []
  /// Members whose first answer has not come.
  private var opening = 0
  private var isGrowing = false
  /// What is shared out in pieces, once the team has grown; a goal is where the first claim ended.
  private var shared: (base: UInt64, goal: UInt64)?
  private let epoch = Deadline.now

  init(
    table: FillTable, pool: ConnectionPool, representation: Representation, response: FillResponse, source: FillSource,
    spawn: @escaping (@escaping () async -> Void) -> Task<Void, Never>, onClaim: @escaping (ByteSpan) -> Void,
    onEnd: @escaping () -> Void
  ) {
    self.table = table
    self.pool = pool
    self.representation = representation
    coding = response.coding
    statesRanges = response.statesRanges
    isResumable = response.isResumable
    self.source = source
    self.spawn = spawn
    self.onClaim = onClaim
    self.onEnd = onEnd
    traffic = table.traffic(of: representation)
    pace = Pace(most: table.settings.fills.connectionsPerObject)
  }

  /// Seconds on the monotonic clock.
  var now: Double { Deadline.now.seconds(since: epoch) }

  /// Whether what is missing is shared out in pieces.
  var isShared: Bool { shared != nil }

  /// Whether others bring the object too, so that one may leave.
  var hasOthers: Bool { members.count > 1 }

  /// Whether a body that is asked for in part would come in part.
  var servesRanges: Bool { statesRanges || traffic.hasServedRanges }

  // MARK: Members

  func join(_ member: FillRunner) { members.append(member) }

  func leave(_ member: FillRunner) {
    members.removeAll { $0 === member }
    noteOpened(member)
    guard members.isEmpty else { return }
    for claim in orphans { claim.end(.cancelled) }
    orphans = []
  }

  /// A member's first answer has come, or it has left.
  func noteOpened(_ member: FillRunner) {
    guard member.isOpening else { return }
    member.isOpening = false
    opening -= 1
  }

  /// Upstream did not let a member have an exchange beside the others: it leaves them its claim.
  func noteRefusal(of member: FillRunner, reason: String) {
    leave(member)
    let lower = member.claim.span.lower
    if members.isEmpty || members.contains(where: { $0.claim.upper == lower && ($0.exchangeUpper ?? 0) > lower }) {
      member.claim.end(.cancelled)
    } else {
      orphans.append(member.claim)
      for other in members { other.claim.endPause() }
    }
    settleForOne(because: reason)
  }

  /// Whether anything was left behind that nobody has taken over yet.
  var hasOrphans: Bool { !orphans.isEmpty }

  /// What was left behind, for the one member there is, whose exchange brings the whole.
  ///
  /// - Returns: the first of it that passes by before `position`; the rest is given up, so that this claim can be extended
  ///   over it.
  func takeOrphans(before position: UInt64) -> Claim? {
    let first = orphans.filter { $0.span.lower < position }.min { $0.span.lower < $1.span.lower }
    for claim in orphans where claim !== first { claim.end(.cancelled) }
    orphans = []
    return first
  }

  /// From now on, for a while, one connection has to do.
  private func settleForOne(because reason: String) {
    table.log.info("\(source.target.absolute): one connection only, because \(reason)")
    table.origins.remember(source.origin, atMost: 1)
    pace.settle(at: 1)
    giveBack()
  }

  /// What members had given away goes back to them, where their exchanges bring it anyway and nobody has it.
  private func giveBack() {
    guard let shared else { return }
    for member in members {
      if let upper = member.exchangeUpper { member.claim.extend(to: min(upper, shared.goal)) }
    }
  }

  /// A member is near the end of its claim, its exchange goes on, and the others wait for their first answers still:
  /// perhaps the origin serves one at a time. They are called off.
  ///
  /// - Returns: false where they have brought something, so that the rest is theirs.
  func takeBack(for member: FillRunner) -> Bool {
    guard opening > 0, !traffic.hasServedRanges else { return false }
    let before = member.claim.upper
    for other in members where other.isOpening { other.callOff() }
    settleForOne(because: "the origin answers no other")
    return member.claim.upper > before
  }

  // MARK: Pace

  /// Bytes have come to a member.
  func received(_ count: UInt64, at now: Double) -> Pace.Step {
    pace.most > 1 ? pace.received(count, at: now, isSteady: opening == 0) : .stay
  }

  /// A member had to wait for readers.
  func noteWait() { pace.interrupt() }

  /// Does what the pace asks for, as far as it can be done.
  func take(_ step: Pace.Step, by member: FillRunner) async {
    switch step {
    case .stay: return
    case .grow(let count): await grow(to: count, beside: member)
    case .shrink(let count):
      // Those that are too many leave when they are done with their pieces.
      table.log.info("\(source.target.absolute): more than \(count) connections bring no more")
      table.origins.remember(source.origin, atMost: count)
    }
  }

  private func grow(to count: Int, beside member: FillRunner) async {
    let count = min(count, table.origins.most(for: source.origin))
    guard !isGrowing, count > members.count, isWorthMore(than: members.count, at: member.position) else { return }
    isGrowing = true
    defer { isGrowing = false }
    if shared == nil {
      let rest = ByteSpan(member.position, max(member.position, member.claim.upper))
      shared = (member.position, rest.upper)
      member.claim.shorten(to: piece(of: rest).upper)
    }
    var added = 0
    while members.count < count, pool.canSpare(opening + 1, for: source.origin),
      let claim = await nextPiece(isNew: true)
    {
      let helper = FillRunner(team: self, claim: claim)
      join(helper)
      helper.isOpening = true
      opening += 1
      added += 1
      onClaim(claim.span)
      table.counters.helpers.add()
      helper.begin()
    }
    if added > 0 {
      pace.grew(to: members.count)
    } else if members.count == 1 {
      giveBack()
    }
  }

  /// Whether more connections than `count` may bring what readers wait for sooner, and may be asked for.
  private func isWorthMore(than count: Int, at position: UInt64) -> Bool {
    guard isResumable, !representation.isSuperseded, servesRanges,
      let total = representation.total,
      let rate = pace.rate, traffic.isAwaited
    else { return false }
    let wanted = min(total, traffic.furthestWanted ?? 0)
    let missing = min(total - min(total, representation.presentBytes), wanted - min(wanted, position))
    return missing >= Self.least && Double(missing) / max(rate, 1) >= (count == 1 ? Self.patience : Self.patience / 4)
  }

  // MARK: Pieces

  /// Claims what is to be brought next; nil where there is nothing, or the member is one too many.
  ///
  /// - Parameter window: how much a member that is alone takes.
  func nextPiece(isNew: Bool = false, window: UInt64 = 0) async -> Claim? {
    guard let shared, isResumable, !representation.isSuperseded else { return nil }
    if !isNew, let orphan = orphans.popLast() { return orphan }
    if !isNew, hasOthers, members.count > pace.connections || pool.isCrowded(source.origin) { return nil }
    let isAlone = pace.connections == 1 && !isNew
    for span in traffic.wanted(from: shared.base, upTo: shared.goal) {
      guard let span = span.intersection(ByteSpan(0, representation.total ?? .max)) else { continue }
      let gaps = await representation.gaps(in: span, limit: FillRunner.gapLimit)
      let groups = Coalescing.exchanges(gaps: gaps, closerThan: table.settings.fills.coalesceGaps).map(\.claim)
      let limit = isNew ? pace.most : nil
      let claim = traffic.claimFirst(of: groups, limit: limit) { gap in
        isAlone ? gap.prefix(window) : piece(of: gap)
      }
      if let claim { return claim }
    }
    return hasOthers && !isNew ? traffic.claimHalf(longerThan: Self.endgame) : nil
  }

  private func piece(of gap: ByteSpan) -> ByteSpan {
    let missing = (representation.total ?? .max) - min(representation.total ?? .max, representation.presentBytes)
    return Splitting.piece(
      of: gap, missing: missing, connections: max(pace.expected, members.count),
      rate: pace.rate.map { $0 / Double(members.count) })
  }

  /// What takes less than so many seconds, or is less than so many bytes, is left to the connections there are.
  private static let patience = 4.0
  private static let least: UInt64 = 4 << 20
  /// A member without a piece takes half of one that would take another more than so many seconds.
  private static let endgame = 1.0
}
