// The gzip coding taken off and put on (RFC 1952): whatever the pieces are cut like, and whatever is wrong with them.
import ContentCoding
import Testing

@Suite struct GzipTests {
  /// Runs a whole stream through a coder: `step` bytes of input at a time, at most `limit` of output.
  private func run(
    _ coder: some StreamCoder, _ input: [UInt8], step: Int = .max, limit: Int = 4096,
    _ sink: (ArraySlice<UInt8>) -> Void
  ) throws(CodingError) {
    var start = 0
    while true {
      let end = start + min(step, input.count - start)
      let piece = try coder.code(input[start..<end].span.bytes, isLast: end == input.count, limit: limit)
      #expect(piece.output.count <= limit && piece.consumed <= end - start)
      sink(piece.output[...])
      start += piece.consumed
      if start == input.count, !piece.hasMore { return }
    }
  }

  private func decoded(_ input: [UInt8], step: Int = .max, limit: Int = 4096) throws(CodingError) -> [UInt8] {
    var output: [UInt8] = []
    try run(GzipDecoder(), input, step: step, limit: limit) { output += $0 }
    return output
  }

  private func encoded(_ input: [UInt8], step: Int = .max, limit: Int = 4096) throws -> [UInt8] {
    var output: [UInt8] = []
    try run(GzipEncoder(), input, step: step, limit: limit) { output += $0 }
    return output
  }

