// Reads request heads (RFC 9112 §3).

public import HTTPMessage

/// Takes octets in pieces of any size and gives a head when its empty line has come. Guarantees of a head given:
/// method and target fit each other, there is at most one Host field and it is valid, HTTP/1.1 has one, and where the
/// target is in absolute form Host says the same (RFC 9112 §3.2.2). Not usable after an error.
public struct RequestHeadParser: Sendable {
  private struct StartLine {
    let method: Method
    let target: RequestTarget
    let version: HTTPVersion
  }

  private let limits: HeadLimits
  private var lines = LineAssembler()
  private var start: StartLine?
  private var section = FieldSection()
  private var emptyLines = 0
  private var targets = TargetParser()
  /// The field lines of the last head, as they came: a client mostly sends the same ones again.
  private var lastFields = Fields()

  /// Clients have been seen to send one empty line too many after a body (RFC 9112 §2.2), not dozens.
  private static let mostEmptyLines = 8

  public init(limits: HeadLimits = .standard) { self.limits = limits }

  /// True when no octet of a head has been taken: the end of input is then a clean one. Empty lines before a request
  /// line are not part of it.
  public var isEmpty: Bool { start == nil && lines.isEmpty }

  /// Takes octets up to the end of a head, or all. After a head it is ready for the next one, which begins at `taken`.
  public mutating func feed(_ input: RawSpan) throws(WireError) -> (taken: Int, head: RequestHead?) {
    var offset = 0
    while offset < input.byteCount {
      if isEmpty { try checkFirst(input.byte(at: offset)) }
      if let head = try repeatedSection(input, &offset) { return (offset, head) }
      let head: RequestHead?
      switch lines.next(input, at: &offset, limit: limits.headBytes, lineLimit: limits.lineBytes) {
      case .incomplete: return (offset, nil)
      case .inInput(let range): head = try take(line: input.extracting(range))
      case .assembled(let line): head = try take(line: line.span.bytes)
      case .tooLong:
        if start == nil { throw .targetTooLong(limit: limits.targetBytes) }
        throw .headTooLarge(limit: limits.headBytes)
      case .lineTooLong:
        if start == nil { throw .targetTooLong(limit: limits.targetBytes) }
        throw .lineTooLong(limit: limits.lineBytes)
      case .bareLineFeed:
        let found = "a line feed without a carriage return"
        throw start == nil ? .badRequestLine(found) : .badField(found)
      }
      if let head { return (offset, head) }
    }
    return (offset, nil)
  }

  /// Lets another protocol (TLS, SOCKS) be told at once rather than when it has sent a line feed.
  private func checkFirst(_ byte: UInt8) throws(WireError) {
    guard ASCII.isToken(byte) || byte == ASCII.carriageReturn || byte == ASCII.lineFeed else {
      throw .badRequestLine("\(ASCII.description(byte)) where a method should begin")
    }
  }

  private mutating func take(line: RawSpan) throws(WireError) -> RequestHead? {
    if start != nil {
      if section.isEmpty { section.begin(reusing: &lastFields) }
      guard try section.take(line: line, countLimit: limits.fieldCount) else { return nil }
      lastFields = section.finish()
      return try finish()
    }
    if line.byteCount == 0 {
      emptyLines += 1
      guard emptyLines <= RequestHeadParser.mostEmptyLines else { throw .badRequestLine("nothing but empty lines") }
      lines.reset()
    } else {
      start = try parseStart(line)
    }
    return nil
  }

  /// Takes a section that is the last one's over again, octet for octet; nil where it is not, or not all there.
  private mutating func repeatedSection(_ input: RawSpan, _ offset: inout Int) throws(WireError) -> RequestHead? {
    guard start != nil, section.isEmpty, !lastFields.isEmpty else { return nil }
    let end = offset + lastFields.serializedCount
    guard input.byteCount >= end + 2, input.byte(at: end) == ASCII.carriageReturn,
      input.byte(at: end + 1) == ASCII.lineFeed, lastFields.isSerialized(as: input.extracting(offset..<end)),
      lines.skip(end + 2 - offset, limit: limits.headBytes)
    else { return nil }
    offset = end + 2
    return try finish()
  }

  /// Gives the head whose field lines are `lastFields`.
  private mutating func finish() throws(WireError) -> RequestHead? {
    guard let start = start.take() else { return nil }
    var fields = lastFields
    emptyLines = 0
    lines.reset()
    try settleHost(&fields, start)
    fields.mergeContentLength()
    return RequestHead(method: start.method, target: start.target, version: start.version, fields: fields)
  }

  private mutating func parseStart(_ line: RawSpan) throws(WireError) -> StartLine {
    if let bad = line.offsetOfControl(in: 0..<line.byteCount) {
      throw .badRequestLine("\(ASCII.description(line.byte(at: bad))) in it")
    }
    let count = line.byteCount
    var methodEnd = 0
    while methodEnd < count, ASCII.isToken(line.byte(at: methodEnd)) { methodEnd += 1 }
    guard methodEnd < count else { throw .badRequestLine("a method and nothing else") }
    guard methodEnd > 0, line.byte(at: methodEnd) == ASCII.space, let method = Method(line.extracting(0..<methodEnd))
    else {
      throw .badRequestLine("\(ASCII.description(line.byte(at: methodEnd))) in the method")
    }
    let targetEnd = line.offset(of: ASCII.space, from: methodEnd + 1) ?? count
    let target = line.extracting(methodEnd + 1..<targetEnd)
    guard target.byteCount <= limits.targetBytes else { throw .targetTooLong(limit: limits.targetBytes) }
    guard target.byteCount > 0 else { throw .badRequestLine("more than one space after the method") }
    guard targetEnd < count else { throw .badRequestLine("no protocol version") }
    let version: HTTPVersion
    switch parseVersion(line.extracting(targetEnd + 1..<count)) {
    case .success(let found): version = found
    case .failure(.unsupported(let found)): throw .unsupportedVersion(found)
    case .failure(.malformed):
      throw .badRequestLine("\(shown(line.text(targetEnd + 1..<count))) where the protocol version should be")
    }
    do {
      return StartLine(method: method, target: try targets.parse(target, method: method), version: version)
    } catch {
      throw .badTarget(error.explanation)
    }
  }

  /// RFC 9112 §3.2: exactly one valid Host in HTTP/1.1, at most one in HTTP/1.0; the absolute form wins over it.
  private func settleHost(_ fields: inout Fields, _ start: StartLine) throws(WireError) {
    // The usual case, and the authority was checked with the target.
    if case .absolute(let target) = start.target, fields.hasOne(.host, target.authority) { return }
    let hosts = fields.count(of: .host)
    guard hosts <= 1 else { throw .badHost("\(hosts) Host fields") }
    let value = fields.first(.host)
    if value == nil, start.version == .http11 { throw .badHost("no Host field in an HTTP/1.1 request") }
    guard case .absolute(let target) = start.target else { return try checkHost(value) }
    try checkHost(value)
    if let settled = FieldValue(target.authority) { fields.set(.host, settled) }
  }

  /// An empty Host is valid: the target has no authority then.
  private func checkHost(_ value: FieldValue?) throws(WireError) {
    guard let value, !value.isEmpty else { return }
    do {
      _ = try value.bytes.withBytes(Authority.parse)
    } catch {
      throw .badHost(error.explanation)
    }
  }
}
