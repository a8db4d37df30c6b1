// A response body whose content coding is put on or taken off on the way from the store to the client.

import CachePolicy
import ContentCoding
import Diagnostics
import HTTPMessage

/// Takes stored bytes in their order, and queues for the client what they come to. However much that is, it holds one
/// piece of it, and goes on when the client has taken what is queued. Bound to its worker's loop.
final class CodedBody {
  private let transaction: Transaction
  private let coder: any StreamCoder
  /// The most stored bytes that one turn of the loop takes.
  private let inputBytes: Int
  private var gathered: [UInt8] = []

  /// Nil for a form that is what is stored.
  init?(_ form: ServedForm, _ transaction: Transaction) {
    let counters = transaction.context.counters
    switch form {
    case .stored, .negotiated: return nil
    case .decoded:
      coder = GzipDecoder()
      inputBytes = Int(Self.window)
      counters.decodedResponses.add()
    case .encoded:
      coder = GzipEncoder()
      inputBytes = Self.encodedBytes
      counters.encodedResponses.add()
    }
    self.transaction = transaction
  }

  /// Sends what these stored bytes come to.
  ///
  /// - Returns: how the response ends, if it does: nil is to go on.
  func send(_ bytes: ArraySlice<UInt8>) async -> BodySender.Ending? {
    await send(bytes, isLast: false)
  }

  /// Keeps bytes for `sendGathered`.
  func gather(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { gathered += $0 }
  }

  /// Sends what the gathered bytes come to.
  func sendGathered() async -> BodySender.Ending? {
    let bytes = gathered
    gathered = []
    return await send(bytes[...], isLast: false)
  }

  /// Sends the rest, once all stored bytes have been sent.
  func finish() async -> BodySender.Ending {
    await send(gathered[...], isLast: true) ?? .complete
  }

  private func send(_ bytes: ArraySlice<UInt8>, isLast: Bool) async -> BodySender.Ending? {
    var rest = bytes
    while true {
      do throws(CodingError) {
        let bytes = rest
        let piece = try await transaction.parts.codingTurns.take { () throws(CodingError) in
          try coder.code(atMost: inputBytes, of: bytes, isLast: isLast, limit: Self.outputBytes)
        }
        rest = rest.dropFirst(piece.consumed)
        // What waits to leave shall not hold a whole piece's room for a few bytes.
        let output = piece.output.count < Self.outputBytes / 2 ? Array(piece.output[...]) : piece.output
        transaction.response.send(output[...])
        guard await flush() else { return .clientGone }
        if rest.isEmpty, !piece.hasMore { return nil }
      } catch {
        return .undecodable(reason: error.explanation)
      }
    }
  }

  private func flush() async -> Bool {
    do {
      try await transaction.response.flush(downTo: Self.sendBuffer)
      return true
    } catch {
      return false
    }
  }

  /// How much is taken from the store at a time, in bytes.
  static let window: UInt64 = 64 << 10
  /// How much may wait to leave, in bytes, before the next piece is made.
  private static let sendBuffer = 256 << 10
  /// The most that one turn of the loop makes: decoding so much takes some 0.2 ms.
  private static let outputBytes = 64 << 10
  /// Encoding so much of a text takes some 0.5 ms.
  private static let encodedBytes = 16 << 10
}