  /// Text-like bytes: neither random nor all the same.
  private func text(_ count: Int) -> [UInt8] {
    var state: UInt64 = 7
    return (0..<count).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(ascii: "a") + UInt8((state >> 33) % 13) * UInt8((state >> 50) % 2)
    }
  }

  /// "hello, hello, hello\n" as another program writes it.
  private static let hello: [UInt8] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 203, 72, 205, 201, 201, 215, 81, 200, 64, 162, 184, 0, 231, 66, 110, 82, 20, 0,
    0, 0,
  ]
  private static let plain = Array("hello, hello, hello\n".utf8)

  @Test func whatAnotherProgramEncodedIsDecodedInPiecesOfEverySize() throws {
    for step in 1...Self.hello.count {
      for limit in [1, 2, 7, 4096] { #expect(try decoded(Self.hello, step: step, limit: limit) == Self.plain) }
    }
  }

  /// Every optional part of a member's head (RFC 1952 §2.3).
  @Test func aHeadWithAllItsOptionalPartsIsReadOver() throws {
    var member: [UInt8] = [31, 139, 8, 4 | 8 | 16, 1, 2, 3, 4, 0, 3]
    member += [3, 0, 9, 9, 9]  // FEXTRA
    member += Array("name.txt".utf8) + [0] + Array("a comment".utf8) + [0]
    member += Self.hello[10...]
    for step in 1...member.count { #expect(try decoded(member, step: step) == Self.plain) }
  }

  @Test func membersInARowAreOneStream() throws {
    let empty = try encoded([])
    let rows: [(name: String, input: [UInt8], output: [UInt8])] = [
      ("two", Self.hello + Self.hello, Self.plain + Self.plain),
      ("an empty one in front", empty + Self.hello, Self.plain),
      ("an empty one between", Self.hello + empty + Self.hello, Self.plain + Self.plain),
      ("only empty ones", empty + empty + empty, []),
      (
        "a hundred", Array([[UInt8]](repeating: Self.hello, count: 100).joined()),
        Array([[UInt8]](repeating: Self.plain, count: 100).joined())
      ),
    ]
    for row in rows {
      for step in [1, 3, 29, .max] {
        for limit in [1, 20, 4096] {
          #expect(try decoded(row.input, step: step, limit: limit) == row.output, "\(row.name) \(step) \(limit)")
        }
      }
    }
  }

  @Test func noBytesAtAllAreNoContent() throws {
    #expect(try decoded([]) == [])
  }

  @Test func zerosThatFillUpABlockAreNoContent() throws {
    for count in [1, 2, 482] {
      let padded = Self.hello + [UInt8](repeating: 0, count: count)
      for step in [1, 7, .max] { #expect(try decoded(padded, step: step) == Self.plain) }
    }
  }

  @Test func anEndWithinAMemberIsNoEnd() throws {
    for count in 1..<Self.hello.count {
      for step in [1, .max] {
        #expect(throws: CodingError.truncated) { try decoded(Array(Self.hello[..<count]), step: step) }
        #expect(throws: CodingError.truncated) {
          try decoded(Self.hello + Self.hello[..<count], step: step, limit: 5)
        }
      }
    }
  }

  /// A bit of the head's fixed part, of the checksum or of the length is wrong; or what follows is no member.
  @Test func whatIsNotGzipDataIsRefused() throws {
    var rows: [(name: String, input: [UInt8])] = [
      ("plain text", Self.plain), ("a zlib stream", [0x78, 0x9C, 3, 0, 0, 0, 0, 1]),
      ("a zero in front", [0] + Self.hello), ("garbage behind", Self.hello + Array("garbage".utf8)),
      ("garbage behind zeros", Self.hello + [0, 0, 0] + Array("garbage".utf8)),
    ]
    for place in [0, 1, 2] + Self.hello.indices.suffix(8) {
      for bit in 0..<8 {
        var damaged = Self.hello
        damaged[place] ^= 1 << UInt8(bit)
        rows.append(("bit \(bit) of byte \(place)", damaged))
      }
    }
    for row in rows {
      for step in [1, .max] {
        do {
          _ = try decoded(row.input, step: step)
          Issue.record("\(row.name): taken for gzip data")
        } catch .corrupt(let reason) {
          #expect(!reason.isEmpty)
        } catch {
          Issue.record("\(row.name): \(error)")
        }
      }
    }
  }

  /// Whatever single bit is wrong: never other content that counts as right.
  @Test func aDamagedStreamNeverGivesOtherContent() throws {
    let original = text(3000)
    let good = try encoded(original)
    for place in good.indices {
      var damaged = good
      damaged[place] ^= 1 << UInt8(place % 8)
      let output = try? decoded(damaged)
      #expect(output == nil || output == original, "byte \(place)")
    }
  }

  @Test func encodingAndDecodingGiveTheSameBack() throws {
    for count in [0, 1, 2, 100, 4095, 4096, 4097, 100_000] {
      let original = text(count)
      let once = try encoded(original)
      for step in [1, 1000, 16 << 10] {
        for limit in [1, 64, 64 << 10] where count <= 5000 || (step > 1 && limit > 1) {
          let coded = try encoded(original, step: step, limit: limit)
          #expect(try decoded(coded, step: step, limit: limit) == original, "\(count) \(step) \(limit)")
        }
      }
      #expect(try encoded(original) == once, "equal content gives equal bytes")
      if count > 1000 { #expect(once.count < count * 3 / 4) }
    }
  }

  /// The end of the stream is that of all bytes given, not that of the part of them that is taken at a time.
  @Test(arguments: [1000, 16_384, 99_999, 100_000, 200_000])
  func theLastBytesTakenPieceByPieceEndTheStreamOnce(_ most: Int) throws {
    let content = text(100_000)
    var (stored, decoded): ([UInt8], [UInt8]) = ([], [])
    try drain(GzipEncoder(), content, most) { stored += $0 }
    try drain(GzipDecoder(), stored, most) { decoded += $0 }
    #expect(decoded == content)
  }

  private func drain(
    _ coder: some StreamCoder, _ input: [UInt8], _ most: Int, _ sink: (ArraySlice<UInt8>) -> Void
  ) throws(CodingError) {
    var rest = input[...]
    while true {
      let piece = try coder.code(atMost: most, of: rest, isLast: true, limit: 4096)
      rest = rest.dropFirst(piece.consumed)
      sink(piece.output[...])
      if rest.isEmpty, !piece.hasMore { return }
    }
  }

  /// 64 MiB of zeros, and a member in them that is all of the input: the output comes in bounded pieces.
  @Test func aBombIsDecodedInBoundedPieces() throws {
    let size = 64 << 20
    var bomb: [UInt8] = []
    let encoder = GzipEncoder()
    let block = [UInt8](repeating: 0, count: 1 << 20)
    for index in 0..<(size >> 20) {
      var rest = block[...]
      repeat {
        let piece = try encoder.code(rest.span.bytes, isLast: index == (size >> 20) - 1, limit: 64 << 10)
        bomb += piece.output
        rest = rest.dropFirst(piece.consumed)
        if rest.isEmpty, !piece.hasMore { break }
      } while true
    }
    #expect(bomb.count < size / 900)
    var total = 0
    var largest = 0
    try run(GzipDecoder(), bomb, limit: 64 << 10) { piece in
      total += piece.count
      largest = max(largest, piece.count)
    }
    #expect(total == size && largest == 64 << 10)
  }
}
