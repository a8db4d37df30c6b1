// What of a stored representation a request is answered with: all of it, one part, several, or nothing.

import CachePolicy
import HTTPMessage
import Spans
import Store

/// The part of a representation that answers a GET (RFC 9110 §14.2).
enum RangeSelection: Equatable {
  /// The whole, with status 200 or the stored one.
  case whole
  /// One part, with status 206.
  case part(ByteSpan)
  /// Several parts, with status 206 and multipart/byteranges.
  case parts([ByteSpan])
  /// No part lies within the representation: 416.
  case unsatisfiable
  /// It depends on the total, which is not known yet; the range as asked.
  case awaitsTotal(ByteRange)

  /// Selects for a request whose preconditions hold.
  static func select(
    for request: RequestHead, from response: StoredResponse, total: UInt64?, limit: Int, now: Timestamp
  ) -> RangeSelection {
    // RFC 9110 §14.2: Range is for GET, and only where the answer without it would be 200.
    guard request.method == .get, response.status == 200, request.fields.contains(.range) else { return .whole }
    // As it is mostly.
    if let total, !request.fields.contains(.ifRange), let range = RangeField.single(request.fields),
      let span = RangeResolution.span(of: range, total: total)
    {
      return .part(span)
    }
    guard case .bytes(let ranges) = RangeField.parse(request.fields, limit: limit) else { return .whole }
    switch evaluateIfRange(of: request, against: response, now: now) {
    case .mismatch: return .whole
    case .absentOrMatches: break
    }
    guard let total else {
      // Several ranges of what has no known end: the whole is a right answer to them.
      guard ranges.count == 1, let range = ranges.first else { return .whole }
      return .awaitsTotal(range)
    }
    switch RangeResolution.resolve(ranges, total: total) {
    case .whole, .refused: return .whole
    case .unsatisfiable: return .unsatisfiable
    case .spans(let spans):
      guard let first = spans.first else { return .whole }
      return spans.count == 1 ? .part(first) : .parts(spans)
    }
  }

  /// Where the one part that was asked for begins; nil where it is not one, or depends on the end.
  var first: UInt64? {
    switch self {
    case .part(let span): span.lower
    case .awaitsTotal(.bounded(let first, _)), .awaitsTotal(.from(let first)): first
    case .awaitsTotal(.suffix), .whole, .parts, .unsatisfiable: nil
    }
  }

  /// Whether it is sent to the end of the representation, wherever that is.
  var reachesToTheEnd: Bool {
    switch self {
    case .whole, .awaitsTotal(.from), .awaitsTotal(.suffix): true
    case .part, .parts, .unsatisfiable, .awaitsTotal(.bounded): false
    }
  }

  /// The spans to send, in order; `total` nil stands for an end not known yet.
  func spans(total: UInt64?) -> [ByteSpan] {
    switch self {
    case .whole: [ByteSpan(0, total ?? .max)]
    case .part(let span): [span]
    case .parts(let spans): spans
    case .unsatisfiable: []
    case .awaitsTotal(.bounded(let first, let last)): [ByteSpan(first, last + 1)]
    case .awaitsTotal(.from(let first)): [ByteSpan(first, .max)]
    case .awaitsTotal(.suffix): [ByteSpan(0, .max)]
    }
  }
}
