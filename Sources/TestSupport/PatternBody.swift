// A deterministic pseudo-random body of any size, of which any slice can be made or checked without the rest.
internal import Glibc

/// A body whose bytes follow from a seed and their offset.
///
/// The body is a row of 64 KiB pages; each is cut from one random block at a place that depends on the page. So slices
/// are made and compared by `memcpy` and `memcmp`, and a byte from another seed or another offset is noticed.
public struct PatternBody: Sendable {
  /// The number of bytes.
  public let size: Int
  private let seed: UInt64
  private let block: [UInt8]
  private static let page = 64 << 10

  public init(seed: UInt64, size: Int) {
    self.size = size
    self.seed = seed
    var bytes: [UInt8] = []
    bytes.reserveCapacity(2 * Self.page)
    for index in 0..<UInt64(2 * Self.page / 8) {
      withUnsafeBytes(of: Self.mix(seed &* 0x9E37_79B9 &+ index)) { bytes.append(contentsOf: $0) }
    }
    block = bytes
  }

  /// The bytes of a half-open range of offsets.
  public func bytes(_ range: Range<Int>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      var done = 0
      forPieces(of: range) { piece in
        memcpy(buffer.baseAddress! + done, piece.baseAddress!, piece.count)
        done += piece.count
        return true
      }
      count = range.count
    }
  }

  /// All bytes; for small bodies.
  public var bytes: [UInt8] { bytes(0..<size) }

  /// The offset in the body of the first byte that differs from what belongs at `offset` onward, or nil.
  public func firstMismatch(_ given: UnsafeRawBufferPointer, at offset: Int) -> Int? {
    guard offset >= 0, offset + given.count <= size else { return max(offset, size) }
    var mismatch: Int?
    var done = 0
    forPieces(of: offset..<offset + given.count) { piece in
      if memcmp(given.baseAddress! + done, piece.baseAddress!, piece.count) != 0 {
        mismatch = offset + done + (zip(given[done...], piece).enumerated().first { $0.1.0 != $0.1.1 }?.offset ?? 0)
        return false
      }
      done += piece.count
      return true
    }
    return mismatch
  }

  /// The same for an array.
  public func firstMismatch(_ given: [UInt8], at offset: Int) -> Int? {
    given.withUnsafeBytes { firstMismatch($0, at: offset) }
  }

  /// Writes the whole body into a new file.
  public func write(to path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw HarnessError.system("open \(path)") }
    defer { close(file) }
    var offset = 0
    while offset < size {
      let piece = bytes(offset..<min(size, offset + (1 << 20)))
      guard Glibc.write(file, piece, piece.count) == piece.count else { throw HarnessError.system("write \(path)") }
      offset += piece.count
    }
  }

  private func forPieces(of range: Range<Int>, _ visit: (UnsafeRawBufferPointer) -> Bool) {
    block.withUnsafeBytes { block in
      var offset = range.lowerBound
      while offset < range.upperBound {
        let page = offset / Self.page
        let inPage = offset - page * Self.page
        let length = min(Self.page - inPage, range.upperBound - offset)
        let shift = Int(Self.mix(seed ^ (UInt64(page) << 20)) % UInt64(Self.page))
        if !visit(UnsafeRawBufferPointer(rebasing: block[(shift + inPage)..<(shift + inPage + length)])) { return }
        offset += length
      }
    }
  }

  /// SplitMix64's finaliser.
  private static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// Compares a body that arrives in pieces with what it should be, holding nothing.
public final class BodyChecker {
  private let expected: PatternBody
  /// The offset of the next byte.
  public private(set) var position: Int
  /// The offset of the first wrong byte.
  public private(set) var mismatch: Int?

  public init(_ expected: PatternBody, from position: Int = 0) {
    self.expected = expected
    self.position = position
  }

  public func take(_ piece: UnsafeRawBufferPointer) {
    if mismatch == nil { mismatch = expected.firstMismatch(piece, at: position) }
    position += piece.count
  }
}

/// A repeatable source of random numbers (SplitMix64).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(_ seed: UInt64) {
    state = seed
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
