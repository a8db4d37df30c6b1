// Every algorithm against published values, and every way to cut the input against one piece.
import Digests
import Testing

@Suite struct HasherTests {
  struct Vector: Sendable {
    let algorithm: DigestAlgorithm
    let input: String
    let digest: String
  }

  /// RFC 1321 §A.5, RFC 3174 and RFC 6234 (their test vectors), RFC 3720 §B.4 and RFC 1950; the catalogue of
  /// parametrised CRC algorithms for its check value, which is of "123456789".
  static let vectors: [Vector] = [
    Vector(algorithm: .md5, input: "", digest: "d41d8cd98f00b204e9800998ecf8427e"),
    Vector(algorithm: .md5, input: "abc", digest: "900150983cd24fb0d6963f7d28e17f72"),
    Vector(
      algorithm: .md5, input: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
      digest: "d174ab98d277d9f5a5611c2c9f419d9f"),
    Vector(algorithm: .sha1, input: "", digest: "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    Vector(algorithm: .sha1, input: "abc", digest: "a9993e364706816aba3e25717850c26c9cd0d89d"),
    Vector(
      algorithm: .sha1, input: "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      digest: "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
    Vector(
      algorithm: .sha256, input: "", digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    Vector(
      algorithm: .sha256, input: "abc", digest: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    Vector(
      algorithm: .sha256, input: "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      digest: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
    Vector(
      algorithm: .sha512, input: "abc",
      digest: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"),
    Vector(algorithm: .crc32, input: "", digest: "00000000"),
    Vector(algorithm: .crc32, input: "123456789", digest: "cbf43926"),
    Vector(algorithm: .crc32, input: "The quick brown fox jumps over the lazy dog", digest: "414fa339"),
    Vector(algorithm: .crc32C, input: "", digest: "00000000"),
    Vector(algorithm: .crc32C, input: "123456789", digest: "e3069283"),
    Vector(algorithm: .crc32C, input: String(repeating: "\0", count: 32), digest: "8a9136aa"),
    Vector(algorithm: .crc64NVME, input: "", digest: "0000000000000000"),
    Vector(algorithm: .crc64NVME, input: "123456789", digest: "ae8b14860a799888"),
    Vector(algorithm: .crc64ECMA, input: "", digest: "0000000000000000"),
    Vector(algorithm: .crc64ECMA, input: "123456789", digest: "995dc9bbdf1939fa"),
    Vector(algorithm: .adler32, input: "", digest: "00000001"),
    Vector(algorithm: .adler32, input: "Wikipedia", digest: "11e60398"),
    Vector(algorithm: .adler32, input: "123456789", digest: "091e01de"),
  ]

  @Test(arguments: vectors) func knownAnswersComeOut(_ vector: Vector) {
    #expect(hexadecimal(digest([Array(vector.input.utf8)], vector.algorithm)) == vector.digest)
  }

  @Test func everyAlgorithmHasAKnownAnswer() {
    #expect(Set(Self.vectors.map(\.algorithm)) == Set(DigestAlgorithm.allCases))
  }

  /// A bit at a time, as the definition has it; Adler-32 with a remainder after every byte.
  @Test func longInputsEqualThePlainDefinition() {
    var state: UInt64 = 7
    let input = (0..<70_001).map { _ -> UInt8 in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 40)
    }
    // All bytes at their largest are the worst case for the sums of Adler-32.
    for input in [input, [UInt8](repeating: 0xFF, count: 70_001)] {
      #expect(digest([input], .crc32) == plain(input, 0xEDB8_8320, 32))
      #expect(digest([input], .crc32C) == plain(input, 0x82F6_3B78, 32))
      #expect(digest([input], .crc64NVME) == plain(input, 0x9A6C_9329_AC4B_C9B5, 64))
      #expect(digest([input], .crc64ECMA) == plain(input, 0xC96C_5795_D787_0F42, 64))
      let (low, high) = input.reduce((1, 0)) { sums, byte in
        let low = (sums.0 + Int(byte)) % 65_521
        return (low, (sums.1 + low) % 65_521)
      }
      #expect(hexadecimal(digest([input], .adler32)) == hexadecimal(bytes(of: UInt64(high << 16 | low), 4)))
    }
  }

  @Test(arguments: DigestAlgorithm.allCases) func theCutsOfTheInputDoNotMatter(_ algorithm: DigestAlgorithm) {
    let input = (0..<67).map { UInt8($0 * 37 % 256) }
    let whole = digest([input], algorithm)
    #expect(whole?.count == algorithm.length)
    for cut in 0...input.count {
      #expect(digest([Array(input[..<cut]), Array(input[cut...])], algorithm) == whole)
    }
    #expect(digest(input.map { [$0] }, algorithm) == whole)
    var changed = input
    changed[40] ^= 1
    #expect(digest([changed], algorithm) != whole)
  }

  private func digest(_ pieces: [[UInt8]], _ algorithm: DigestAlgorithm) -> [UInt8]? {
    guard var hasher = DigestHasher(algorithm) else { return nil }
    for piece in pieces { hasher.update(piece.span.bytes) }
    return hasher.finish()
  }

  private func plain(_ input: [UInt8], _ polynomial: UInt64, _ width: Int) -> [UInt8] {
    let ones = UInt64.max >> UInt64(64 - width)
    var register = ones
    for byte in input {
      register ^= UInt64(byte)
      for _ in 0..<8 { register = register & 1 == 1 ? register >> 1 ^ polynomial : register >> 1 }
    }
    return bytes(of: register ^ ones, width / 8)
  }

  private func bytes(of number: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64($0 * 8)) }
  }

  private func hexadecimal(_ bytes: [UInt8]?) -> String {
    (bytes ?? []).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
