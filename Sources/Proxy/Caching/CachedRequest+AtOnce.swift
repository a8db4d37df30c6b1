// An answer all of which is in memory or in the page cache: nothing is waited for, and no fill can concern it.

import CachePolicy
import Configuration
import HTTPMessage
import Spans
import Store

extension CachedRequest {
  /// A response that is queued in full.
  struct QueuedAnswer {
    /// Keeps the queued bytes from being evicted.
    let pin: Pin?
  }

  /// Queues the response to a GET where what is stored is fresh and all that is asked for is at hand. It is the common case, and the
  /// one that is to cost next to nothing.
  ///
  /// - Returns: nil, with nothing queued, where it is not that plain.
  func answerAtOnce() -> QueuedAnswer? {
    guard request.method == .get, !settings.offline, !context.unstable.contains(key),
      let entries = context.store.entriesAtOnce(for: key), let entry = variant(among: entries)
    else { return nil }
    let now = context.now
    guard case .serve = evaluateConditionals(of: request, against: entry.response, now: now),
      case .serve(let age, let ttl) = reuse(terms(of: entry), for: request, now: now), ttl > 0,
      let (answer, count) = queue(entry, select(from: entry), age: age, CacheStatus(.hit, ttl: ttl))
    else { return nil }
    context.store.touch(entry)
    transaction.record.bytesFromCache += count
    return answer
  }

  /// Queues the response to the GET that has just brought it, where the body came whole with the head.
  ///
  /// - Returns: nil, with nothing queued, where it is not that plain.
  func answerWhole(_ entry: StoredEntry, _ selection: RangeSelection, _ status: CacheStatus) -> QueuedAnswer? {
    // An Age is the origin's, and goes on as it came.
    guard request.method == .get, ownFields.isEmpty, !entry.response.fields.contains(.age),
      let (answer, count) = queue(entry, selection, age: nil, status)
    else { return nil }
    transaction.record.bytesFromUpstream += count
    return answer
  }

  /// Queues what was selected of an entry, with its count of bytes; nil where it is not at hand as it is to be sent.
  private func queue(
    _ entry: StoredEntry, _ selection: RangeSelection, age: Int64?, _ status: CacheStatus
  ) -> (QueuedAnswer, UInt64)? {
    guard case .stored = form(of: entry), let (span, part) = contiguous(selection, of: entry),
      let (bytes, pin) = entry.representation.bytesAtOnce(in: span)
    else { return nil }
    count(status)
    transaction.send(entry, age: age, part: part, framing: .length(span.count), status: status)
    transaction.response.send(bytes)
    return (QueuedAnswer(pin: pin), span.count)
  }

  /// The one span that a selection comes to, and what Content-Range says of it; nil where it is not one, empty, or of
  /// a representation whose end is not known.
  private func contiguous(
    _ selection: RangeSelection, of entry: StoredEntry
  ) -> (span: ByteSpan, part: ContentRange?)? {
    guard let total = entry.representation.total, total > 0 else { return nil }
    switch selection {
    case .whole: return (ByteSpan(0, total), nil)
    case .part(let span):
      // What was stated of the whole content does not hold for a part (RFC 9530 §2).
      guard !entry.response.fields.contains(.contentDigest), !entry.response.fields.contains(.contentMD5) else {
        return nil
      }
      return (span, .satisfied(first: span.lower, last: span.upper - 1, total: total))
    case .parts, .unsatisfiable, .awaitsTotal: return nil
    }
  }
}
