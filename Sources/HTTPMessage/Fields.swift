// The header or trailer section of a message (RFC 9110 §5).

/// Ordered field lines. The lines stand in one buffer in the form the wire has ("Name: value" CRLF), beside a small
/// table of where each begins, so that writing a head is one copy and reading a value makes no string.
public struct Fields: Sendable {
  /// Where one line stands: name at `start`, ": ", value, CRLF.
  struct Line {
    var start: UInt32
    var nameCount: UInt32
    var valueCount: UInt32
    var known: KnownField

    var name: Range<Int> { Int(start)..<Int(start) + Int(nameCount) }
    var value: Range<Int> { name.upperBound + 2..<name.upperBound + 2 + Int(valueCount) }
    var whole: Range<Int> { Int(start)..<value.upperBound + 2 }
  }

  private(set) var lines: [Line] = []
  private(set) var wire: [UInt8] = []
  /// The known names that may be among the lines, each by one of 64 bits: what is asked for is absent more often than
  /// not. Some names share a bit, and bits are not taken back when lines go.
  private(set) var seen: UInt64 = 0

  public init() {}

  /// The number of field lines.
  public var count: Int { lines.count }

  public var isEmpty: Bool { lines.isEmpty }

  /// All lines as the wire has them, each with its CRLF, without the empty line that ends a section.
  public var serialized: [UInt8] { wire }

  /// Whether these octets are all lines as `serialized` has them.
  package func isSerialized(as octets: RawSpan) -> Bool { octets.isEqual(to: wire.span.bytes) }

  /// The number of octets of `serialized`.
  package var serializedCount: Int { wire.count }

  /// Makes room for so many lines of so many octets in all.
  public mutating func reserveCapacity(lines lineCount: Int, bytes: Int) {
    lines.reserveCapacity(lineCount)
    wire.reserveCapacity(bytes)
  }

  /// Removes all lines; the memory that they had is kept for others where it is not much, and nobody else has it.
  package mutating func removeAll() {
    let isSmall = wire.capacity <= 4096
    lines.removeAll(keepingCapacity: isSmall)
    wire.removeAll(keepingCapacity: isSmall)
    seen = 0
  }

  /// Adds a line after all others.
  public mutating func append(_ name: FieldName, _ value: FieldValue) {
    append(checkedName: name.spelling.utf8Span.span.bytes, value: value.bytes.span.bytes, name.known)
  }

  /// Adds a line whose name and value were checked to be what their types promise.
  mutating func append(checkedName name: RawSpan, value: RawSpan, _ known: KnownField) {
    let start = wire.count
    wire.append(addingCapacity: name.byteCount + value.byteCount + 4) { output in
      output.append(name)
      output.append(": ")
      output.append(value)
      output.append("\r\n")
    }
    note(start: start, nameCount: name.byteCount, valueCount: value.byteCount, known)
  }

  /// Adds a line that is already as the buffer has it: name, colon, one space, trimmed value.
  mutating func append(checkedLine line: RawSpan, nameCount: Int, _ known: KnownField) {
    let start = wire.count
    wire.append(addingCapacity: line.byteCount + 2) { output in
      output.append(line)
      output.append("\r\n")
    }
    note(start: start, nameCount: nameCount, valueCount: line.byteCount - nameCount - 2, known)
  }

  private mutating func note(start: Int, nameCount: Int, valueCount: Int, _ known: KnownField) {
    seen |= Fields.bit(of: known)
    lines.append(
      Line(start: UInt32(start), nameCount: UInt32(nameCount), valueCount: UInt32(valueCount), known: known))
  }

  /// Notes a line whose octets are yet to be added, at this offset of them.
  mutating func note(_ line: (nameCount: Int, valueCount: Int, known: KnownField), at offset: Int) {
    note(start: wire.count + offset, nameCount: line.nameCount, valueCount: line.valueCount, line.known)
  }

  /// Adds the octets of lines that have been noted.
  mutating func append(octets: RawSpan) { wire.append(octets) }

  /// Drops noted lines whose octets were not added.
  mutating func forgetLines(from index: Int, seen bits: UInt64) {
    lines.removeSubrange(index...)
    seen = bits
  }

  /// Leaves exactly one line of this name: the first one's place is kept, and where there was none it comes last.
  public mutating func set(_ name: FieldName, _ value: FieldValue) {
    guard mayContain(name), let first = lines.firstIndex(where: { matches($0, name) }) else {
      return append(name, value)
    }
    let old = self
    lines.removeSubrange(first...)
    wire.removeSubrange(Int(old.lines[first].start)...)
    append(name, value)
    for line in old.lines[(first + 1)...] where !old.matches(line, name) { copy(line, from: old) }
  }

  /// Removes every line of this name.
  public mutating func remove(_ name: FieldName) {
    guard mayContain(name) else { return }
    keep { fields, line in !fields.matches(line, name) }
  }

  /// Removes the lines of which the predicate is true.
  public mutating func removeAll(where predicate: (_ name: FieldName, _ value: FieldValue) throws -> Bool) rethrows {
    try keep { fields, line in try !predicate(fields.name(of: line), fields.value(of: line)) }
  }

