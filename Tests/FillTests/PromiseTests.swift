import Testing

@testable import Fill

/// How much room a fill has promised ahead of what it brings.
@Suite struct PromiseTests {
  private let kibibyte: UInt64 = 1 << 10
  private let mebibyte: UInt64 = 1 << 20

  /// Brings a body piece by piece; says how often room was asked for.
  private func bring(
    _ size: UInt64, in piece: UInt64, promised first: UInt64, isExpected: Bool, _ check: (UInt64, UInt64) -> Void
  ) -> Int {
    var (left, brought, asked) = (first, UInt64(0), 0)
    while brought < size {
      let missing = isExpected ? size - brought : .max
      let more = FillRunner.shortfall(of: left, brought: brought, missing: missing, isExpected: isExpected)
      if more > 0 { asked += 1 }
      left += more
      check(left, brought)
      let count = min(piece, left, size - brought)
      brought += count
      left -= count
    }
    return asked
  }

  @Test func ofAnUnknownLengthNoMoreIsPromisedThanHasCome() {
    for piece in [1000, 20_000, 64 * kibibyte, 256 * kibibyte] {
      let asked = bring(64 * mebibyte, in: piece, promised: 64 * kibibyte, isExpected: false) { left, brought in
        #expect(left > 0 && left <= min(max(brought, 64 * kibibyte), 8 * mebibyte))
      }
      // While it doubles it is renewed once or twice each time, and then every seven mebibytes.
      #expect(asked <= 2 * 7 + 9, "\(asked) times in pieces of \(piece)")
    }
  }

  @Test func whatAdmissionPromisedIsEnoughForASmallBody() {
    #expect(bring(50_000, in: 1000, promised: 64 * kibibyte, isExpected: false) { _, _ in } == 0)
  }

  @Test func ofAKnownLengthNoMoreIsPromisedThanIsMissing() {
    let size = 20 * mebibyte + 1000
    let asked = bring(size, in: 256 * kibibyte, promised: 8 * mebibyte, isExpected: true) { left, brought in
      #expect(left >= min(mebibyte, size - brought) && left <= min(size - brought, 8 * mebibyte))
    }
    #expect(asked == 2)
    #expect(FillRunner.shortfall(of: 0, brought: 0, missing: 100, isExpected: true) == 100)
    #expect(FillRunner.shortfall(of: 100, brought: 0, missing: 100, isExpected: true) == 0)
  }
}
