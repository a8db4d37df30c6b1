// One request to an origin and its response: head, interim responses, body, and what becomes of the connection.

import Configuration
import Diagnostics
public import EventLoop
public import HTTPMessage
public import HTTPWire

/// What is asked of an origin.
public struct UpstreamRequest: Sendable {
  public let origin: Origin
  /// The head as it goes out; its target is in origin-form (RFC 9112 §3.2.1).
  public let head: RequestHead
  /// How the body that follows is framed; `.none` where there is none.
  public let framing: BodyFraming

  public init(origin: Origin, head: RequestHead, framing: BodyFraming = .none) {
    self.origin = origin
    self.head = head
    self.framing = framing
  }
}

/// An exchange under way. Bound to the loop of its pool; `finish()` or `abandon()` ends it.
public final class Exchange {
  public let request: UpstreamRequest
  /// Trailer fields, once the body is complete (RFC 9110 §6.5).
  public var trailers: Fields { decoder?.trailers ?? Fields() }
  /// How the response's body is framed, once its head is there.
  public private(set) var responseFraming = BodyFraming.none
  private let pool: ConnectionPool
  private var connection: UpstreamConnection?
  private var decoder: BodyDecoder?
  private var keepsOpen = false
  private var hasResponseBytes = false
  private var isRequestSent = false

  private init(_ request: UpstreamRequest, pool: ConnectionPool, connection: UpstreamConnection) {
    self.request = request
    self.pool = pool
    self.connection = connection
  }

  deinit { abandon() }

  /// Sends a request without a body and waits for the head of its final response.
  ///
  /// A request that met a kept connection which had died is sent once more on a new one (RFC 9110 §9.2.2).
  /// Interim responses are handed over as they come (RFC 9110 §15.2).
  public static func perform(
    _ request: UpstreamRequest, pool: ConnectionPool, interim: (ResponseHead) async -> Void = { _ in }
  ) async throws(UpstreamError) -> (exchange: Exchange, head: ResponseHead) {
    // What may not be sent twice does not take the risk of a connection that may be dead.
    let exchange = try await begin(request, pool: pool, fresh: !request.head.method.isIdempotent)
    do {
      return (exchange, try await exchange.receiveHead(interim: interim))
    } catch {
      guard exchange.mayRepeat(after: error) else { throw error }
      exchange.abandon()
      pool.counters.repeatedRequests.add()
      let again = try await begin(request, pool: pool, fresh: true)
      return (again, try await again.receiveHead(interim: interim))
    }
  }

  /// Takes a connection and writes the request's head.
  public static func begin(
    _ request: UpstreamRequest, pool: ConnectionPool, fresh: Bool = false
  ) async throws(UpstreamError) -> Exchange {
    let connection = try await pool.take(request.origin, fresh: fresh)
    let exchange = Exchange(request, pool: pool, connection: connection)
    pool.counters.requests.add()
    connection.stream.queue(request.head.serialized())
    exchange.isRequestSent = request.framing == .none || request.framing == .length(0)
    // What is asked for in one turn leaves together: to wake an origin that sleeps costs more than to send to it.
    await pool.loop.turnEnd()
    do {
      try await connection.stream.flush(stall: pool.times.stall)
    } catch {
      let failure = UpstreamError(error, origin: request.origin, seconds: pool.times.stall)
      guard exchange.mayRepeat(after: failure) else { throw failure }
      exchange.abandon()
      return try await begin(request, pool: pool, fresh: true)
    }
    return exchange
  }

  /// Writes a piece of the request's body, already framed, and waits until most of it has left.
  public func sendBody(_ bytes: [UInt8], last: Bool) async throws(UpstreamError) {
    guard let connection else { throw .closedEarly(request.origin) }
    connection.stream.queue(bytes)
    do {
      try await connection.stream.flush(stall: pool.times.stall)
    } catch {
      throw UpstreamError(error, origin: request.origin, seconds: pool.times.stall)
    }
    isRequestSent = isRequestSent || last
  }

  /// Waits for the head of the final response; interim ones are handed over, 101 is final here.
  public func receiveHead(interim: (ResponseHead) async -> Void) async throws(UpstreamError) -> ResponseHead {
    let limit = pool.times.head
    var interims = 0
    while true {
      let head = try await receiveOneHead(deadline: .after(seconds: limit), limit: limit)
      // RFC 9110 §15.2.2: 101 answers a request with Upgrade, and no other.
      if head.status == 101, !request.head.fields.contains(.upgrade) {
        throw .unusable(request.origin, reason: "101 to a request without Upgrade")
      }
      if head.isInterim, head.status != 101 {
        interims += 1
        guard interims <= pool.settings.limits.interimResponses else {
          pool.counters.excessiveInterims.add()
          throw .unusable(request.origin, reason: "more than \(interims - 1) interim responses to one request")
        }
        guard BodyFraming.isCertain(head) else {
          throw .unusable(request.origin, reason: "an interim response that announces content")
        }
        await interim(head)
        continue
      }
      do {
        responseFraming = try BodyFraming.of(response: head, to: request.head.method)
      } catch {
        throw .malformed(request.origin, error)
      }
      decoder = BodyDecoder(framing: responseFraming, limits: pool.settings.chunkLimits)
      // Where there is content its end is certain, or there would be no framing.
      let isCertain = responseFraming != .none || BodyFraming.isCertain(head)
      keepsOpen = isCertain && head.keepsConnectionOpen
      return head
    }
  }

