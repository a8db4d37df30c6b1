// One client connection: reads requests, has each answered in order, and decides whether another may follow.

import Configuration
import Diagnostics
import EventLoop
import HTTPMessage
import HTTPWire
import Upstream

/// A connection from a client (RFC 9112 §9). Bound to its worker's loop.
final class ClientConnection {
  let stream: ByteStream
  let parts: WorkerParts
  private var parser: RequestHeadParser
  /// Why the client may not use the proxy, which each of its requests is told; nil where it may.
  private let refusal: String?
  private var isIdle = true
  private var served = 0
  private var current: Transaction?
  /// What serves this connection; nil while it is idle.
  var task: Task<Void, Never>?
  /// Begins to serve the connection again when it was idle.
  var resume: () -> Void = {}
  /// When the wait for a request is over; nil while none is waited for.
  private var waitEnd: Deadline?
  private var patience: LoopTimer?
  /// Where the connection stands among those of its address.
  let address: ClientAddress
  var wait = WaitLinks()

  init(stream: ByteStream, address: ClientAddress, parts: WorkerParts) {
    self.stream = stream
    self.address = address
    self.parts = parts
    stream.leastSendRate = Double(parts.context.settings.clients.minimumRate)
    refusal = parts.context.access.refusal(ofClient: stream.peer)
    parser = RequestHeadParser(limits: parts.context.settings.headLimits)
  }

  enum Service {
    case ended
    /// There was no request for a while: `resume` is called when something happens.
    case idle
  }

  /// Serves requests until the connection ends, or is idle.
  func serve() async -> Service {
    while await serveRequests() == .idle {
      if stream.park(until: waitEnd ?? .now, { [unowned self] in resume() }) {
        task = nil
        return .idle
      }
    }
    stream.close()
    task = nil
    return .ended
  }

  private func serveRequests() async -> Service {
    let most = parts.context.settings.clients.requestsPerConnection
    while true {
      let head: RequestHead
      switch await readHead() {
      case .request(let received): head = received
      case .idle: return .idle
      case .ended: return .ended
      case .refused(let status, let reason):
        await refuse(status: status, reason: reason)
        return .ended
      }
      served += 1
      isIdle = false
      address.endWait(self)
      let transaction = Transaction(head: head, stream: stream, parts: parts)
      current = transaction
      transaction.noteUpstream = { [unowned self] in clientHasFinished() }
      defer {
        current = nil
        patience?.cancel()
        patience = nil
      }
      if served == most {
        parts.context.counters.limits.add(.requestsPerConnection)
        transaction.response.closesAfterwards()
      } else if parts.context.isDraining {
        transaction.response.closesAfterwards()
      }
      await RequestHandler(transaction, refusal: refusal).run()
      transaction.finish()
      switch transaction.disposition {
      case .keepOpen:
        // The response may have begun before the drain did.
        if parts.context.isDraining {
          await lingerIfUnread()
          return .ended
        }
        isIdle = true
        address.beginWait(self)
      case .close:
        await lingerIfUnread()
        return .ended
      case .cutOff:
        // A client that does not take the rest has ended the connection itself.
        try? await transaction.response.flush()
        return .ended
      case .linger:
        await linger()
        return .ended
      }
    }
  }

  /// The client may have ended its direction. While its request waits for upstream that means most often that it has
  /// left, and sometimes that it has said all it wants to say: so it is given some time more.
  func clientHasFinished() {
    guard patience == nil, current?.hasClientFinished == true else { return }
    let carried = LoopConfined(self)
    patience = parts.loop.timer(at: .after(seconds: parts.context.clientTimes.halfClosed)) {
      let connection = carried.value
      guard connection.current?.hasClientFinished == true else { return }
      connection.parts.context.counters.limits.add(.halfClosedTimeout)
      connection.task?.cancel()
    }
  }

  /// Closes the connection if no request is under way.
  func closeIfIdle() {
    if isIdle, parser.isEmpty { stream.close() }
  }

  /// Ends the connection, which waits for a request, for the sake of another. What the system still has of a response
  /// arrives; where there has been none, nothing is left behind.
  func makeWay() {
    if served > 0 { stream.close() } else { stream.abort() }
  }

  /// Ends the connection for the loop's end, whatever is under way. The task does not get to its own end any more, so
  /// the response is accounted for here.
  func abort() {
    stream.abort()
    guard let current else { return }
    current.record.ending = .aborted
    current.finish()
  }

  private enum Received {
    case request(RequestHead)
    /// Nothing has come for a while.
    case idle
    case ended
    case refused(status: Int, reason: String)
  }

  /// Reads one request head, each byte of it against a deadline (slow senders are not waited for).
  private func readHead() async -> Received {
    let times = parts.context.clientTimes
    let end = waitEnd ?? .after(seconds: served == 0 ? times.head : times.idle)
    waitEnd = end
    var deadline = min(end, .after(seconds: Self.idleSeconds))
    var hasBegun = false
    var head: RequestHead?
    do {
      while head == nil {
        // Who ends a connection without a request closes its stream.
        let more = try await stream.read(deadline: deadline, cancellation: .ignored) { input in
          let step = try parser.feed(input)
          head = step.head
          return step.taken
        }
        guard more else {
          return parser.isEmpty
            ? .ended : .refused(status: 400, reason: "the request's head ended before its empty line")
        }
        if !hasBegun {
          hasBegun = true
          deadline = .after(seconds: times.head)
        }
      }
    } catch let error as WireError {
      parts.context.counters.count(error)
      return .refused(status: error.status, reason: error.explanation)
    } catch StreamError.timedOut where parser.isEmpty && .now < end {
      return .idle
    } catch StreamError.timedOut where parser.isEmpty {
      parts.context.counters.limits.add(served == 0 ? .headTimeout : .idleTimeout)
      return .ended
    } catch StreamError.timedOut {
      parts.context.counters.limits.add(.headTimeout)
      return .refused(status: 408, reason: "the request's head was not complete in time")
    } catch {
      return .ended
    }
    guard let head else { return .ended }
    waitEnd = nil
    return .request(head)
  }

  /// Answers what could not be read as a request, and ends the connection (RFC 9112 §11.2).
  private func refuse(status: Int, reason: String) async {
    parts.context.counters.malformedRequests.add()
    address.endWait(self)
    let unread = RequestHead(method: .get, target: .origin("-"), version: .http11)
    let transaction = Transaction(head: unread, stream: stream, parts: parts)
    transaction.response.closesAfterwards()
    await transaction.answer(ErrorPage(status: status, reason: reason))
    transaction.finish()
    await linger()
  }

  /// A client may have sent requests in advance that are not answered any more: it must get to read what was.
  private func lingerIfUnread() async {
    if !stream.isIdleClean() { await linger() }
  }

  /// Lets the client read the answer before the connection goes: closing with unread bytes would reset it
  /// (RFC 9112 §9.6).
  private func linger() async {
    stream.shutdownWrite()
    let deadline = Deadline.after(seconds: Self.lingerSeconds)
    var budget = Self.lingerBytes
    do {
      while budget > 0 {
        let more = try await stream.read(deadline: deadline) { input in
          budget -= input.byteCount
          return input.byteCount
        }
        if !more { return }
      }
    } catch {
      return
    }
  }

  /// A connection without a request for so long gives back what its task holds.
  private static let idleSeconds = 0.25
  private static let lingerSeconds = 2.0
  private static let lingerBytes = 4 << 20
}
