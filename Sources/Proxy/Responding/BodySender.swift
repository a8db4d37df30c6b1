// Sends spans of a representation to a client: from the store where they are present, else as fills bring them.

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import Fill
import HTTPMessage
import Spans
import Store
import Upstream

/// One response body in progress: a reader of the store. Bound to its worker's loop.
final class BodySender {
  private let transaction: Transaction
  private let supply: Supply
  private let source: FillSource
  /// What becomes of the bytes on their way; nil where they are sent as they are stored.
  private let coding: CodedBody?
  /// The first bytes, where they have been taken from the store already, and what keeps them from being evicted.
  private var opening: (position: UInt64, bytes: StoredBytes, pin: Pin)?

  init(_ transaction: Transaction, supply: Supply, source: FillSource, coding: CodedBody? = nil) {
    self.transaction = transaction
    self.supply = supply
    self.source = source
    self.coding = coding
  }

  /// How the sending of a span ended.
  enum Ending {
    case complete
    case clientGone
    /// What is missing cannot be had: the response is to be cut off.
    case cut(FillOutcome)
    /// What is stored is not in the coding that it is said to be in: the response is to be cut off.
    case undecodable(reason: String)
  }

  /// Takes the first bytes of what is to be sent, which are present, before the head goes out: what was lost behind the
  /// store's back must not be promised.
  func open(_ span: ByteSpan) async throws(StoreError) {
    let window = span.prefix(coding == nil ? Self.window : CodedBody.window)
    // Before they are looked at: who sees to them meanwhile holds nothing.
    let pin = supply.representation.pin(window)
    opening = (window.lower, try await supply.representation.bytes(in: window), pin)
  }

  /// Sends `span`; one with no known end is sent up to the total, once that is known.
  func send(_ span: ByteSpan) async -> Ending {
    let ending = await sendStored(span)
    guard case .complete = ending, let coding else { return ending }
    return await coding.finish()
  }

  private func sendStored(_ span: ByteSpan) async -> Ending {
    let representation = supply.representation
    let reader = supply.read(span)
    let pin = representation.pin(span)
    var position = span.lower
    var fruitless = 0
    if let first = opening.take(), first.position == position {
      let sent = ByteSpan(position, position + UInt64(first.bytes.count))
      account(sent)
      position = sent.upper
      if let ending = await pass(first.bytes) { return ending }
      reader.advance(to: position)
      pin.advance(to: position)
    }
    while position < min(span.upper, representation.total ?? span.upper) {
      switch await representation.presence(at: position, upTo: span.upper) {
      case .present(let upper):
        let bytes: StoredBytes
        do {
          bytes = try await take(ByteSpan(position, upper))
        } catch {
          // Evicted or found bad in between: it is a gap now, and asked for again.
          fruitless += 1
          if fruitless > Self.patience {
            // A disk that does not give what it has is no reason to break off.
            guard await flush(downTo: 0) else { return .clientGone }
            return await relay(ByteSpan(position, span.upper))
          }
          continue
        }
        let sent = ByteSpan(position, position + UInt64(bytes.count))
        account(sent)
        position = sent.upper
        fruitless = 0
        if let ending = await pass(bytes) { return ending }
        reader.advance(to: position)
        pin.advance(to: position)
      case .absent:
        guard await flush(downTo: 0) else { return .clientGone }
        switch await supply.obtain(position, upTo: span.upper) {
        case .lookAgain:
          fruitless += 1
          if fruitless > Self.patience { return await relay(ByteSpan(position, span.upper)) }
        case .cancelled: return .clientGone
        case .failed(let outcome):
          switch outcome {
          case .storage:
            // What is stored behind the gap is not asked for.
            let rest = ByteSpan(position, span.upper)
            guard let gap = await representation.gaps(in: rest, limit: 1).first, gap.lower == position
            else { continue }
            let ending = await relay(gap)
            guard case .complete = ending, gap.upper < span.upper else { return ending }
            position = gap.upper
            reader.advance(to: position)
            pin.advance(to: position)
          case .changed where await isPresent(ByteSpan(position, span.upper)): continue
          case .complete, .changed, .refused, .failed, .wrong, .timedOut, .cancelled: return .cut(outcome)
          }
        }
      }
    }
    return .complete
  }

  /// The next bytes of a span that begins with present ones; in memory where they are coded on the way.
  private func take(_ span: ByteSpan) async throws(StoreError) -> StoredBytes {
    guard coding != nil else { return try await supply.representation.bytes(in: span.prefix(Self.window)) }
    let bytes = try await supply.representation.bytes(in: span.prefix(CodedBody.window))
    guard case .file = bytes else { return bytes }
    // The store has just seen that they are resident, so that this does not wait for the disk.
    guard let copy = bytes.copied() else { throw .absent }
    return .memory(copy[...])
  }

  /// Queues stored bytes, coded where that is to be, and waits until there is room for more.
  ///
  /// - Returns: how the response ends, if it does.
  private func pass(_ bytes: StoredBytes) async -> Ending? {
    guard let coding else {
      transaction.response.send(bytes, of: supply.representation)
      return await flush(downTo: Self.sendBuffer) ? nil : .clientGone
    }
    switch bytes {
    case .memory(let slice): return await coding.send(slice)
    case .file:
      // Only the first bytes of a response come so; they were resident a moment ago.
      guard let copy = bytes.copied() else { return .cut(.storage(.absent)) }
      return await coding.send(copy[...])
    }
  }

