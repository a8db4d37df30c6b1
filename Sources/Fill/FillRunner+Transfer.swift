// How the body of one exchange gets into the store.

import Configuration
import Diagnostics
import EventLoop
import HTTPMessage
import Spans
import Store
import Upstream

extension FillRunner {
  /// Moves an exchange's body into the store until it ends, or the claim does.
  func transfer(_ opened: consuming OpenedExchange) async throws(Interruption) {
    var incoming = opened
    let exchange = incoming.exchange
    if let total = incoming.total { try learn(total: total) }
    if !incoming.isPart { claimWhatComesAlong() }
    exchangeUpper = incoming.upper
    defer { exchangeUpper = nil }
    var floor = minimumRate
    // When upstream was last seen to move; nil while it is this side's turn.
    var heard: Double?
    throughput.interrupt()
    while true {
      let edge = claim.upper
      let limit = min(edge, incoming.upper ?? .max)
      if (incoming.upper ?? 0) > limit, limit - min(position, limit) < Self.near, team.takeBack(for: self) { continue }
      // What was passed over behind the claim's end cannot be had from this exchange again, should the end move on.
      if position >= limit && !awaitsEnd(of: incoming) || incoming.offset > position { break }
      let knownEnd = incoming.upper ?? representation.total
      do {
        try await reserveSpace(upTo: limit, knowing: knownEnd)
      } catch {
        if case .ended(.storage(.noRoom)) = error, !team.isResumable { leftover = incoming }
        throw error
      }
      let mayStop = outruns(incoming, edge)
      let now = team.now
      let silence = now - (heard ?? now)
      heard = heard ?? now
      let stall = table.settings.upstream.stallTimeout.inSeconds
      let patience = min(stall - silence, floor.timeLeft(at: now), mayStop ? Self.quiet : .infinity)
      let before = incoming.offset
      let gathers = gathersMore(of: incoming, upTo: limit)
      let event: Exchange.BodyEvent
      do {
        // What is to be gathered is at hand or not at all: bytes that were kept are not seen by readers.
        event = try await exchange.readBody(
          within: gathers ? 0 : max(patience, 0), atMost: longestPiece(at: incoming.offset, knowing: knownEnd)
        ) { piece in
          try self.store(piece, from: &incoming, upTo: limit)
        }
        if case .more = event, gathersMore(of: incoming, upTo: limit) {
          floor.received(incoming.offset - before)
          await measure(incoming.offset - before)
          continue
        }
        try await drain()
      } catch {
        exchange.abandon()
        // What came before the failure is kept, or else position would lie.
        do { try await drain() } catch { throw interruption(by: error) }
        throw interruption(by: error)
      }
      switch event {
      case .complete:
        try advance(to: position)
        try end(of: incoming)
        return exchange.finish()
      case .more:
        heard = nil
        floor.received(incoming.offset - before)
        // Looked at before readers learn of the bytes: those that wait, wait for upstream.
        await measure(incoming.offset - before)
        try advance(to: position)
        if try await pauseIfAhead() {
          floor.restart(at: team.now)
          throughput.interrupt()
          team.noteWait()
        }
      case .quiet where gathers:
        heard = nil
        try advance(to: position)
      case .quiet:
        // Given up where nothing of it is on its way: what lies beyond the claim is another's to bring.
        if mayStop { return exchange.abandon() }
        if team.now - (heard ?? now) >= stall {
          exchange.abandon()
          throw .retry(.silent(source.origin, seconds: stall), after: nil)
        }
      }
      if floor.isBroken(at: team.now) {
        exchange.abandon()
        throw .retry(.slow(source.origin, bytesPerSecond: floor.least, seconds: floor.period), after: nil)
      }
    }
    do { try await drain() } catch { throw interruption(by: error) }
    if exchange.isComplete { exchange.finish() } else { exchange.abandon() }
  }

  /// An origin that answers a range with the whole would do so for the next window too, and begin anew each time.
  private func claimWhatComesAlong() {
    let end = claim.upper
    guard let wanted = team.traffic.furthestWanted, wanted > end else { return }
    claim.extend(to: min(wanted, representation.total ?? wanted))
    if claim.upper > end { team.onClaim(ByteSpan(end, claim.upper)) }
  }

  /// Whether what the writer keeps waits for more of it, if that has come already.
  private func gathersMore(of incoming: borrowing OpenedExchange, upTo limit: UInt64) -> Bool {
    guard let writer, writer.needsDrain, writer.hasRoomToGather, retired.isEmpty else { return false }
    return position < limit && incoming.offset == position
  }

  /// How slowly a body may come: only what can be asked for again from where it is, is ever cut for that.
  private var minimumRate: MinimumRate {
    let canGoOn = team.isResumable && approach == .range && team.servesRanges
    let settings = table.settings.upstream
    return MinimumRate(
      least: canGoOn ? settings.minimumRate : 0, period: settings.minimumRatePeriod.inSeconds, at: team.now)
  }

