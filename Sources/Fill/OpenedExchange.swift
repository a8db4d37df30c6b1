// An upstream exchange for part of a representation, up to the point where its head has been checked (rule 5).

public import HTTPMessage
public import Spans
public import Store
public import Upstream

/// An exchange whose head fits, with its body to come.
public struct OpenedExchange {
  public let exchange: Exchange
  /// Where in the representation the next byte of the body belongs.
  public var offset: UInt64
  /// Where in the representation the body ends; nil where upstream did not say.
  public let upper: UInt64?
  /// The total length that the answer stated.
  public let total: UInt64?
  /// Present spans inside the body that are not stored again.
  public var bridged: [ByteSpan] = []

  /// Whether the origin has served a range: the body is not the whole.
  var isPart: Bool { offset > 0 || (upper ?? .max) < (total ?? .max) }

  /// Whether it brings only a few bytes of what was asked for, although more is there. One such answer is honest; many of
  /// them are an exchange for every few bytes.
  public func isCrumb(of asked: ByteSpan) -> Bool {
    let end = upper ?? .max
    return end < min(asked.upper, total ?? .max) && end - offset < 4 << 10
  }

  public init(exchange: Exchange, offset: UInt64, upper: UInt64?, total: UInt64?) {
    self.total = total
    self.exchange = exchange
    self.offset = offset
    self.upper = upper
  }
}

/// What upstream answered to a request for part of a representation.
public struct PartialAnswer {
  /// The answer's meaning for the fill.
  public enum Verdict {
    /// The bytes of this representation, from the exchange's offset on.
    case body(OpenedExchange)
    /// The origin has another representation by now.
    case changed(reason: String)
    /// An answer that ends the matter: 3xx, 401, 403, 404, 410 and the like.
    case refused(status: Int)
    /// The origin cannot serve now; what its `Retry-After` said, in seconds.
    case later(status: Int, seconds: Double?)
    /// There is nothing from the asked position on: the representation ends before it (416).
    case ended(total: UInt64)
    /// The answer does not fit what was asked.
    case wrong(reason: String)
  }

  public let exchange: Exchange
  public let head: ResponseHead
  public let verdict: Verdict

  /// Asks for `span` of a stored representation, or for all of it under the same validator where `span` is nil,
  /// and checks the answer's head.
  ///
  /// - Parameter coding: the stored response's `Content-Encoding`, which the answer must repeat.
  /// - Parameter now: read when the head has come.
  public static func ask(
    for span: ByteSpan?, of representation: Representation, coding: FieldValue?, source: FillSource,
    pool: ConnectionPool, now: () -> Timestamp
  ) async throws(UpstreamError) -> PartialAnswer {
    let request = source.request(for: span, under: representation.validator)
    let (exchange, head) = try await Exchange.perform(request, pool: pool)
    let expectation = PartialExpectation(
      asked: span ?? ByteSpan(0, .max),
      stored: .init(validator: representation.validator, total: representation.total, coding: coding))
    let judged = PartialCheck.judge(head, expected: expectation, now: now())
    return PartialAnswer(
      exchange: exchange, head: head,
      verdict: verdict(judged, of: expectation.asked, exchange: exchange, head: head, now: now()))
  }

  private static func verdict(
    _ judged: PartialVerdict, of asked: ByteSpan, exchange: Exchange, head: ResponseHead, now: Timestamp
  ) -> Verdict {
    switch judged {
    case .proceed(let span, let total), .shorter(let span, let total):
      return .body(OpenedExchange(exchange: exchange, offset: span.lower, upper: span.upper, total: total))
    case .wholeFromZero(let total):
      return .body(OpenedExchange(exchange: exchange, offset: 0, upper: total, total: total))
    case .changed(let reason):
      return .changed(reason: reason.rawValue)
    case .unsatisfied(.some(let total)) where total <= asked.lower:
      return .ended(total: total)
    case .unsatisfied:
      return .wrong(reason: "416 although the range lies within the representation")
    case .wrong(let fault):
      return .wrong(reason: fault.rawValue)
    case .retryLater(let status):
      return .later(status: status, seconds: retryAfter(head.fields, now: now))
    case .refused(304):
      return .wrong(reason: "304 to a request without If-None-Match")
    case .refused(let status):
      return .refused(status: status)
    }
  }

  /// `Retry-After` in seconds from now: a number, or a date (RFC 9110 §10.2.3).
  private static func retryAfter(_ fields: Fields, now: Timestamp) -> Double? {
    guard let value = fields.first(.retryAfter) else { return nil }
    if let seconds = value.decimal { return Double(seconds) }
    // All digits, and yet no 64-bit number: longer than anybody waits.
    if value.bytes.allSatisfy(ASCII.isDigit) { return .infinity }
    return HTTPDate.parse(value, now: now).map { Double(max(0, $0 - now)) }
  }
}
