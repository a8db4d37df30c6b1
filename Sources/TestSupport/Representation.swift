// A well-behaved static resource for the scripted origin, with the ways in which it may misbehave.

/// What a scripted origin serves under a path: RFC 9110's conditionals and a single range, done right.
public struct Representation: Sendable {
  public var body: PatternBody
  /// The `ETag`, with its quotes; nil for none.
  public var entityTag: String?
  /// The `Last-Modified`; nil for none.
  public var lastModified: String?
  /// More response fields.
  public var fields: [(String, String)]

  public init(
    _ body: PatternBody, entityTag: String? = "\"v1\"", lastModified: String? = nil,
    fields: [(String, String)] = [("Cache-Control", "max-age=3600")]
  ) {
    self.body = body
    self.entityTag = entityTag
    self.lastModified = lastModified
    self.fields = fields
  }

  /// How the bytes of a body leave.
  public enum Delivery: Sendable {
    case whole
    /// Closes in order after so many bytes of the body.
    case finish(after: Int)
    /// Lets so many bytes arrive, then resets.
    case reset(after: Int)
    /// Sends so many bytes, waits for the gate, then goes on.
    case stall(after: Int, ManualGate)
    /// Sends so many bytes, waits for the gate, then closes in order.
    case stallThenFinish(after: Int, ManualGate)
    /// Leaves the sending of a range of the body to a closure.
    case by(@Sendable (Exchange, Range<Int>) throws -> Void)
  }

  /// How the length of a body is told.
  public enum Framing: Sendable {
    case length, chunked, close
  }

  /// The ways to deviate from the right answer.
  public struct Behaviour: Sendable {
    public var delivery = Delivery.whole
    public var framing = Framing.length
    /// Answers a Range with the whole (200).
    public var ignoresRange = false
    /// Judges neither `If-Match` nor `If-Unmodified-Since` nor `If-Range`.
    public var ignoresConditions = false
    /// Makes the `Content-Range` of a 206 from its first and last position and the total.
    public var contentRange: @Sendable (Int, Int, Int) -> String = { "bytes \($0)-\($1)/\($2)" }
    /// Sends no more than so many bytes in a 206, and says so.
    public var longestPart = Int.max
    public var version = "HTTP/1.1"

    public init() {}

    public init(_ delivery: Delivery) {
      self.delivery = delivery
    }
  }

  /// Answers a request.
  public func serve(_ exchange: Exchange, _ behaviour: Behaviour = Behaviour()) throws {
    let request = exchange.request
    var head = fields
    if let entityTag { head.append(("ETag", entityTag)) }
    if let lastModified { head.append(("Last-Modified", lastModified)) }
    if !behaviour.ignoresConditions {
      if preconditionFails(request) { return try exchange.respond("412 Precondition Failed", head) }
      if isNotModified(request) { return try exchange.head("304 Not Modified", head, version: behaviour.version) }
    }
    if !behaviour.ignoresRange { head.append(("Accept-Ranges", "bytes")) }
    switch behaviour.ignoresRange ? .whole : selection(request, behaviour) {
    case .whole:
      try send(exchange, behaviour, "200 OK", head, 0..<body.size)
    case .unsatisfiable:
      try exchange.respond("416 Range Not Satisfiable", head + [("Content-Range", "bytes */\(body.size)")])
    case .part(let asked):
      let part = asked.prefix(behaviour.longestPart)
      head.append(("Content-Range", behaviour.contentRange(part.lowerBound, part.upperBound - 1, body.size)))
      try send(exchange, behaviour, "206 Partial Content", head, part)
    }
  }

  private func preconditionFails(_ request: RecordedRequest) -> Bool {
    if let wanted = request.field("If-Match") {
      guard let entityTag, !entityTag.hasPrefix("W/") else { return wanted != "*" }
      return wanted != "*" && !members(wanted).contains(entityTag)
    }
    if let since = request.field("If-Unmodified-Since") { return lastModified.map { $0 != since } ?? false }
    return false
  }

  private func isNotModified(_ request: RecordedRequest) -> Bool {
    guard request.method == "GET" || request.method == "HEAD" else { return false }
    if let known = request.field("If-None-Match") {
      guard let entityTag else { return false }
      return known == "*" || members(known).map(weakened).contains(weakened(entityTag))
    }
    if let since = request.field("If-Modified-Since") { return lastModified == since }
    return false
  }

  private func members(_ list: String) -> [String] { list.split(separator: ",").map { trimmed(String($0)) } }

  private func weakened(_ tag: String) -> String { tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag }

  private enum Selection {
    case whole, unsatisfiable
    case part(Range<Int>)
  }

  private func selection(_ request: RecordedRequest, _ behaviour: Behaviour) -> Selection {
    guard request.method == "GET", let range = request.field("Range"), range.hasPrefix("bytes=") else { return .whole }
    if !behaviour.ignoresConditions, let condition = request.field("If-Range"),
      condition != entityTag, condition != lastModified
    {
      return .whole
    }
    let spec = range.dropFirst("bytes=".count)
    guard !spec.contains(",") else { return .whole }
    let parts = spec.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2 else { return .whole }
    switch (parts[0], parts[1]) {
    case (let first?, let last):
      if let last, last < first { return .whole }
      guard first < body.size else { return .unsatisfiable }
      return .part(first..<min(body.size, (last ?? body.size - 1) + 1))
    case (nil, let count?):
      guard count > 0, body.size > 0 else { return .unsatisfiable }
      return .part(max(0, body.size - count)..<body.size)
    case (nil, nil):
      return .whole
    }
  }

  private func send(
    _ exchange: Exchange, _ behaviour: Behaviour, _ status: String, _ fields: [(String, String)], _ range: Range<Int>
  ) throws {
    var fields = fields
    switch behaviour.framing {
    case .length: fields.append(("Content-Length", "\(range.count)"))
    case .chunked: fields.append(("Transfer-Encoding", "chunked"))
    case .close: fields.append(("Connection", "close"))
    }
    try exchange.head(status, fields, version: behaviour.version)
    if exchange.request.method == "HEAD" { return }
    let limit: Int =
      switch behaviour.delivery {
      case .whole, .by: range.count
      case .finish(let count), .reset(let count), .stall(let count, _), .stallThenFinish(let count, _):
        min(count, range.count)
      }
    let middle = range.lowerBound + limit
    if case .by(let send) = behaviour.delivery {
      try send(exchange, range)
    } else {
      try emit(exchange, behaviour, range.lowerBound..<middle)
    }
    switch behaviour.delivery {
    case .whole, .by: break
    case .finish:
      if limit < range.count { return exchange.finish() }
    case .reset:
      if limit < range.count { return try exchange.resetAfterDelivery() }
    case .stall(_, let gate):
      try gate.pass()
      try emit(exchange, behaviour, middle..<range.upperBound)
    case .stallThenFinish(_, let gate):
      try gate.pass()
      return exchange.finish()
    }
    switch behaviour.framing {
    case .length: break
    case .chunked: try exchange.lastChunk()
    case .close: exchange.finish()
    }
    if behaviour.version == "HTTP/1.0" { exchange.finish() }
  }

  private func emit(_ exchange: Exchange, _ behaviour: Behaviour, _ range: Range<Int>) throws {
    guard case .chunked = behaviour.framing else { return try exchange.body(body, range) }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let end = min(range.upperBound, offset + 50_000)
      try exchange.chunk(body.bytes(offset..<end))
      offset = end
    }
  }
}
