// Writes one response to a client: its head, its body in the framing that the client understands, its end.

import EventLoop
import HTTPMessage
import HTTPWire
import Spans
import Store

/// How the end of a response body is marked towards the client.
enum OutgoingFraming: Equatable {
  /// There is no body, whatever the fields say (HEAD, 204, 304).
  case none
  case length(UInt64)
  /// The length is not known: chunked, or for HTTP/1.0 the connection's close.
  case unknownLength
  /// The connection's close, because upstream marked the end so too.
  case untilClose
  /// The connection goes on as a tunnel in the protocol named (101).
  case upgrade(FieldValue?)
}

/// The response side of a transaction. Bound to its worker's loop.
final class ResponseWriter {
  private enum State {
    case waiting
    case body(Wire)
    case complete
    /// Less was queued than was promised: the end is missing, and the client can tell.
    case cutOff
    case aborted
  }

  private enum Wire {
    case none
    case length(remaining: UInt64)
    case chunked
    case untilClose
  }

  private let stream: ByteStream
  private let sendTimeout: Double
  private let limits: LimitCounters
  private let isHTTP11: Bool
  private let isHeadRequest: Bool
  private var state = State.waiting
  private(set) var keepsOpen: Bool
  /// Body bytes handed over, without framing.
  private(set) var bodyBytes: UInt64 = 0

  init(request: RequestHead, stream: ByteStream, sendTimeout: Double, limits: LimitCounters) {
    self.limits = limits
    self.stream = stream
    self.sendTimeout = sendTimeout
    isHTTP11 = request.version == .http11
    isHeadRequest = request.method == .head
    keepsOpen = request.keepsConnectionOpen
  }

  /// Whether a final head has gone out: then no other response can be given.
  var hasHead: Bool {
    switch state {
    case .waiting: false
    case .body, .complete, .cutOff, .aborted: true
    }
  }

  /// Whether what is queued is still to leave before the connection ends.
  var isCutOff: Bool {
    switch state {
    case .cutOff: true
    case .waiting, .body, .complete, .aborted: false
    }
  }

  var isComplete: Bool {
    switch state {
    case .complete: true
    case .waiting, .body, .cutOff, .aborted: false
    }
  }

  /// The connection ends after this response.
  func closesAfterwards() { keepsOpen = false }

  /// Forwards an interim response; HTTP/1.0 clients know none (RFC 9110 §15.2).
  func sendInterim(_ head: ResponseHead) async {
    guard isHTTP11, !hasHead else { return }
    var head = head
    head.version = .http11
    // RFC 9110 §8.6: never in an interim response.
    head.fields.remove(.contentLength)
    stream.queue(head.serialized())
    // A failure here shows again when the final head is sent.
    try? await stream.flush(stall: sendTimeout)
  }

  /// Settles how the end of the body is marked towards this client, and what becomes of the connection; nil where a
  /// final head has gone out already. The head that says so is to follow.
  func settle(_ framing: OutgoingFraming) -> OutgoingHead.Framing? {
    guard !hasHead else { return nil }
    var fields = OutgoingHead.Framing()
    let wire: Wire
    switch framing {
    case .none, .upgrade:
      wire = .none
    case .length(let count):
      fields.contentLength = count
      wire = .length(remaining: count)
    case .unknownLength where isHTTP11:
      fields.isChunked = true
      wire = .chunked
    case .unknownLength, .untilClose:
      wire = .untilClose
      keepsOpen = false
    }
    if case .upgrade(let protocols) = framing {
      fields.connection = .upgrade(protocols)
    } else if !keepsOpen {
      fields.connection = .close
    } else if !isHTTP11 {
      fields.connection = .keepAlive
    }
    state = .body(isHeadRequest ? .none : wire)
    return fields
  }

  /// Queues the octets of the final head.
  func sendHead(_ octets: [UInt8]) { stream.queue(octets) }

