// An origin server whose behaviour toward each request is a closure of the test.

/// A request as the scripted origin received it, and what it sent in return.
public struct RecordedRequest: Sendable {
  /// The number of the connection it came on, from 0.
  public let connection: Int
  public let head: MessageHead
  /// The request's body, decoded.
  public var body: [UInt8] = []
  /// The trailer fields of a chunked request.
  public var trailers: [(name: String, value: String)] = []
  /// Body bytes handed to the connection (`Exchange.body`).
  public var bodyBytesSent = 0

  public var method: String { String(head.startLine.split(separator: " ").first ?? "") }
  public var target: String {
    let parts = head.startLine.split(separator: " ")
    return parts.count > 1 ? String(parts[1]) : ""
  }
  public func field(_ name: String) -> String? { head.first(name) }
}

/// A server on 127.0.0.1 that runs one closure per request, each connection on its own thread.
///
/// A closure that throws closes its connection. All requests are recorded.
public final class ScriptedOrigin: Sendable {
  public let port: UInt16
  private let listener: ListeningSocket
  private let state = Monitor(State())
  private let script: @Sendable (Exchange) throws -> Void

  private struct State {
    var requests: [RecordedRequest] = []
    var sockets: [Socket] = []
    var connections = 0
    var isStopped = false
  }

  public init(_ script: @escaping @Sendable (Exchange) throws -> Void) throws {
    self.script = script
    listener = try ListeningSocket()
    port = listener.port
    startThread { [listener, self] in
      while let socket = listener.accept() {
        let number = state.withLock { state in
          if state.isStopped { socket.close() }
          state.sockets.append(socket)
          state.connections += 1
          return state.connections - 1
        }
        startThread { self.serve(socket, number) }
      }
    }
  }

  /// The absolute URL of a path.
  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// All requests so far, in order of arrival.
  public var requests: [RecordedRequest] { state.withLock { $0.requests } }

  /// The number of connections so far.
  public var connections: Int { state.withLock { $0.connections } }

  /// The sum of all body bytes sent.
  public var bodyBytesSent: Int { state.withLock { $0.requests.reduce(0) { $0 + $1.bodyBytesSent } } }

  /// Waits until that many requests have arrived.
  public func waitForRequests(_ count: Int) throws {
    try state.wait(for: "\(count) requests at the scripted origin") { $0.requests.count >= count ? () : nil }
  }

  /// Refuses new connections and ends those there are.
  public func stop() {
    listener.interrupt()
    let sockets = state.withLock { state in
      state.isStopped = true
      return state.sockets
    }
    for socket in sockets { socket.interrupt() }
  }

  private func serve(_ socket: Socket, _ connection: Int) {
    let reader = MessageReader(socket)
    defer { socket.close() }
    do {
      while let head = try reader.head() {
        let index = state.withLock { state in
          state.requests.append(RecordedRequest(connection: connection, head: head))
          return state.requests.count - 1
        }
        let exchange = Exchange(
          reader: reader, index: index, request: RecordedRequest(connection: connection, head: head)
        ) {
          change in self.state.withLock { change(&$0.requests[index]) }
        }
        try script(exchange)
        guard exchange.keepsOpen else { break }
        try exchange.readBody()
      }
      // A close with unread input would reset, and destroy what is still on its way to the peer.
      socket.finish()
      socket.drain()
    } catch {
      // The connection ends here: the script wished so, or the peer has left.
    }
  }
}

/// One request at a scripted origin, and the means to answer it.
public final class Exchange {
  public let request: RecordedRequest
  /// The number of this request at this origin, from 0.
  public let index: Int
  let reader: MessageReader
  private let record: ((inout RecordedRequest) -> Void) -> Void
  private var bodyIsRead = false
  fileprivate var keepsOpen = true

  fileprivate init(
    reader: MessageReader, index: Int, request: RecordedRequest,
    record: @escaping ((inout RecordedRequest) -> Void) -> Void
  ) {
    self.reader = reader
    self.index = index
    self.request = request
    self.record = record
  }

