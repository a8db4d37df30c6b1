// A client that says exactly what the test wants it to say, and sees how a response really ended.
internal import Glibc

/// A response with its body.
public struct RawResponse: Sendable {
  public let head: MessageHead
  public var body: [UInt8] = []
  public var trailers: [(name: String, value: String)] = []
  public var end = BodyEnd.clean
  /// The heads of the 1xx responses that came before.
  public var interim: [MessageHead] = []

  public var status: Int {
    Int(head.startLine.split(separator: " ").dropFirst().first ?? "") ?? 0
  }
  public func field(_ name: String) -> String? { head.first(name) }
  public var text: String { String(decoding: body, as: UTF8.self) }
  public var cacheStatus: String { head.all("Cache-Status").joined(separator: ", ") }
}

/// A connection to the proxy (or to an origin) on 127.0.0.1.
public final class RawClient {
  private let socket: Socket
  private let reader: MessageReader

  public init(port: UInt16, receiveBuffer: Int32? = nil) throws {
    socket = try Socket.connect(port: port, receiveBuffer: receiveBuffer)
    reader = MessageReader(socket)
  }

  /// Sends bytes as they are.
  public func send(_ text: String) throws { try socket.send(text) }
  public func send(_ bytes: [UInt8]) throws { try socket.send(bytes) }

  /// Sends every byte in a segment of its own, and lets others run in between.
  public func drip(_ text: String) throws {
    for byte in text.utf8 {
      try socket.send([byte])
      sched_yield()
    }
  }

  /// The text of a request with a `Host` made from the URL.
  public static func request(_ method: String, _ url: String, _ fields: [(String, String)] = []) -> String {
    let authority = url.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first ?? ""
    let lines = ["\(method) \(url) HTTP/1.1", "Host: \(authority)"] + fields.map { "\($0.0): \($0.1)" }
    return lines.joined(separator: "\r\n") + "\r\n\r\n"
  }

  /// Sends a request without a body and reads the response to it.
  public func fetch(
    _ url: String, _ fields: [(String, String)] = [], method: String = "GET",
    into sink: ((UnsafeRawBufferPointer) throws -> Void)? = nil
  ) throws -> RawResponse {
    try send(Self.request(method, url, fields))
    return try response(to: method, into: sink)
  }

  /// Reads the head of the next final response, and the interim ones before it.
  public func responseHead() throws -> RawResponse {
    var interim: [MessageHead] = []
    while true {
      guard let head = try reader.head() else { throw HarnessError("the connection ended before a response") }
      var response = RawResponse(head: head)
      if response.status / 100 == 1 && response.status != 101 {
        interim.append(head)
        continue
      }
      response.interim = interim
      return response
    }
  }

  /// Reads the next final response. With a sink, the body goes there and is not kept.
  public func response(
    to method: String = "GET", into sink: ((UnsafeRawBufferPointer) throws -> Void)? = nil
  ) throws -> RawResponse {
    var response = try responseHead()
    try readBody(of: &response, to: method, into: sink)
    return response
  }

  /// Reads the body that belongs to a head.
  public func readBody(
    of response: inout RawResponse, to method: String = "GET",
    into sink: ((UnsafeRawBufferPointer) throws -> Void)? = nil
  ) throws {
    if method == "HEAD" || response.status == 204 || response.status == 304 || response.status == 101 { return }
    if method == "CONNECT" && response.status / 100 == 2 { return }
    var kept: [UInt8] = []
    let take: (UnsafeRawBufferPointer) throws -> Void = { piece in
      if let sink { try sink(piece) } else { kept.append(contentsOf: piece) }
    }
    if response.field("Transfer-Encoding")?.lowercased().contains("chunked") == true {
      (response.end, response.trailers) = try reader.chunkedBody(take)
    } else if let length = response.field("Content-Length").flatMap(Int.init) {
      response.end = try reader.body(length: length, take)
    } else {
      response.end = try reader.bodyUntilClose(take)
    }
    response.body = kept
  }

  /// Reads exactly so many raw bytes: for slow readers and tunnels.
  public func read(_ count: Int) throws -> [UInt8] { try reader.rawBytes(count) }

  /// Whatever comes next.
  public func receive() throws -> Received { try reader.raw() }

  /// Whether the peer ends the connection now, having nothing more to say. Waits for that.
  public func isEnded() throws -> Bool {
    switch try reader.raw() {
    case .bytes: false
    case .end, .reset: true
    }
  }

  /// Ends the sending direction (half-close).
  public func finish() { socket.finish() }
  /// Leaves in order.
  public func close() { socket.close() }
  /// Leaves with a reset.
  public func reset() { socket.reset() }

  /// One exchange on a connection of its own.
  public static func fetch(
    _ url: String, _ fields: [(String, String)] = [], through proxy: UInt16, method: String = "GET"
  ) throws -> RawResponse {
    let client = try RawClient(port: proxy)
    defer { client.close() }
    return try client.fetch(url, fields, method: method)
  }
}