  /// Queues bytes of the body; they are copied.
  func send(_ bytes: RawSpan) {
    guard let count = begin(bytes.byteCount) else { return }
    stream.queue(bytes.extracting(first: count))
    endPiece()
  }

  /// Queues bytes of the body that are kept until they have left.
  func send(_ bytes: ArraySlice<UInt8>) {
    guard let count = begin(bytes.count) else { return }
    stream.queue(bytes.prefix(count))
    endPiece()
  }

  /// Queues stored bytes of the body, from memory or from a file.
  ///
  /// - Parameter representation: where bytes of a file are to be spared from eviction until they have left; nil where
  ///   the caller sees to that.
  func send(_ bytes: StoredBytes, of representation: Representation? = nil) {
    switch bytes {
    case .memory(let slice): send(slice)
    case .file(let file, let offset, let count):
      guard let count = begin(count) else { return }
      let span = ByteSpan(offset, offset + UInt64(count))
      let owner: any AnyObject & Sendable = representation?.pin(span, in: file) ?? file
      stream.queue(FileRegion(descriptor: file.descriptor, owner: owner, offset: offset, length: count))
      endPiece()
    }
  }

  /// Waits until at most `queued` bytes have yet to leave.
  func flush(downTo queued: Int = 0) async throws {
    do {
      try await stream.flush(downTo: queued, stall: sendTimeout)
    } catch {
      if case StreamError.timedOut = error { limits.add(.sendTimeout) }
      throw error
    }
  }

  /// Ends the body, and sends what can be sent without waiting.
  ///
  /// - Returns: false where some of it has yet to leave, for which `leave` waits.
  func end(trailers: Fields = Fields()) -> Bool {
    guard case .body(let wire) = state else { return true }
    switch wire {
    case .none: break
    case .length(let remaining):
      // Less than was promised must not look like a clean end.
      guard remaining == 0 else {
        cutOff()
        return true
      }
    case .chunked: stream.queue(ChunkedCoding.lastChunk(trailers: trailers))
    case .untilClose: break
    }
    state = .body(.none)
    guard stream.sendAtOnce() else { return false }
    state = .complete
    return true
  }

  /// Waits until all of a body that has ended has left.
  func leave() async throws {
    guard case .body = state else { return }
    do {
      try await flush()
      state = .complete
    } catch {
      abort()
      throw error
    }
  }

  /// The connection was used up by a tunnel that sent so many bytes to the client.
  func becameTunnel(bytes: UInt64) {
    bodyBytes = bytes
    keepsOpen = false
    state = .complete
  }

  /// Ends the response before its end. Where its framing tells the client so, what is queued still leaves; where the
  /// end would be marked by the connection's close, it is reset (RFC 9112 §8).
  func cutOff() {
    switch state {
    case .body(.length(let remaining)) where remaining > 0:
      state = .cutOff
      keepsOpen = false
    case .body(.chunked):
      state = .cutOff
      keepsOpen = false
    case .waiting, .body, .complete, .cutOff, .aborted:
      abort()
    }
  }

  /// Ends the connection by a reset, so that what was sent cannot be taken for the whole (RFC 9112 §8).
  func abort() {
    state = .aborted
    keepsOpen = false
    stream.abort()
  }

  /// Opens the framing of a piece; nil where nothing of it is to be sent.
  private func begin(_ count: Int) -> Int? {
    guard case .body(let wire) = state, count > 0 else { return nil }
    var count = count
    switch wire {
    case .none: return nil
    case .length(let remaining):
      count = Int(min(UInt64(count), remaining))
      guard count > 0 else { return nil }
      state = .body(.length(remaining: remaining - UInt64(count)))
    case .chunked: stream.queue(ChunkedCoding.chunkHeader(count))
    case .untilClose: break
    }
    bodyBytes += UInt64(count)
    return count
  }

  private func endPiece() {
    if case .body(.chunked) = state { stream.queue(Self.lineEnd) }
  }

  private static let lineEnd: [UInt8] = [0x0D, 0x0A]
}
