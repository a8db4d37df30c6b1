// Reads the chunked transfer coding (RFC 9112 §7.1).

import HTTPMessage

/// size line, data, CRLF, … up to the chunk of size 0, then the trailer section.
struct ChunkedDecoder: Sendable {
  private enum State {
    case sizeLine
    case data(remaining: UInt64)
    case dataCarriageReturn
    case dataLineFeed
    case trailers
    case complete
  }

  private let limits: ChunkLimits
  private var state = State.sizeLine
  private var lines = LineAssembler()
  private var section = FieldSection()
  private var extensionBytes = 0
  /// Set when the body is complete.
  private(set) var trailers: Fields?

  /// Sixteen digits and CRLF: what a line may have besides its extensions.
  private static let sizeLineBytes = 18

  init(limits: ChunkLimits) { self.limits = limits }

  mutating func decode(_ input: RawSpan, _ piece: (RawSpan) throws -> Void) throws -> Int {
    var offset = 0
    while offset < input.byteCount {
      switch state {
      case .sizeLine: try takeSizeLine(input, &offset)
      case .data(let remaining):
        let count = Int(min(remaining, UInt64(input.byteCount - offset)))
        try piece(input.extracting(offset..<offset + count))
        offset += count
        let rest = remaining - UInt64(count)
        state = rest == 0 ? .dataCarriageReturn : .data(remaining: rest)
      case .dataCarriageReturn:
        try expect(ASCII.carriageReturn, input.byte(at: offset))
        offset += 1
        state = .dataLineFeed
      case .dataLineFeed:
        try expect(ASCII.lineFeed, input.byte(at: offset))
        offset += 1
        state = .sizeLine
      case .trailers: try takeTrailer(input, &offset)
      case .complete: return offset
      }
    }
    return offset
  }

  private func expect(_ expected: UInt8, _ found: UInt8) throws(WireError) {
    guard found == expected else { throw .badChunk("\(ASCII.description(found)) where a chunk's CRLF should be") }
  }

  private mutating func takeSizeLine(_ input: RawSpan, _ offset: inout Int) throws(WireError) {
    let limit = ChunkedDecoder.sizeLineBytes + limits.extensionBytes - extensionBytes
    let size: UInt64
    switch lines.next(input, at: &offset, limit: limit) {
    case .incomplete: return
    case .inInput(let range): size = try parseSizeLine(input.extracting(range))
    case .assembled(let line): size = try parseSizeLine(line.span.bytes)
    case .tooLong, .lineTooLong: throw .chunkExtensionsTooLarge(limit: limits.extensionBytes)
    case .bareLineFeed: throw .badChunk("a line feed without a carriage return")
    }
    lines.reset()
    state = size == 0 ? .trailers : .data(remaining: size)
  }

  private mutating func parseSizeLine(_ line: RawSpan) throws(WireError) -> UInt64 {
    var size: UInt64 = 0
    var offset = 0
    while offset < line.byteCount, let digit = ASCII.hexadecimalValue(line.byte(at: offset)) {
      guard size < 1 << 59, offset < 16 else { throw .badChunk("a size of more than 63 bits or 16 digits") }
      size = size << 4 | UInt64(digit)
      offset += 1
    }
    guard offset < line.byteCount else {
      guard offset > 0 else { throw .badChunk("a line without a size") }
      return size
    }
    // RFC 9110 §5.6.3: a recipient must take BWS for nothing. Our own messages have no extensions, so nobody is misled.
    guard offset > 0, line.byte(at: offset) == UInt8(ascii: ";") || ASCII.isBlank(line.byte(at: offset)) else {
      throw .badChunk("\(ASCII.description(line.byte(at: offset))) in the size")
    }
    let extensions = line.extracting(offset..<line.byteCount)
    extensionBytes += extensions.byteCount
    guard extensionBytes <= limits.extensionBytes else {
      throw .chunkExtensionsTooLarge(limit: limits.extensionBytes)
    }
    guard ChunkExtensions.areValid(extensions) else { throw .badChunk("a malformed chunk extension") }
    return size
  }

  private mutating func takeTrailer(_ input: RawSpan, _ offset: inout Int) throws(WireError) {
    let isEnd: Bool
    switch lines.next(input, at: &offset, limit: limits.trailerBytes) {
    case .incomplete: return
    case .inInput(let range): isEnd = try takeTrailer(line: input.extracting(range))
    case .assembled(let line): isEnd = try takeTrailer(line: line.span.bytes)
    case .tooLong, .lineTooLong: throw .trailersTooLarge(limit: limits.trailerBytes)
    case .bareLineFeed: throw .badField("a line feed without a carriage return in the trailer section")
    }
    guard isEnd else { return }
    var fields = section.finish()
    fields.removeHopByHop()
    fields.remove(.contentLength)
    fields.remove(.host)
    fields.remove(.trailer)
    trailers = fields
    state = .complete
  }
}

extension ChunkedDecoder {
  /// Adds a trailer line; true for the empty line that ends the body.
  private mutating func takeTrailer(line: RawSpan) throws(WireError) -> Bool {
    do {
      return try section.take(line: line, countLimit: limits.trailerCount)
    } catch .tooManyFields(let limit) {
      throw .tooManyTrailers(limit: limit)
    }
  }
}

/// The grammar of chunk extensions (RFC 9112 §7.1.1); their meaning is of no concern here.
enum ChunkExtensions {
  /// *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ) and BWS, from the size to the line's end.
  static func areValid(_ bytes: RawSpan) -> Bool {
    var offset = 0
    while offset < bytes.byteCount {
      skipBlanks(bytes, &offset)
      guard offset < bytes.byteCount, bytes.byte(at: offset) == UInt8(ascii: ";") else { return false }
      offset += 1
      skipBlanks(bytes, &offset)
      guard skipToken(bytes, &offset) else { return false }
      skipBlanks(bytes, &offset)
      guard offset < bytes.byteCount, bytes.byte(at: offset) == UInt8(ascii: "=") else { continue }
      offset += 1
      skipBlanks(bytes, &offset)
      guard skipToken(bytes, &offset) || skipQuoted(bytes, &offset) else { return false }
      skipBlanks(bytes, &offset)
    }
    return true
  }

  private static func skipBlanks(_ bytes: RawSpan, _ offset: inout Int) {
    while offset < bytes.byteCount, ASCII.isBlank(bytes.byte(at: offset)) { offset += 1 }
  }

  private static func skipToken(_ bytes: RawSpan, _ offset: inout Int) -> Bool {
    let start = offset
    while offset < bytes.byteCount, ASCII.isToken(bytes.byte(at: offset)) { offset += 1 }
    return offset > start
  }

  private static func skipQuoted(_ bytes: RawSpan, _ offset: inout Int) -> Bool {
    guard offset < bytes.byteCount, bytes.byte(at: offset) == ASCII.quote else { return false }
    offset += 1
    while offset < bytes.byteCount {
      let byte = bytes.byte(at: offset)
      offset += 1
      if byte == ASCII.quote { return true }
      guard ASCII.isFieldContent(byte) else { return false }
      if byte == ASCII.backslash {
        guard offset < bytes.byteCount, ASCII.isFieldContent(bytes.byte(at: offset)) else { return false }
        offset += 1
      }
    }
    return false
  }
}
