// Reads HTTP/1 heads and bodies off a socket, leniently and independently of the program's own parser.

/// A start line and its fields.
public struct MessageHead: Sendable, CustomStringConvertible {
  public var startLine: String
  public var fields: [(name: String, value: String)]

  /// The value of the first field of that name, compared without regard to case.
  public func first(_ name: String) -> String? {
    fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  public func all(_ name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }

  public var description: String {
    ([startLine] + fields.map { "\($0.name): \($0.value)" }).joined(separator: "\n")
  }

  init(_ bytes: ArraySlice<UInt8>) {
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
    startLine = lines.first.map(String.init) ?? ""
    fields = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count > 1 ? String(parts[1]) : ""
      return (String(parts[0]), trimmed(value))
    }
  }
}

/// A text without the blanks at its ends.
func trimmed(_ text: String) -> String {
  let blanks: Set<Character> = [" ", "\t", "\r", "\n"]
  var rest = Substring(text)
  while let last = rest.last, blanks.contains(last) { rest.removeLast() }
  return String(rest.drop { blanks.contains($0) })
}

/// How a body ended.
public enum BodyEnd: Equatable, Sendable {
  /// As its framing says: all bytes of the length, or the last chunk, or the close that delimits it.
  case clean
  /// The peer closed before the end.
  case cut
  /// The peer reset the connection.
  case reset
}

/// A socket with what has been received from it and not been taken yet.
///
/// Unchecked, because that one thread reads is a rule and no type: a connection's bytes mean nothing to two readers at
/// a time. It is passed on between threads with the connection (`RawClient`, `Exchange`), by a lock or a thread's start.
/// What others do to a connection meanwhile goes to `socket`, which is safe to share.
public final class MessageReader: @unchecked Sendable {
  let socket: Socket
  private var buffer: [UInt8] = []
  private var start = 0

  init(_ socket: Socket) {
    self.socket = socket
  }

  private enum Refill {
    case more
    case end(BodyEnd)
  }

  private func refill() throws -> Refill {
    if start == buffer.count {
      buffer = []
      start = 0
    }
    switch try socket.receive() {
    case .bytes(let bytes):
      if buffer.isEmpty { buffer = bytes } else { buffer += bytes }
      return .more
    case .end: return .end(.cut)
    case .reset: return .end(.reset)
    }
  }

  /// The next head; nil when the peer ends the connection before its first byte. Throws when it ends within.
  func head() throws -> MessageHead? {
    var scanned = 0  // bytes after `start` that are known to hold no end
    while true {
      if let end = endOfHead(from: start + max(0, scanned - 3)) {
        let head = MessageHead(buffer[start..<end])
        start = end
        return head
      }
      scanned = buffer.count - start
      guard case .more = try refill() else {
        if scanned == 0 { return nil }
        throw HarnessError("the head ends early: \(String(decoding: buffer[start...], as: UTF8.self))")
      }
    }
  }

  private func endOfHead(from first: Int) -> Int? {
    guard buffer.count >= first + 4 else { return nil }
    var index = first
    while index + 4 <= buffer.count {
      if buffer[index] == 13, buffer[index + 1] == 10, buffer[index + 2] == 13, buffer[index + 3] == 10 {
        return index + 4
      }
      index += 1
    }
    return nil
  }

  /// Gives `count` bytes to the sink in pieces.
  func body(length count: Int, _ sink: (UnsafeRawBufferPointer) throws -> Void) throws -> BodyEnd {
    var left = count
    while left > 0 {
      if start == buffer.count, case .end(let how) = try refill() { return how }
      let piece = min(left, buffer.count - start)
      try buffer.withUnsafeBytes { try sink(UnsafeRawBufferPointer(rebasing: $0[start..<start + piece])) }
      start += piece
      left -= piece
    }
    return .clean
  }

  /// Gives everything up to the end of the connection to the sink.
  func bodyUntilClose(_ sink: (UnsafeRawBufferPointer) throws -> Void) throws -> BodyEnd {
    while true {
      if start < buffer.count {
        try buffer.withUnsafeBytes { try sink(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        start = buffer.count
      }
      if case .end(let how) = try refill() { return how == .cut ? .clean : how }
    }
  }

  /// Decodes a chunked body into the sink and returns how it ended and the trailer fields.
  func chunkedBody(
    _ sink: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> (end: BodyEnd, trailers: [(name: String, value: String)]) {
    while true {
      guard case .line(let line) = try line() else { return (.cut, []) }
      let digits = line.prefix { $0 != ";" && $0 != " " }
      guard let size = Int(digits, radix: 16) else { throw HarnessError("not a chunk size: “\(line)”") }
      if size == 0 { break }
      let end = try body(length: size, sink)
      if end != .clean { return (end, []) }
      guard case .line("") = try self.line() else { return (.cut, []) }
    }
    var trailers: [(name: String, value: String)] = []
    while true {
      guard case .line(let line) = try line() else { return (.cut, trailers) }
      if line.isEmpty { return (.clean, trailers) }
      trailers += MessageHead(Array("x\r\n\(line)\r\n".utf8)[...]).fields
    }
  }

  private enum Line: Equatable {
    case line(String)
    case end
  }

  private func line() throws -> Line {
    var taken: [UInt8] = []
    while true {
      if let end = buffer[start...].firstIndex(of: 10) {
        taken += buffer[start..<end]
        start = end + 1
        if taken.last == 13 { taken.removeLast() }
        return .line(String(decoding: taken, as: UTF8.self))
      }
      taken += buffer[start...]
      start = buffer.count
      guard case .more = try refill() else { return .end }
    }
  }

  /// Whatever comes next, waiting for the first byte: bytes already here, or what one receive brings.
  public func raw() throws -> Received {
    if start < buffer.count {
      defer { start = buffer.count }
      return .bytes(Array(buffer[start...]))
    }
    return try socket.receive()
  }

  /// Exactly `count` raw bytes.
  public func rawBytes(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    let end = try body(length: count) { bytes.append(contentsOf: $0) }
    guard end == .clean else { throw HarnessError("the connection ended after \(bytes.count) of \(count) bytes") }
    return bytes
  }
}
