import Spans
import Testing

/// Pieces cover a gap from the front, without a hole and without overlap, and become shorter toward its end.
@Suite struct SplittingTests {
  private let mebibyte: UInt64 = 1 << 20

  /// All pieces of a gap, taken one after another as connections take them.
  private func pieces(of gap: ByteSpan, connections: Int, rate: Double?) -> [ByteSpan] {
    var pieces: [ByteSpan] = []
    var rest = gap
    while !rest.isEmpty {
      let piece = Splitting.piece(of: rest, missing: rest.count, connections: connections, rate: rate)
      pieces.append(piece)
      rest = ByteSpan(piece.upper, gap.upper)
    }
    return pieces
  }

  @Test(arguments: [1, 2, 4, 8, 64], [nil, 1.0, 100_000, 2_000_000, 1e12])
  func piecesCoverAGapOnceInOrder(connections: Int, rate: Double?) {
    for gap in [ByteSpan(0, 64 << 20), ByteSpan(12_345, 40_000_001), ByteSpan(7, 8), ByteSpan(5, 300_000)] {
      let pieces = pieces(of: gap, connections: connections, rate: rate)
      #expect(pieces.first?.lower == gap.lower && pieces.last?.upper == gap.upper)
      for (one, next) in zip(pieces, pieces.dropFirst()) {
        #expect(one.upper == next.lower && !one.isEmpty)
        #expect(one.upper % Splitting.grain == 0, "it ends where an extent ends")
        #expect(one.count <= Splitting.longest + Splitting.grain)
      }
      #expect((pieces.last?.count ?? 0) >= min(gap.count, Splitting.grain / 2), "no crumb is left")
    }
  }

  @Test func piecesBecomeShorterSoThatAllConnectionsEndTogether() {
    let pieces = pieces(of: ByteSpan(0, 64 * mebibyte), connections: 8, rate: nil)
    #expect(pieces.first?.count == 4 * mebibyte)
    #expect(pieces.suffix(4).allSatisfy { $0.count <= mebibyte / 2 })
    for (one, next) in zip(pieces, pieces.dropFirst()) { #expect(next.count <= one.count) }
  }

  @Test func aSlowConnectionTakesWhatItBringsInAFewSeconds() {
    let gap = ByteSpan(0, 1000 * mebibyte)
    #expect(Splitting.piece(of: gap, missing: gap.count, connections: 2, rate: Double(mebibyte)).count == 2 * mebibyte)
    #expect(Splitting.piece(of: gap, missing: gap.count, connections: 2, rate: 1).count == Splitting.grain)
    #expect(Splitting.piece(of: gap, missing: gap.count, connections: 2, rate: 1e15).count == Splitting.longest)
  }

  @Test func aGapWithoutKnownEndIsCutToo() {
    let piece = Splitting.piece(of: ByteSpan(0, .max), missing: .max, connections: 4, rate: nil)
    #expect(piece == ByteSpan(0, Splitting.longest))
    let last = ByteSpan(.max - 10, .max)
    #expect(Splitting.piece(of: last, missing: 10, connections: 4, rate: nil) == last)
  }

  @Test func theFirstFreeRunIsOutsideAllThatIsTaken() {
    let gaps = [ByteSpan(0, 10), ByteSpan(20, 30), ByteSpan(40, 50)]
    #expect(Splitting.firstFree(of: gaps, without: []) == ByteSpan(0, 10))
    #expect(Splitting.firstFree(of: gaps, without: [ByteSpan(0, 4)]) == ByteSpan(4, 10))
    #expect(Splitting.firstFree(of: gaps, without: [ByteSpan(22, 25), ByteSpan(0, 15)]) == ByteSpan(20, 22))
    #expect(Splitting.firstFree(of: gaps, without: [ByteSpan(0, 45)]) == ByteSpan(45, 50))
    #expect(Splitting.firstFree(of: gaps, without: [ByteSpan(0, 100)]) == nil)
  }
}