  /// The store cannot take the rest: it is asked for under the same validator and passed on (design: Space).
  private func relay(_ span: ByteSpan) async -> Ending {
    let context = transaction.context
    let representation = supply.representation
    guard representation.validator.isStrong else {
      return .cut(
        .failed(.unusable(Origin(source.target), reason: "the rest cannot be asked for without a strong validator")))
    }
    var position = span.lower
    var upper = span.upper
    var retry = RetryPolicy(context.settings)
    var wrongParts = 0
    var crumbs = 0
    while position < upper {
      let before = position
      let failure: FillOutcome
      var retryAfter: Double?
      do {
        let answer = try await PartialAnswer.ask(
          for: wrongParts < Self.wrongParts ? ByteSpan(position, upper) : nil, of: representation,
          coding: supply.entry.response.fields.combined(.contentEncoding), source: source,
          pool: transaction.parts.pool, now: { context.now })
        switch answer.verdict {
        case .changed(let reason): return .cut(.changed(reason: reason))
        case .refused(let status): return .cut(.refused(status: status))
        case .ended(let total):
          // Where the end was not known, nothing may be missing.
          guard upper == .max, total == position else { return .cut(.changed(reason: "its length is \(total)")) }
          return .complete
        case .later(let status, let seconds):
          failure = .refused(status: status)
          retryAfter = seconds
        case .wrong(let reason):
          context.fills.counters.wrongAnswers.add()
          wrongParts += 1
          failure = .wrong(reason: reason)
        case .body(let opened):
          if let ending = try await pass(opened, from: &position, upTo: upper) { return ending }
          // Where the end was not known, it is the total that was stated, or else where a whole answer ended.
          if upper == .max { upper = opened.total ?? position }
          crumbs = opened.isCrumb(of: ByteSpan(before, upper)) ? crumbs + 1 : 0
          guard crumbs <= context.settings.fills.attempts else {
            return .cut(.wrong(reason: "\(crumbs) answers in a row with a few bytes each"))
          }
          guard position == before, position < upper else { continue }
          failure = .failed(.unusable(Origin(source.target), reason: "it brought nothing new"))
        }
      } catch {
        failure = .failed(error as? UpstreamError ?? .closedEarly(Origin(source.target)))
      }
      if position > before { retry.progressed() }
      switch retry.failed(retryAfter: retryAfter, jitter: Double.random(in: 0...1)) {
      case .giveUp: return .cut(failure)
      case .again(let seconds):
        if seconds > 0 { await transaction.parts.loop.sleep(until: .after(seconds: seconds)) }
        if Task.isCancelled { return .clientGone }
        context.log.info("\(source.target.absolute): \(failure.explanation); asking again from byte \(position)")
      }
    }
    return .complete
  }

  /// Passes on what an exchange brings of the bytes from `position` to `upper`, and ends it.
  ///
  /// - Returns: how the response ends, if it does.
  private func pass(
    _ opened: OpenedExchange, from position: inout UInt64, upTo upper: UInt64
  ) async throws -> Ending? {
    var offset = opened.offset
    var isUnderWay = true
    // An answer with the whole goes on behind what is wanted of it.
    while isUnderWay, position < upper {
      isUnderWay = try await opened.exchange.readBody { piece in
        let bytes = ByteSpan(offset, offset + UInt64(piece.byteCount))
        offset = bytes.upper
        guard let wanted = bytes.intersection(ByteSpan(position, upper)) else { return }
        let rest = piece.extracting(Int(wanted.lower - bytes.lower)..<Int(wanted.upper - bytes.lower))
        if let coding { coding.gather(rest) } else { transaction.response.send(rest) }
        position = wanted.upper
        transaction.record.bytesFromUpstream += wanted.count
      }
      if let ending = await coding?.sendGathered() { return ending }
      guard await flush(downTo: Self.sendBuffer) else { return .clientGone }
    }
    if opened.exchange.isComplete { opened.exchange.finish() } else { opened.exchange.abandon() }
    return nil
  }

  private func isPresent(_ span: ByteSpan) async -> Bool {
    let upper = min(span.upper, supply.representation.total ?? .max)
    return await supply.representation.gaps(in: ByteSpan(span.lower, upper), limit: 1).isEmpty
  }

  private func account(_ span: ByteSpan) {
    let own = supply.ownBytes(in: span)
    transaction.record.bytesFromUpstream += own
    transaction.record.bytesFromCache += span.count - min(span.count, own)
  }

  private func flush(downTo queued: Int) async -> Bool {
    do {
      try await transaction.response.flush(downTo: queued)
      return true
    } catch {
      return false
    }
  }

  /// How much is taken from the store at a time, in bytes.
  static let window: UInt64 = 1 << 20
  /// How much may wait to leave while the next window is prepared, in bytes.
  private static let sendBuffer = 512 << 10
  /// How often the same place may turn out to be missing before the response is cut off.
  private static let patience = 16
  /// How many parts that do not fit what was asked are refused before the whole is asked for.
  private static let wrongParts = 2
}
