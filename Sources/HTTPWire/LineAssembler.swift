// Cuts input into lines, whatever pieces it comes in.

import HTTPMessage

/// Finds the lines of one section (a head, a trailer section, a chunk's size line). A line that lies whole in the
/// input is not copied; only the start of an unfinished one is kept. What it finds, and which error comes first, does
/// not depend on how the input was cut.
struct LineAssembler: Sendable {
  enum Found {
    /// No line end in what there is; the input was taken to its end.
    case incomplete
    /// A line without its CRLF, at these offsets of the input.
    case inInput(Range<Int>)
    /// A line without its CRLF that came in pieces.
    case assembled([UInt8])
    /// The section has more octets than its limit.
    case tooLong
    /// One line has more octets than its limit.
    case lineTooLong
    /// A line feed without a carriage return before it (RFC 9112 §2.2 allows to take it; nobody agrees on it).
    case bareLineFeed
  }

  private var unfinished: [UInt8] = []
  /// Octets of the section in finished lines.
  private var finished = 0

  /// True when nothing of the section has been taken.
  var isEmpty: Bool { finished == 0 && unfinished.isEmpty }

  /// Begins a new section.
  mutating func reset() {
    unfinished.removeAll(keepingCapacity: true)
    finished = 0
  }

  /// How many octets the section may still have; nil within a line.
  func room(limit: Int) -> Int? { unfinished.isEmpty ? limit - finished : nil }

  /// Counts whole lines of so many octets in all as taken; false, and nothing is counted, where they do not fit the
  /// section's limit or do not begin a line.
  mutating func skip(_ count: Int, limit: Int) -> Bool {
    guard unfinished.isEmpty, count <= limit - finished else { return false }
    finished += count
    return true
  }

  /// Looks for the next line at `offset`, and moves `offset` behind what was taken.
  ///
  /// - Parameter limit: the octets that the section may have.
  /// - Parameter lineLimit: the octets that this line may have with its line end.
  mutating func next(_ input: RawSpan, at offset: inout Int, limit: Int, lineLimit: Int = .max) -> Found {
    let lineFeed = input.offsetOfLineFeed(from: offset)
    let end = lineFeed.map { $0 + 1 } ?? input.byteCount
    let count = unfinished.count + (end - offset)
    let total = finished + count
    // The bound that is reached first is the one that is told.
    let left = limit - finished
    guard count <= min(left, lineLimit) else { return left <= lineLimit ? .tooLong : .lineTooLong }
    guard let lineFeed else {
      unfinished.append(input.extracting(offset..<end))
      offset = end
      return .incomplete
    }
    finished = total
    let start = offset
    offset = end
    if unfinished.isEmpty {
      guard lineFeed > start, input.byte(at: lineFeed - 1) == ASCII.carriageReturn else { return .bareLineFeed }
      return .inInput(start..<lineFeed - 1)
    }
    unfinished.append(input.extracting(start..<end))
    var line = unfinished
    unfinished = []
    line.removeLast()
    guard line.popLast() == ASCII.carriageReturn else { return .bareLineFeed }
    return .assembled(line)
  }
}
