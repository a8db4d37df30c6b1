// Reads response heads (RFC 9112 §4).

public import HTTPMessage

/// Takes octets in pieces of any size and gives a head when its empty line has come. Interim responses are heads of
/// their own. Not usable after an error.
public struct ResponseHeadParser: Sendable {
  private struct StartLine {
    let version: HTTPVersion
    let status: Int
    let reason: String
  }

  private let limits: HeadLimits
  private var lines = LineAssembler()
  private var start: StartLine?
  private var section = FieldSection()

  public init(limits: HeadLimits = .standard) { self.limits = limits }

  /// True when no octet of a head has been taken.
  public var isEmpty: Bool { start == nil && lines.isEmpty }

  /// Takes octets up to the end of a head, or all. After a head it is ready for the next one, which begins at `taken`.
  public mutating func feed(_ input: RawSpan) throws(WireError) -> (taken: Int, head: ResponseHead?) {
    var offset = 0
    while offset < input.byteCount {
      if isEmpty, input.byte(at: offset) != UInt8(ascii: "H") {
        throw .badStatusLine("\(ASCII.description(input.byte(at: offset))) where 'HTTP/' should begin")
      }
      if let head = wholeSection(input, &offset) { return (offset, head) }
      let head: ResponseHead?
      switch lines.next(input, at: &offset, limit: limits.headBytes, lineLimit: limits.lineBytes) {
      case .incomplete: return (offset, nil)
      case .inInput(let range): head = try take(line: input.extracting(range))
      case .assembled(let line): head = try take(line: line.span.bytes)
      case .tooLong: throw .headTooLarge(limit: limits.headBytes)
      case .lineTooLong: throw .lineTooLong(limit: limits.lineBytes)
      case .bareLineFeed:
        let found = "a line feed without a carriage return"
        throw start == nil ? .badStatusLine(found) : .badField(found)
      }
      if let head { return (offset, head) }
    }
    return (offset, nil)
  }

  private mutating func take(line: RawSpan) throws(WireError) -> ResponseHead? {
    guard start != nil else {
      start = try parseStart(line)
      return nil
    }
    guard try section.take(line: line, countLimit: limits.fieldCount, mendsBlanks: true) else { return nil }
    return finish()
  }

  /// Takes all field lines at once; nil, with nothing taken, where they are not all there or not plain.
  private mutating func wholeSection(_ input: RawSpan, _ offset: inout Int) -> ResponseHead? {
    guard start != nil, section.isEmpty, let room = lines.room(limit: limits.headBytes) else { return nil }
    let rest = input.extracting(offset..<min(input.byteCount, offset + room))
    guard let count = section.takeWhole(rest, countLimit: limits.fieldCount, lineLimit: limits.lineBytes) else {
      return nil
    }
    offset += count
    return finish()
  }

  private mutating func finish() -> ResponseHead? {
    guard let start = start.take() else { return nil }
    var head = ResponseHead(
      version: start.version, status: start.status, reason: start.reason, fields: section.finish())
    lines.reset()
    head.fields.mergeContentLength()
    return head
  }

  private func parseStart(_ line: RawSpan) throws(WireError) -> StartLine {
    if let bad = line.offsetOfControl(in: 0..<line.byteCount) {
      throw .badStatusLine("\(ASCII.description(line.byte(at: bad))) in it")
    }
    let count = line.byteCount
    guard count >= 12, line.byte(at: 8) == ASCII.space else { throw .badStatusLine(shown(line.text(0..<count))) }
    let version: HTTPVersion
    switch parseVersion(line.extracting(0..<8)) {
    case .success(let found): version = found
    case .failure(.unsupported(let found)): throw .unsupportedVersion(found)
    case .failure(.malformed): throw .badStatusLine(shown(line.text(0..<count)))
    }
    var status = 0
    for offset in 9..<12 {
      let byte = line.byte(at: offset)
      guard ASCII.isDigit(byte) else { throw .badStatusLine("\(ASCII.description(byte)) in the status") }
      status = status * 10 + Int(byte - 0x30)
    }
    guard status >= 100 else { throw .badStatusLine("a status below 100") }
    // The space after the status is not optional, but some servers without a reason leave it out, unambiguously.
    guard count == 12 || line.byte(at: 12) == ASCII.space else {
      throw .badStatusLine("\(ASCII.description(line.byte(at: 12))) after the status")
    }
    return StartLine(version: version, status: status, reason: line.text(min(13, count)..<count))
  }
}