  /// What a look at the body found.
  public enum BodyEvent: Sendable {
    /// Bytes were handed over, or none of a body yet.
    case more
    /// The body is complete.
    case complete
    /// Nothing has come in the time given; the body may go on.
    case quiet
  }

  /// Hands over what has come of the body, in pieces that are valid during the call only.
  ///
  /// - Returns: false once the body is complete.
  /// - Throws: `UpstreamError`, or what `piece` throws.
  public func readBody(_ piece: (RawSpan) throws -> Void) async throws -> Bool {
    let limit = pool.times.stall
    switch try await readBody(within: limit, piece) {
    case .more: return true
    case .complete: return false
    case .quiet: throw UpstreamError.silent(request.origin, seconds: limit)
    }
  }

  /// Hands over what has come of the body, or comes within so many seconds, in pieces that are valid during the call
  /// only.
  ///
  /// - Parameter most: no more than so many bytes are received; what came with the head comes whole.
  /// - Throws: `UpstreamError`, or what `piece` throws.
  public func readBody(
    within seconds: Double, atMost most: Int = .max, _ piece: (RawSpan) throws -> Void
  ) async throws -> BodyEvent {
    guard let connection, var decoder else { throw UpstreamError.closedEarly(request.origin) }
    if decoder.isComplete { return .complete }
    var received: UInt64 = 0
    var pieceError: (any Error)?
    defer {
      self.decoder = decoder
      pool.counters.bodyBytes.add(received)
    }
    do {
      let more = try await connection.stream.read(deadline: .after(seconds: seconds), atMost: most) { input in
        try decoder.decode(input) { bytes in
          received += UInt64(bytes.byteCount)
          do { try piece(bytes) } catch {
            pieceError = error
            throw error
          }
        }
      }
      if more { return .more }
      guard responseFraming == .untilClose else { throw UpstreamError.closedEarly(request.origin) }
      try decoder.endOfInput()
      return .complete
    } catch StreamError.timedOut where pieceError == nil {
      return .quiet
    } catch {
      if let pieceError { throw pieceError }
      throw UpstreamError(error, origin: request.origin, seconds: seconds)
    }
  }

  /// Hands over the body of known length if all of it has come, without waiting. The exchange is complete then.
  ///
  /// - Parameter take: returns whether it took the body.
  /// - Returns: false where the body is still to be read.
  public func takeWholeBody(upTo most: Int, _ take: ([UInt8]) -> Bool) -> Bool {
    guard let connection, case .length(let count) = responseFraming, count > 0, count <= UInt64(max(0, most)),
      decoder?.remaining == count, connection.stream.readAtOnce(Int(count), take)
    else { return false }
    decoder = BodyDecoder(framing: .none)
    pool.counters.bodyBytes.add(count)
    return true
  }

  /// Whether the whole response has been read.
  public var isComplete: Bool { decoder?.isComplete ?? false }

  /// Ends the exchange: the connection is kept where request and response are complete (RFC 9112 §9.3).
  public func finish() {
    guard let connection else { return }
    self.connection = nil
    if keepsOpen, isRequestSent, responseFraming != .untilClose, decoder?.isComplete == true {
      pool.give(back: connection)
    } else {
      pool.drop(connection)
    }
  }

  /// Ends the exchange and its connection, whatever is still under way.
  public func abandon() {
    guard let connection else { return }
    self.connection = nil
    if decoder?.isComplete != true { pool.counters.failures.add() }
    pool.drop(connection)
  }

  /// The bare stream after a 101 or for a tunnel; the exchange still owns the connection.
  public var upgradedStream: ByteStream? { connection?.stream }

  private func receiveOneHead(deadline: Deadline, limit: Double) async throws(UpstreamError) -> ResponseHead {
    guard let connection else { throw .closedEarly(request.origin) }
    var head: ResponseHead?
    do {
      while head == nil {
        let more = try await connection.stream.read(deadline: deadline) { input in
          hasResponseBytes = true
          let step = try connection.parser.feed(input)
          head = step.head
          return step.taken
        }
        if !more { throw UpstreamError.closedEarly(request.origin) }
      }
    } catch {
      throw UpstreamError(error, origin: request.origin, seconds: limit)
    }
    guard let head else { throw .closedEarly(request.origin) }
    return head
  }

  /// Whether the request can be sent again unseen: the connection was a kept one, nothing of a response had
  /// come, and the method allows it.
  private func mayRepeat(after error: UpstreamError) -> Bool {
    guard connection?.isReused == true, !hasResponseBytes, request.framing == .none,
      request.head.method.isIdempotent
    else { return false }
    switch error {
    case .broken, .closedEarly: return true
    case .unresolvable, .unreachable, .forbidden, .busy, .silent, .slow, .malformed, .unavailable, .unusable,
      .cancelled:
      return false
    }
  }
}
