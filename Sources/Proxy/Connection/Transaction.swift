// One request and its response on a client connection, with what the log will say of it.

import CachePolicy
import Configuration
import Diagnostics
import EventLoop
import HTTPMessage
import HTTPWire

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
  private let began = ContinuousClock.now

  var context: ProxyContext { parts.context }

  init(head: RequestHead, stream: ByteStream, parts: WorkerParts) {
    request = head
    self.stream = stream
    self.parts = parts
    response = ResponseWriter(
      request: head, stream: stream, sendTimeout: parts.context.settings.clients.sendTimeout.inSeconds,
      limits: parts.context.counters.limits)
    record = RequestRecord(
      identifier: parts.context.makeIdentifier(), client: stream.peer.ip, started: parts.context.now,
      method: head.method.name, target: head.target.text, version: head.version.text,
      referer: head.fields.first(.referer)?.string, userAgent: head.fields.first(.userAgent)?.string)
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

  /// Sends a response head with what every response of ours carries: `Via`, `Date`, `Cache-Status`.
  func send(_ head: ResponseHead, framing: OutgoingFraming, status: CacheStatus, upstream: Bool) {
    var head = head
    if upstream { head.fields.append(.via, context.via(receivedOver: head.version)) }
    // RFC 9110 §6.6.1: a recipient with a clock adds the Date that is missing.
    if !head.fields.contains(.date) { head.fields.set(.date, HTTPDate.format(context.now)) }
    var status = status
    if context.settings.cache.statusKey { status.key = cacheKey?.text }
    let own = status.sent(as: head.status).fieldValue(cache: context.settings.name)
    head.fields.append(.cacheStatus, own)
    record.cacheStatus = own.string
    record.status = head.status
    record.firstByte = seconds(since: began)
    // RFC 9112 §9.6: a body that may stay unread ends the connection, and the client is told.
    if let body, !body.isComplete { response.closesAfterwards() }
    response.sendHead(head, framing: framing)
  }

  /// Answers with a page of our own.
  func answer(_ page: ErrorPage, status: CacheStatus = CacheStatus(.local)) async {
    guard !response.hasHead else {
      abort()
      return
    }
    let (head, body) = page.rendered(for: request.fields, identifier: record.identifier)
    send(head, framing: .length(UInt64(body.count)), status: status, upstream: false)
    response.send(body[...])
    await end()
  }

  /// Completes the response.
  func end(trailers: Fields = Fields()) async {
    do {
      try await response.end(trailers: trailers)
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

  /// Hands the record over to whoever counts and logs.
  func finish() {
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

  private func seconds(since instant: ContinuousClock.Instant) -> Double {
    (ContinuousClock.now - instant).inSeconds
  }
}
