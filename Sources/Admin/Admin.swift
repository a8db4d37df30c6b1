// Admin: what an operator asks of a running Larder: health, readiness, metrics, and the access log.

import Configuration
import Diagnostics
public import EventLoop
import HTTPMessage
import HTTPWire
public import Proxy

/// The administration listener, on a loop of its own so that busy workers do not silence it.
public actor AdminServer: LoopBound {
  public nonisolated let loop: EventLoop
  private let metrics: Metrics
  private let isReady: @Sendable () -> Bool
  private var listener: Listener?
  private var open = 0

  /// - Parameter isReady: what `/readyz` tells: whether requests are being served.
  public init(context: ProxyContext, isReady: @escaping @Sendable () -> Bool) throws {
    loop = try EventLoop.start(name: "admin")
    metrics = Metrics(context: context)
    self.isReady = isReady
  }

  /// Listens.
  ///
  /// - Returns: the address bound, for a port of 0.
  public func listen(on address: SocketAddress) throws -> SocketAddress {
    let listener = try Listener(address: address, on: loop, backlog: 16) { [weak self] stream in
      let stream = LoopConfined(stream)
      self?.assumeIsolated { $0.accept(stream) }
    }
    self.listener = listener
    return listener.boundAddress
  }

  /// Ends the listener and its loop. Not to be called on that loop: it waits for its end.
  public nonisolated func stop() async {
    await close()
    loop.stop()
  }

  private func close() { listener?.close() }

  private func accept(_ stream: LoopConfined<ByteStream>) {
    guard open < Self.connectionLimit else { return stream.value.abort() }
    open += 1
    let metrics = metrics
    let isReady = isReady
    spawn {
      await AdminConnection(stream: stream.value, metrics: metrics, isReady: isReady).serve()
      self.open -= 1
    }
  }

  private static let connectionLimit = 64
}

/// One connection to the administration listener: one request, one answer.
private final class AdminConnection {
  private let stream: ByteStream
  private let metrics: Metrics
  private let isReady: @Sendable () -> Bool

  init(stream: ByteStream, metrics: Metrics, isReady: @escaping @Sendable () -> Bool) {
    self.stream = stream
    self.metrics = metrics
    self.isReady = isReady
  }

  func serve() async {
    defer { stream.close() }
    let deadline = Deadline.after(seconds: 10)
    var parser = RequestHeadParser(limits: .standard)
    var head: RequestHead?
    do {
      while head == nil {
        let more = try await stream.read(deadline: deadline) { input in
          let step = try parser.feed(input)
          head = step.head
          return step.taken
        }
        if !more { return }
      }
    } catch let error as WireError {
      return await answer(status: error.status, error.explanation, isHead: false)
    } catch {
      return
    }
    guard let head else { return }
    let (status, text) = route(head)
    await answer(status: status, text, isHead: head.method == .head)
  }

  private func route(_ head: RequestHead) -> (status: Int, text: String) {
    guard head.method == .get || head.method == .head else { return (405, "GET and HEAD only\n") }
    let path: String
    switch head.target {
    case .origin(let target): path = target
    case .absolute(let target): path = target.pathAndQuery
    case .authority, .asterisk: return (400, "expected a path\n")
    }
    switch path {
    case "/healthz": return (200, "ok\n")
    case "/readyz": return isReady() ? (200, "ready\n") : (503, "not ready\n")
    case "/metrics": return (200, metrics.render())
    case _: return (404, "found nothing at this path; expected /healthz, /readyz or /metrics\n")
    }
  }

  private func answer(status: Int, _ text: String, isHead: Bool) async {
    let body = Array(text.utf8)
    var fields: Fields = [
      .contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store", .connection: "close",
    ]
    fields.set(.contentLength, FieldValue(body.count))
    if status == 405 { fields.set(.allow, "GET, HEAD") }
    stream.queue(ResponseHead(status: status, fields: fields).serialized())
    if !isHead { stream.queue(body) }
    // Whoever asked and left does not need the answer.
    try? await stream.flush(stall: 10)
    stream.shutdownWrite()
  }
}
