// Feeds one input in every way it could arrive and insists that the outcome is the same.

import HTTPMessage
import HTTPWire
import Testing

/// SplitMix64: the same sequence for the same seed, so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

protocol HeadParser {
  associatedtype Head: Equatable
  init(limits: HeadLimits)
  var isEmpty: Bool { get }
  mutating func feed(_ input: RawSpan) throws(WireError) -> (taken: Int, head: Head?)
}

extension RequestHeadParser: HeadParser {}
extension ResponseHeadParser: HeadParser {}

/// Cuts an input of so many octets into runs.
func cuts(of count: Int, seed: UInt64) -> [Range<Int>] {
  var generator = SeededGenerator(seed: seed)
  var runs: [Range<Int>] = []
  var start = 0
  while start < count {
    let end = min(count, start + Int.random(in: 1...9, using: &generator))
    runs.append(start..<end)
    start = end
  }
  return runs
}

/// The heads in an input that arrives in these runs, and whether the parser stands between heads at its end.
func heads<Parser: HeadParser>(
  _: Parser.Type, _ input: [UInt8], runs: [Range<Int>], limits: HeadLimits
) throws(WireError) -> (heads: [Parser.Head], isEmpty: Bool) {
  var parser = Parser(limits: limits)
  var found: [Parser.Head] = []
  for run in runs {
    var start = run.lowerBound
    while start < run.upperBound {
      let piece = Array(input[start..<run.upperBound])
      let (taken, head) = try parser.feed(piece.span.bytes)
      #expect(head != nil || taken == piece.count, "without a head all input must be taken")
      #expect(taken > 0)
      start += taken
      if let head { found.append(head) }
    }
  }
  return (found, parser.isEmpty)
}

/// The heads in an input, fed whole, octet by octet, in random runs, and twice in a row.
func verifiedHeads<Parser: HeadParser>(
  _ type: Parser.Type, _ text: String, limits: HeadLimits = .standard
) throws(WireError) -> [Parser.Head] {
  try verifiedHeads(type, Array(text.utf8), limits: limits)
}

func verifiedHeads<Parser: HeadParser>(
  _ type: Parser.Type, _ input: [UInt8], limits: HeadLimits = .standard
) throws(WireError) -> [Parser.Head] {
  let whole = outcome { () throws(WireError) in
    try heads(type, input, runs: [0..<input.count], limits: limits)
  }
  var ways = [input.indices.map { $0..<$0 + 1 }]
  for seed in 1...5 as ClosedRange<UInt64> { ways.append(cuts(of: input.count, seed: seed)) }
  for runs in ways {
    let other = outcome { () throws(WireError) in try heads(type, input, runs: runs, limits: limits) }
    switch (whole, other) {
    case (.success(let left), .success(let right)):
      #expect(left.heads == right.heads)
      #expect(left.isEmpty == right.isEmpty)
    case (.failure(let left), .failure(let right)): #expect(left == right)
    case (.success, .failure), (.failure, .success):
      Issue.record("whole: \(whole), in pieces: \(other)")
    }
  }
  let result = try whole.get()
  if result.isEmpty {
    let doubled = try heads(type, input + input, runs: [0..<2 * input.count], limits: limits)
    #expect(doubled.heads == result.heads + result.heads)
  }
  return result.heads
}

func outcome<Success>(_ body: () throws(WireError) -> Success) -> Result<Success, WireError> {
  do { return .success(try body()) } catch { return .failure(error) }
}

/// What a body decoder made of an input.
struct DecodedBody: Equatable {
  var content: [UInt8] = []
  var trailers = Fields()
  var isComplete = false
  /// Octets that belong to the next message.
  var left = 0
  var error: WireError?
}

func decode(_ framing: BodyFraming, _ input: [UInt8], runs: [Range<Int>], limits: ChunkLimits) -> DecodedBody {
  var decoder = BodyDecoder(framing: framing, limits: limits)
  var body = DecodedBody()
  do {
    for run in runs {
      let piece = Array(input[run])
      if decoder.isComplete {
        body.left += piece.count
        continue
      }
      let taken = try decoder.decode(piece.span.bytes) { content in
        #expect(content.byteCount > 0)
        content.withUnsafeBytes { body.content.append(contentsOf: $0) }
      }
      #expect(decoder.isComplete || taken == piece.count, "an unfinished body takes all input")
      body.left += piece.count - taken
    }
  } catch let error as WireError {
    #expect(!decoder.isComplete, "an error must never look like an end")
    body.error = error
  } catch {
    Issue.record(error)
  }
  body.isComplete = decoder.isComplete
  body.trailers = decoder.trailers
  return body
}

/// The body in an input, fed whole, octet by octet and in random runs; where it is complete also with another
/// message behind it.
func verifiedBody(_ framing: BodyFraming, _ text: String, limits: ChunkLimits = .standard) -> DecodedBody {
  verifiedBody(framing, Array(text.utf8), limits: limits)
}

func verifiedBody(_ framing: BodyFraming, _ input: [UInt8], limits: ChunkLimits = .standard) -> DecodedBody {
  let whole = decode(framing, input, runs: [0..<input.count], limits: limits)
  var ways = [input.indices.map { $0..<$0 + 1 }]
  for seed in 1...5 as ClosedRange<UInt64> { ways.append(cuts(of: input.count, seed: seed)) }
  for runs in ways { #expect(decode(framing, input, runs: runs, limits: limits) == whole) }
  if whole.isComplete, whole.left == 0 {
    let doubled = decode(framing, input + input, runs: [0..<2 * input.count], limits: limits)
    #expect(doubled.content == whole.content)
    #expect(doubled.left == input.count)
  }
  return whole
}
