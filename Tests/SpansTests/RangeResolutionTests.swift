// What Range fields ask of representations of known length (RFC 9110 §14.1.2, §14.2).
import HTTPMessage
import Spans
import Testing

@Suite struct RangeResolutionTests {
  @Test(
    arguments: [
      ([], 10, .whole),
      ([.bounded(first: 0, last: 0)], 10, .spans([ByteSpan(0, 1)])),
      ([.bounded(first: 0, last: 9)], 10, .spans([ByteSpan(0, 10)])),
      ([.bounded(first: 5, last: .max)], 10, .spans([ByteSpan(5, 10)])),
      ([.bounded(first: 10, last: 11)], 10, .unsatisfiable),
      ([.from(9)], 10, .spans([ByteSpan(9, 10)])),
      ([.from(10)], 10, .unsatisfiable),
      ([.suffix(3)], 10, .spans([ByteSpan(7, 10)])),
      ([.suffix(30)], 10, .spans([ByteSpan(0, 10)])),
      ([.suffix(0)], 10, .unsatisfiable),
      ([.suffix(1)], 0, .whole),
      ([.from(0)], 0, .unsatisfiable),
      ([.from(0)], .max, .spans([ByteSpan(0, .max)])),
      ([.from(10), .suffix(2)], 10, .spans([ByteSpan(8, 10)])),
      ([.suffix(2), .bounded(first: 0, last: 1)], 10, .spans([ByteSpan(8, 10), ByteSpan(0, 2)])),
    ] as [([ByteRange], UInt64, RangeResolution)])
  func resolves(ranges: [ByteRange], total: UInt64, expected: RangeResolution) {
    #expect(RangeResolution.resolve(ranges, total: total) == expected)
  }

  @Test func refusesSillySets() {
    let limits = RangeLimits(count: 4, overlap: 2, descents: 1)
    func resolve(_ spans: [(UInt64, UInt64)]) -> RangeResolution {
      let ranges = spans.map { ByteRange.bounded(first: $0.0, last: $0.1) }
      return .resolve(ranges, total: 100, limits: limits)
    }
    #expect(resolve([(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]) == .refused)
    #expect(resolve([(0, 9), (5, 14), (9, 20)]) == .refused)
    #expect(resolve([(0, 9), (5, 14), (10, 20)]) == .spans([ByteSpan(0, 10), ByteSpan(5, 15), ByteSpan(10, 21)]))
    #expect(resolve([(9, 9), (5, 5), (1, 1)]) == .refused)
    #expect(resolve([(9, 9), (5, 5), (6, 6)]) == .spans([ByteSpan(9, 10), ByteSpan(5, 6), ByteSpan(6, 7)]))
  }
}
