// Spans: properties against an array of bits, and tables of what comes back from origins.
import Spans
import Testing

/// A small generator of repeatable numbers (SplitMix64).
struct Generator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// The maximal runs of `value` in `bits[span]`.
private func runs(of value: Bool, in bits: [Bool], _ span: ByteSpan) -> [ByteSpan] {
  var found: [ByteSpan] = []
  var position = span.lower
  while position < span.upper {
    guard bits[Int(position)] == value else {
      position += 1
      continue
    }
    let lower = position
    while position < span.upper, bits[Int(position)] == value { position += 1 }
    found.append(ByteSpan(lower, position))
  }
  return found
}

@Suite struct SpanSetProperties {
  @Test(arguments: 0..<200 as Range<UInt64>)
  func behavesLikeAnArrayOfBits(seed: UInt64) {
    var random = Generator(state: seed)
    let size: UInt64 = 64
    let everything = ByteSpan(0, size)
    var bits = Array(repeating: false, count: Int(size))
    var set = SpanSet()
    func anySpan() -> ByteSpan {
      let ends = [UInt64.random(in: 0...size, using: &random), UInt64.random(in: 0...size, using: &random)]
      return ByteSpan(ends.min() ?? 0, ends.max() ?? 0)
    }
    for _ in 0..<60 {
      let span = anySpan()
      let isInsertion = Bool.random(using: &random)
      let changed = (span.lower..<span.upper).count { bits[Int($0)] != isInsertion }
      for position in span.lower..<span.upper { bits[Int(position)] = isInsertion }
      #expect((isInsertion ? set.insert(span) : set.remove(span)) == UInt64(changed))
      #expect(set.spans == runs(of: true, in: bits, everything))
      #expect(set.totalBytes == UInt64(bits.count { $0 }))
      let window = anySpan()
      #expect(set.gaps(in: window) == runs(of: false, in: bits, window))
      #expect(set.gaps(in: window, limit: 2) == Array(runs(of: false, in: bits, window).prefix(2)))
      #expect(set.firstGap(in: window) == runs(of: false, in: bits, window).first)
      #expect(set.intersection(window) == runs(of: true, in: bits, window))
      #expect(set.contains(window) == (window.lower..<window.upper).allSatisfy { bits[Int($0)] })
      for position in 0..<size {
        #expect(set.present(at: position) == set.spans.first { $0.contains(position) })
      }
    }
    #expect(SpanSet(set.spans.shuffled(using: &random)) == set)
  }

  @Test func keepsTheEndsOfTheNumbers() {
    var set = SpanSet([ByteSpan(0, 1), ByteSpan(.max - 1, .max)])
    #expect(set.gaps(in: ByteSpan(0, .max)) == [ByteSpan(1, .max - 1)])
    set.insert(ByteSpan(1, .max - 1))
    #expect(set.spans == [ByteSpan(0, .max)])
  }
}

@Suite struct CoalescingTests {
  @Test(arguments: 0..<200 as Range<UInt64>)
  func exchangesBringEveryGapOnceAndBridgeOnlyShortRuns(seed: UInt64) {
    var random = Generator(state: seed)
    var present = SpanSet()
    for _ in 0..<8 {
      let lower = UInt64.random(in: 0..<90, using: &random)
      present.insert(ByteSpan(lower, lower + UInt64.random(in: 1...10, using: &random)))
    }
    let gaps = present.gaps(in: ByteSpan(0, 100))
    let distance = UInt64.random(in: 0...8, using: &random)
    let exchanges = Coalescing.exchanges(gaps: gaps, closerThan: distance)
    var fetched: [ByteSpan] = []
    for exchange in exchanges {
      #expect(exchange.bridged.allSatisfy { present.contains($0) && $0.count < distance })
      fetched += SpanSet(exchange.bridged).gaps(in: exchange.claim)
    }
    #expect(fetched == gaps)
    for (first, second) in zip(exchanges, exchanges.dropFirst()) {
      #expect(second.claim.lower - first.claim.upper >= distance)
    }
  }

  @Test func noExchangeReachesAcrossABarrier() {
    let gaps = [ByteSpan(0, 10), ByteSpan(12, 20), ByteSpan(22, 30)]
    #expect(
      Coalescing.exchanges(gaps: gaps, closerThan: 5, barriers: [ByteSpan(10, 12)]) == [
        PlannedExchange(claim: ByteSpan(0, 10), bridged: []),
        PlannedExchange(claim: ByteSpan(12, 30), bridged: [ByteSpan(20, 22)]),
      ])
  }
}
