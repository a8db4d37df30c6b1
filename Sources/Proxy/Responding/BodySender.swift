// Sends spans of a representation to a client: from the store where they are present, else as fills bring them.

import Fill
import Spans
import Store

/// One response body in progress: a reader of the store. Bound to its worker's loop.
final class BodySender {
  let transaction: Transaction
  let supply: Supply
  let source: FillSource
  /// What becomes of the bytes on their way; nil where they are sent as they are stored.
  let coding: CodedBody?
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

  private func isPresent(_ span: ByteSpan) async -> Bool {
    let upper = min(span.upper, supply.representation.total ?? .max)
    return await supply.representation.gaps(in: ByteSpan(span.lower, upper), limit: 1).isEmpty
  }

  private func account(_ span: ByteSpan) {
    let own = supply.ownBytes(in: span)
    transaction.record.bytesFromUpstream += own
    transaction.record.bytesFromCache += span.count - min(span.count, own)
  }

  func flush(downTo queued: Int) async -> Bool {
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
  static let sendBuffer = 512 << 10
  /// How often the same place may turn out to be missing before the response is cut off.
  private static let patience = 16
}