  /// Rebuilds the buffer only when a line goes; with room for what may stay, for it may be kept for long.
  mutating func keep(_ isKept: (Fields, Line) throws -> Bool) rethrows {
    guard let first = try lines.firstIndex(where: { try !isKept(self, $0) }) else { return }
    var kept = Fields()
    kept.reserveCapacity(lines: lines.count - 1, bytes: wire.count - lines[first].whole.count)
    kept.copy(lines: 0..<first, from: self)
    var next = first + 1
    for index in next..<lines.count where try !isKept(self, lines[index]) {
      kept.copy(lines: next..<index, from: self)
      next = index + 1
    }
    kept.copy(lines: next..<lines.count, from: self)
    kept.seen = seen
    self = kept
  }

  /// Adds lines that stand side by side in another section.
  private mutating func copy(lines range: Range<Int>, from other: Fields) {
    guard let first = other.lines[range].first, let last = other.lines[range].last else { return }
    let (from, to) = (first.start, UInt32(wire.count))
    wire.append(other.wire.span.bytes.extracting(Int(from)..<last.whole.upperBound))
    for var line in other.lines[range] {
      line.start = line.start - from + to
      lines.append(line)
    }
  }

  mutating func copy(_ line: Line, from other: Fields) {
    var moved = line
    moved.start = UInt32(wire.count)
    seen |= Fields.bit(of: line.known)
    wire.append(contentsOf: other.wire[line.whole])
    lines.append(moved)
  }

  /// Adds all lines of another section after these.
  public mutating func append(contentsOf other: Fields) {
    copy(lines: 0..<other.count, from: other)
    seen |= other.seen
  }

  public func contains(_ name: FieldName) -> Bool { mayContain(name) && lines.contains { matches($0, name) } }

  static func bit(of known: KnownField) -> UInt64 { 1 &<< UInt64(known.rawValue) }

  /// False where no line can have this name.
  func mayContain(_ name: FieldName) -> Bool { seen & Fields.bit(of: name.known) != 0 }

  /// The number of lines of this name.
  public func count(of name: FieldName) -> Int { mayContain(name) ? lines.count { matches($0, name) } : 0 }

  /// Whether there is exactly one line of this name, with exactly this value.
  package func hasOne(_ name: FieldName, _ value: String) -> Bool {
    guard mayContain(name), let first = lines.firstIndex(where: { matches($0, name) }) else { return false }
    return wire.span.bytes.extracting(lines[first].value).isEqual(to: value.utf8Span.span.bytes)
      && !lines[(first + 1)...].contains { matches($0, name) }
  }

  /// The value of the first line of this name.
  public func first(_ name: FieldName) -> FieldValue? {
    guard mayContain(name) else { return nil }
    for line in lines where matches(line, name) { return value(of: line) }
    return nil
  }

  /// The values of all lines of this name, in their order.
  public func all(_ name: FieldName) -> [FieldValue] {
    mayContain(name) ? lines.compactMap { matches($0, name) ? value(of: $0) : nil } : []
  }

  /// The values of all lines of this name joined with ", " (RFC 9110 §5.3); nil when there is none.
  public func combined(_ name: FieldName) -> FieldValue? {
    guard mayContain(name) else { return nil }
    var result: FieldValue?
    for line in lines where matches(line, name) {
      guard let before = result else {
        result = value(of: line)
        continue
      }
      result = FieldValue(checked: before.bytes + [ASCII.comma, ASCII.space] + wire[line.value])
    }
    // A join can begin or end with the blank of an empty line's separator.
    return result.map { FieldValue(checked: ASCII.trimmed($0.bytes)) }
  }

  func matches(_ line: Line, _ name: FieldName) -> Bool {
    guard line.known == name.known else { return false }
    return line.known != .none || ASCII.equalIgnoringCase(wire[line.name], name.spelling.utf8)
  }

  func name(of line: Line) -> FieldName {
    let bytes = wire[line.name]
    if line.known != .none {
      let usual = KnownField.names[Int(line.known.rawValue)]
      if usual.spelling.utf8.elementsEqual(bytes) { return usual }
    }
    return FieldName(known: line.known, String(decoding: bytes, as: UTF8.self))
  }

  func value(of line: Line) -> FieldValue { FieldValue(checked: wire[line.value]) }
}

extension Fields: Sequence {
  public typealias Element = (name: FieldName, value: FieldValue)

  public struct Iterator: IteratorProtocol {
    let fields: Fields
    private var index = 0

    init(fields: Fields) { self.fields = fields }

    public mutating func next() -> Element? {
      guard index < fields.lines.count else { return nil }
      let line = fields.lines[index]
      index += 1
      return (fields.name(of: line), fields.value(of: line))
    }
  }

  public func makeIterator() -> Iterator { Iterator(fields: self) }

  public var underestimatedCount: Int { count }
}

extension Fields: Equatable {
  /// The same lines in the same order; names compare without regard to case.
  public static func == (left: Fields, right: Fields) -> Bool {
    if left.wire == right.wire { return true }
    return left.lines.count == right.lines.count
      && zip(left.lines, right.lines).allSatisfy {
        left.wire[$0.value] == right.wire[$1.value]
          && ASCII.equalIgnoringCase(left.wire[$0.name], right.wire[$1.name])
      }
  }
}

extension Fields: ExpressibleByDictionaryLiteral {
  /// Lines in the order written; a name may come more than once.
  public init(dictionaryLiteral elements: (FieldName, FieldValue)...) {
    self.init()
    for (name, value) in elements { append(name, value) }
  }
}
