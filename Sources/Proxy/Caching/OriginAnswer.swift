// The head of an origin's final response, with what was asked and when.

import CachePolicy
import HTTPMessage
import Spans
import Store
import Upstream

/// An exchange whose head has come and whose body is still to be read.
struct OriginAnswer {
  let exchange: Exchange
  let head: ResponseHead
  /// The request as it was sent upstream.
  let asked: RequestHead
  let requestTime: Timestamp
  let responseTime: Timestamp

  /// Sends a request without a body, and waits for the head of its final response; interim ones are handed over.
  static func to(
    _ asked: UpstreamRequest, _ parts: WorkerParts, interim: (ResponseHead) async -> Void = { _ in }
  ) async throws(UpstreamError) -> OriginAnswer {
    let requestTime = parts.context.now
    let (exchange, head) = try await Exchange.perform(asked, pool: parts.pool, interim: interim)
    return OriginAnswer(
      exchange: exchange, head: head, asked: asked.head, requestTime: requestTime, responseTime: parts.context.now)
  }

  /// The single range that was asked for; nil where the whole was.
  var askedRange: ByteRange? {
    guard case .bytes(let ranges) = RangeField.parse(asked.fields, limit: 1) else { return nil }
    return ranges.first
  }

  /// Whether the request had a condition that a 304 answers (RFC 9110 §15.4.5).
  var isConditional: Bool { asked.fields.contains(.ifNoneMatch) || asked.fields.contains(.ifModifiedSince) }

  /// Who else would get an answer that cannot be shared, where this one is not stored.
  enum Bearing {
    /// Nobody, as far as is known: it answers this client's own conditions or range.
    case nobody
    /// Who asks for a part as well. The whole may be stored although a part of it may not, as where nothing tells which
    /// version that is of.
    case whoAsksForParts
    case everybody
  }

  var bearing: Bearing {
    switch head.status {
    case 304, 416: .nobody
    case 206: .whoAsksForParts
    case _: .everybody
    }
  }

  /// The ranges that this 416 leaves hope for: those within the length that it names, or all where it names none
  /// (RFC 9110 §14.1.2, §15.5.17).
  func satisfiable(of ranges: [ByteRange]) -> [ByteRange] {
    guard let value = head.fields.first(.contentRange), case .unsatisfied(let total) = ContentRange.parse(value) else {
      return ranges
    }
    return ranges.filter { RangeResolution.resolve([$0], total: total) != .unsatisfiable }
  }

  /// Whether this 304 is about a stored response (RFC 9111 §4.3.4).
  func freshens(_ entry: StoredEntry) -> Bool {
    !freshened(by: head, among: [entry.response], now: responseTime).isEmpty
  }

  /// Whether a stored response that the origin was asked about is out of date, as this answer is not stored itself.
  func outdates(_ entry: StoredEntry) -> Bool {
    CachePolicy.outdates(entry.response, total: entry.representation.total, by: head)
  }

  /// A stored response as this 304 updates it.
  func updating(_ entry: StoredEntry, for request: RequestHead, _ rules: CacheRules) -> StoredResponse {
    updated(
      entry.response, with: head, to: request, requestTime: requestTime, responseTime: responseTime, rules: rules)
  }

  /// What a 206 brings.
  var contentRange: (span: ByteSpan, total: UInt64?)? {
    guard head.status == 206, let value = head.fields.first(.contentRange),
      case .satisfied(let first, let last, let total) = ContentRange.parse(value)
    else { return nil }
    return (ByteSpan(first, last + 1), total)
  }

  /// Why a 206 must not be believed (design: rule 5); nil where it fits what was asked.
  ///
  /// Answers to several ranges, and to forms of Range that are not understood here, are not judged: they are passed.
  func fault() -> PartialFault? {
    guard let range = askedRange else { return nil }
    guard let (span, total) = contentRange else { return .badContentRange }
    let asked: ByteSpan
    switch range {
    case .bounded(let first, let last): asked = ByteSpan(first, last + 1)
    case .from(let first): asked = ByteSpan(first, .max)
    case .suffix(let count):
      guard let total else { return .unknownTotal }
      asked = ByteSpan(total - min(count, total), total)
    }
    let expectation = PartialExpectation(asked: asked, stored: nil)
    switch PartialCheck.judge(head, expected: expectation, now: responseTime) {
    case .wrong(let fault): return fault
    case .proceed, .shorter: return total.map { span.upper > $0 } == true ? .wrongEnd : nil
    case .wholeFromZero, .changed, .unsatisfied, .retryLater, .refused: return .badContentRange
    }
  }
}