  /// Whether the exchange goes on behind the claim, which now ends at `edge`, so that it must be broken off; and whether
  /// enough is missing before that for a request of its own.
  private func outruns(_ incoming: OpenedExchange, _ edge: UInt64) -> Bool {
    guard let upper = incoming.upper, upper > edge, edge > position, edge - position >= Self.worthAsking,
      incoming.offset == position
    else { return false }
    return approach == .range && team.isResumable && team.traffic.hasServedRanges
  }

  /// Notes what has come, for the pace of the team and for readers that think of asking for themselves.
  private func measure(_ count: UInt64) async {
    let now = team.now
    if throughput.received(count, at: now) != nil, let rate = throughput.average { claim.note(rate: rate) }
    await team.take(team.received(count, at: now), by: self)
  }

  /// Waits until the store has everything that was handed to writers.
  func drain() async throws {
    while let writer = retired.popLast() {
      if writer.needsDrain { try await writer.drain() }
      writer.finish()
    }
    if let writer, writer.needsDrain { try await writer.drain() }
  }

  /// The writer whose next byte stands at `offset`. One that has stopped in front of what is present, between two gaps
  /// of a claim, must not go on behind it.
  private func writer(at offset: UInt64) -> ExtentWriter {
    if let writer, writer.offset == offset { return writer }
    retireWriter()
    let made = representation.writer(at: offset)
    writer = made
    return made
  }

  /// The next byte to be written is not the one behind the last: another writer begins there.
  private func retireWriter() {
    if let writer { retired.append(writer) }
    writer = nil
  }

  /// Whether the body is read on although every wanted byte is there: to see its end, so that the connection is kept.
  private func awaitsEnd(of incoming: OpenedExchange) -> Bool {
    !incoming.exchange.isComplete && incoming.upper == incoming.offset
  }

  /// Writes what is wanted of a piece: neither what is present already nor what lies beyond the claim.
  private func store(
    _ piece: RawSpan, from incoming: inout OpenedExchange, upTo limit: UInt64
  ) throws(StoreError) {
    let limit = min(limit, claim.hold(upTo: incoming.offset.saturatingAdd(UInt64(piece.byteCount))))
    var taken = 0
    while taken < piece.byteCount {
      let rest = UInt64(piece.byteCount - taken)
      let offset = incoming.offset
      let step: UInt64
      if offset < position || offset >= limit {
        step = offset < position ? min(rest, position - offset) : rest
        table.counters.skippedBytes.add(step)
      } else if let bridge = incoming.bridged.first(where: { $0.contains(offset) }) {
        step = min(rest, bridge.upper - offset)
        table.counters.bridgedBytes.add(step)
        position = offset + step
        retireWriter()
      } else {
        let edge = incoming.bridged.lazy.map(\.lower).filter { $0 > offset }.min() ?? limit
        step = min(rest, min(edge, limit) - offset)
        let writer = writer(at: offset)
        writer.reservation = reservation
        try writer.write(piece.extracting(taken..<taken + Int(step)))
        position = offset + step
        retry.progressed()
      }
      incoming.offset += step
      taken += Int(step)
    }
  }

  /// The body has ended: where the total was unknown it is known now.
  private func end(of incoming: OpenedExchange) throws(Interruption) {
    if let upper = incoming.upper {
      guard incoming.offset < upper else { return }
      throw .retry(.closedEarly(source.origin), after: nil)
    }
    try learn(total: incoming.offset)
  }

  /// Waits while the fill is too far ahead of who reads it.
  ///
  /// - Returns: whether it had to.
  private func pauseIfAhead() async throws(Interruption) -> Bool {
    var hasWaited = false
    while true {
      switch claim.advance(to: position) {
      case .run: return hasWaited
      case .stop: throw .ended(.cancelled)
      case .pause:
        // A reader may wait for what others left behind, and would never come closer: that is brought first.
        guard !team.hasOrphans else {
          claim.shorten(to: position)
          return hasWaited
        }
        hasWaited = true
        await claim.pause()
      }
    }
  }

  func interruption(by error: any Error) -> Interruption {
    switch error {
    case let error as StoreError:
      return .ended(.storage(error))
    case let error as UpstreamError:
      if case .cancelled = error { return .ended(.cancelled) }
      return .retry(error, after: nil)
    default:
      return .ended(.cancelled)
    }
  }

  /// How much is received at `offset`, in bytes: where nobody knows how much will come, no more than was promised.
  private func longestPiece(at offset: UInt64, knowing end: UInt64?) -> Int {
    let piece = Self.piece(at: offset)
    return end == nil ? Int(min(UInt64(piece), position - offset + promised)) : piece
  }

  /// How much is received at `offset`, in bytes, so that it ends where pages of the file end that are made together: to
  /// begin in the midst of them costs a third more.
  private static func piece(at offset: UInt64) -> Int {
    let grain: UInt64 = 128 << 10
    return Int(2 * grain - offset % grain)
  }

  /// A connection on which nothing came for so many seconds has nothing on its way, as far as can be told.
  private static let quiet = 0.01
  /// So many bytes before the end of the claim, which one read does not pass over, it is seen who brings the rest.
  private static let near: UInt64 = 512 << 10
  /// Fewer bytes than this are not worth a request of their own.
  private static let worthAsking: UInt64 = 64 << 10
}
