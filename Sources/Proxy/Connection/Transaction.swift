// One request and its response on a client connection, with what the log will say of it.

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import HTTPMessage
import HTTPWire
import Store

/// A request in progress. Bound to its worker's loop.
final class Transaction {
  let request: RequestHead
  let stream: ByteStream
  let parts: WorkerParts
  let response: ResponseWriter
  var record: RequestRecord
  /// The request's body; the framing is checked before a transaction is handled.
  var body: RequestBody?
  /// Whether the response has to come from upstream.
  private var awaitsUpstream = false
  /// Called when that is so.
  var noteUpstream: () -> Void = {}
  /// The key that the store was asked for, for Cache-Status.
  var cacheKey: CacheKey?
  private let began = Deadline.now
  private var isFinished = false

  var context: ProxyContext { parts.context }

  init(head: RequestHead, stream: ByteStream, parts: WorkerParts) {
    request = head
    self.stream = stream
    self.parts = parts
    response = ResponseWriter(
      request: head, stream: stream, sendTimeout: parts.context.clientTimes.send,
      limits: parts.context.counters.limits)
    record = RequestRecord(
      identifier: parts.context.makeIdentifier(), peer: stream.peer, started: parts.context.now, request: head)
  }

  /// Whether the client has ended its direction before its response began, for which upstream is waited. An end within
  /// a request's body is for whoever reads that.
  var hasClientFinished: Bool {
    awaitsUpstream && stream.hasPeerFinished && !response.hasHead && body?.isComplete ?? true
  }

  /// From here on the response has to come from upstream.
  func goesUpstream() {
    awaitsUpstream = true
    noteUpstream()
  }

  /// What becomes of the connection after the response.
  enum Disposition {
    case keepOpen
    case close
    /// What is queued leaves first.
    case cutOff
    /// Unread bytes of the client are about: it must get the chance to read the response first.
    case linger
  }

  var disposition: Disposition {
    if response.isCutOff { return .cutOff }
    guard response.isComplete else { return .close }
    if let body, !body.isComplete { return .linger }
    return response.keepsOpen ? .keepOpen : .close
  }

  /// Sends a response head with what every response of ours carries: `Via`, `Date`, `Cache-Status`. Fields that frame
  /// the body are replaced by those of `framing`.
  func send(_ head: ResponseHead, framing: OutgoingFraming, status: CacheStatus, upstream: Bool) {
    var fields = head.fields
    fields.remove(.transferEncoding)
    fields.remove(.connection)
    switch framing {
    case .none, .upgrade:
      // RFC 9110 §8.6: never in a 204; and nobody is told a length that could be read in two ways.
      if head.status < 200 || head.status == 204 || !fields.hasPlainContentLength { fields.remove(.contentLength) }
    case .length, .unknownLength, .untilClose:
      fields.remove(.contentLength)
    }
    if case .upgrade = framing { fields.remove(.upgrade) }
    if upstream { fields.append(.via, context.via(receivedOver: head.version)) }
    // RFC 9110 §6.6.1: a recipient with a clock adds the Date that is missing.
    if !fields.contains(.date) { fields.append(.date, HTTPDate.format(context.now)) }
    finish(
      OutgoingHead(status: head.status, reason: head.reason, lines: fields.serialized), framing: framing, status: status
    )
  }

  /// Sends the head of a stored response, most of which is ready.
  ///
  /// - Parameter age: in seconds (RFC 9111 §5.1); nil for a response that has just come.
  /// - Parameter part: where it is a part, which.
  func send(
    _ entry: StoredEntry, age: Int64?, part: ContentRange?, framing: OutgoingFraming, status: CacheStatus
  ) {
    let head = OutgoingHead(
      status: part == nil ? entry.response.status : 206,
      reason: part == nil ? entry.response.reason : ResponseHead.usualReason(of: 206), lines: entry.lines, part: part,
      age: age, via: context.via(receivedOver: .http11))
    finish(head, framing: framing, status: status)
  }

  private func finish(_ head: OutgoingHead, framing: OutgoingFraming, status: CacheStatus) {
    // RFC 9112 §9.6: a body that may stay unread ends the connection, and the client is told.
    if let body, !body.isComplete { response.closesAfterwards() }
    record.status = head.status
    record.firstByte = seconds(since: began)
    guard let framing = response.settle(framing) else { return }
    var status = status
    if context.settings.cache.statusKey { status.key = cacheKey?.text }
    let (octets, ownStatus) = head.octets(framing, status, cache: context.cacheName)
    record.ownStatus = FieldValue(checked: octets[ownStatus])
    response.sendHead(octets)
  }

  /// Answers with a page of our own.
  func answer(_ page: ErrorPage, status: CacheStatus = CacheStatus(.local)) async {
    guard !response.hasHead else {
      abort()
      return
    }
    let (head, body) = page.rendered(for: request.fields, identifier: record.identifier.description)
    send(head, framing: .length(UInt64(body.count)), status: status, upstream: false)
    response.send(body[...])
    await end()
  }

  /// Completes the response.
  func end(trailers: Fields = Fields()) async {
    await parts.loop.turnEnd()
    guard !response.end(trailers: trailers) else { return }
    do {
      try await response.leave()
    } catch {
      record.ending = .clientGone
    }
  }

  /// Cuts the response off so that it cannot look complete.
  func abort() {
    record.ending = .aborted
    response.cutOff()
  }

  /// The client has left or takes nothing: nothing more is sent.
  func clientIsGone() {
    record.ending = .clientGone
    response.abort()
  }

  /// Hands the record over to whoever counts and logs. Later calls do nothing.
  func finish() {
    guard !isFinished else { return }
    isFinished = true
    record.duration = seconds(since: began)
    record.bytes = response.bodyBytes
    record.bytesFromUpstream = min(record.bytesFromUpstream, record.bytes)
    record.bytesFromCache = min(record.bytesFromCache, record.bytes - record.bytesFromUpstream)
    let counters = context.counters
    counters.requests.add()
    counters.bodyBytes.add(record.bytes)
    counters.bodyBytesFromCache.add(record.bytesFromCache)
    counters.bodyBytesFromUpstream.add(record.bytesFromUpstream)
    switch record.ending {
    case .complete: break
    case .clientGone: counters.clientsGone.add()
    case .aborted: counters.abortedResponses.add()
    }
    context.observer(record)
  }

  private func seconds(since earlier: Deadline) -> Double { Deadline.now.seconds(since: earlier) }
}
