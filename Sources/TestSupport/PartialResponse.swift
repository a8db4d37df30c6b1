// One answer of an origin with every part of it open to change: what faults of an answer are made of.

/// An answer to a request for a range, right in all its parts until a test changes one.
public struct PartialResponse: Sendable {
  public var version = "HTTP/1.1"
  public var status = "206 Partial Content"
  /// The `Content-Range`; several make several field lines.
  public var contentRange: [String]
  /// The `ETag`, with its quotes.
  public var tag: String?
  /// The `Content-Length`; several make several field lines.
  public var length: [String]
  /// More fields.
  public var fields: [(String, String)]
  /// The body, and which of its bytes are sent.
  public var body: PatternBody
  public var bytes: Range<Int>
  /// Whether the body is sent in chunks, and says so.
  public var isChunked = false
  /// What follows in a chunk of its own.
  public var surplus = ""
  /// Whether the last chunk of such a body comes.
  public var hasLastChunk = true
  /// What is sent before the head: interim responses, or no HTTP at all.
  public var prefix = ""
  /// What is sent behind the body.
  public var suffix = ""
  /// How many bytes of the head leave before the connection ends.
  public var headLimit = Int.max
  /// How the connection ends behind what is sent.
  public var end = End.kept

  public enum End: Sendable {
    case kept, finished, reset
    /// The sending direction ends, the receiving one stays open.
    case halfClosed
    /// Nothing more comes until the gate is open, and then the end.
    case stalled(ManualGate)
  }

  /// The right answer to a request for `bytes` of a body.
  public init(_ body: PatternBody, _ bytes: Range<Int>, tag: String?, fields: [(String, String)]) {
    self.body = body
    self.bytes = bytes
    self.tag = tag
    self.fields = fields
    contentRange = ["bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(body.size)"]
    length = ["\(bytes.count)"]
  }

  /// Makes it an answer with another status and a short body of its own.
  public mutating func say(_ status: String, _ fields: [(String, String)] = []) {
    self.status = status
    self.fields = fields
    contentRange = []
    tag = nil
    bytes = 0..<0
    length = ["0"]
  }

  /// Makes it a 200 with the whole body.
  public mutating func makeWhole() {
    status = "200 OK"
    contentRange = []
    bytes = 0..<body.size
    length = ["\(body.size)"]
  }

  /// Ends the connection after so many bytes of the body, whatever the head promises.
  public mutating func cut(after count: Int, _ end: End = .finished) {
    bytes = bytes.prefix(count)
    hasLastChunk = false
    self.end = end
  }

  public func send(_ exchange: Exchange) throws {
    var lines = ["\(version) \(status)"] + fields.map { "\($0.0): \($0.1)" }
    if let tag { lines.append("ETag: \(tag)") }
    lines += contentRange.map { "Content-Range: \($0)" }
    lines += length.map { "Content-Length: \($0)" }
    if isChunked { lines.append("Transfer-Encoding: chunked") }
    let head = prefix + lines.joined(separator: "\r\n") + "\r\n\r\n"
    try exchange.raw(Array(head.utf8.prefix(headLimit)))
    if headLimit >= head.utf8.count {
      if isChunked {
        if !bytes.isEmpty { try exchange.chunk(body.bytes(bytes)) }
        if !surplus.isEmpty { try exchange.chunk(Array(surplus.utf8)) }
        if hasLastChunk { try exchange.lastChunk() }
        try exchange.raw(suffix)
      } else if suffix.isEmpty {
        try exchange.body(body, bytes)
      } else {
        // In one write: on a kept connection the next request may be on its way before a second one.
        try exchange.body(body.bytes(bytes), followedBy: suffix)
      }
    }
    switch end {
    case .kept: break
    case .finished: exchange.finish()
    case .halfClosed:
      exchange.finishSending()
      try exchange.waitForPeerToLeave()
    case .reset: try exchange.resetAfterDelivery()
    case .stalled(let gate):
      try gate.pass()
      exchange.finish()
    }
  }
}