  /// Sends bytes as they are: heads, framing, nonsense.
  public func raw(_ text: String) throws {
    try reader.socket.send(text)
  }

  public func raw(_ bytes: [UInt8]) throws {
    try reader.socket.send(bytes)
  }

  /// Sends a response head: the status line and the fields, nothing added.
  public func head(_ status: String, _ fields: [(String, String)] = [], version: String = "HTTP/1.1") throws {
    let lines = ["\(version) \(status)"] + fields.map { "\($0.0): \($0.1)" }
    try raw(lines.joined(separator: "\r\n") + "\r\n\r\n")
  }

  /// Sends body bytes, which are counted. Nothing is sent in answer to HEAD.
  ///
  /// - Parameter text: what leaves in the same write, and is no part of the body.
  public func body(_ bytes: [UInt8], followedBy text: String = "") throws {
    if request.method == "HEAD" { return }
    record { $0.bodyBytesSent += bytes.count }
    try reader.socket.send(bytes + Array(text.utf8))
  }

  /// Sends a slice of a large body, piece by piece.
  public func body(_ pattern: PatternBody, _ range: Range<Int>) throws {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let end = min(range.upperBound, offset + (128 << 10))
      try body(pattern.bytes(offset..<end))
      offset = end
    }
  }

  /// Sends one chunk of a chunked body.
  public func chunk(_ bytes: [UInt8]) throws {
    try raw(String(bytes.count, radix: 16) + "\r\n")
    try body(bytes)
    try raw("\r\n")
  }

  /// Sends the last chunk with trailer fields.
  public func lastChunk(_ trailers: [(String, String)] = []) throws {
    try raw("0\r\n" + trailers.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n")
  }

  /// Sends a whole simple response with its length.
  public func respond(_ status: String = "200 OK", _ fields: [(String, String)] = [], body text: String = "") throws {
    try head(status, fields + [("Content-Length", "\(text.utf8.count)")])
    try body(Array(text.utf8))
  }

  /// Reads the request's body, once; the record has it afterwards.
  @discardableResult
  public func readBody() throws -> [UInt8] {
    if bodyIsRead { return [] }
    bodyIsRead = true
    var bytes: [UInt8] = []
    var trailers: [(name: String, value: String)] = []
    var end = BodyEnd.clean
    if request.field("Transfer-Encoding")?.lowercased().contains("chunked") == true {
      (end, trailers) = try reader.chunkedBody { bytes.append(contentsOf: $0) }
    } else if let length = request.field("Content-Length").flatMap(Int.init) {
      end = try reader.body(length: length) { bytes.append(contentsOf: $0) }
    }
    record {
      $0.body = bytes
      $0.trailers = trailers
    }
    guard end == .clean else { throw HarnessError("the request's body ended early") }
    return bytes
  }

  /// Whatever the peer sends next, undecoded: for tunnels.
  public func receive() throws -> Received { try reader.raw() }

  /// Exactly `count` undecoded bytes from the peer.
  public func receive(exactly count: Int) throws -> [UInt8] { try reader.rawBytes(count) }

  /// Ends the sending direction in order (FIN) once this closure returns; the connection takes no further request.
  public func finish() {
    keepsOpen = false
  }

  /// Ends the sending direction at once and goes on receiving.
  public func finishSending() {
    keepsOpen = false
    reader.socket.finish()
  }

  /// Waits until the peer's system has all that was sent, then resets the connection.
  public func resetAfterDelivery() throws {
    try reader.socket.waitForAcknowledgement()
    reset()
  }

  /// Resets the connection (RST).
  public func reset() {
    keepsOpen = false
    reader.socket.reset()
  }

  /// Waits until the peer has ended the connection; what it sends until then is dropped.
  public func waitForPeerToLeave() throws {
    keepsOpen = false
    while case .bytes = try reader.socket.receive() {}
  }
}
