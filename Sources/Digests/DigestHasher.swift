// A digest that is computed piece by piece.

internal import CCrypto

/// Computes one digest. Bytes go in in any pieces; the result depends on their concatenation only.
public struct DigestHasher: ~Copyable {
  private enum Work {
    case message(MessageDigest)
    case cyclic(CyclicChecksum)
    case adler(AdlerChecksum)
  }

  private var work: Work

  /// Nil where the system's cryptographic library does not offer the algorithm, as MD5 in some configurations.
  public init?(_ algorithm: DigestAlgorithm) {
    switch algorithm {
    case .sha512, .sha256, .sha1, .md5:
      guard let digest = MessageDigest(algorithm) else { return nil }
      work = .message(digest)
    case .crc32: work = .cyclic(CyclicChecksum(CyclicTable.crc32))
    case .crc32C: work = .cyclic(CyclicChecksum(CyclicTable.crc32C))
    case .crc64NVME: work = .cyclic(CyclicChecksum(CyclicTable.crc64NVME))
    case .crc64ECMA: work = .cyclic(CyclicChecksum(CyclicTable.crc64ECMA))
    case .adler32: work = .adler(AdlerChecksum())
    }
  }

  /// Takes the next bytes in.
  public mutating func update(_ bytes: RawSpan) {
    switch work {
    case .message(let digest): digest.update(bytes)
    case .cyclic(var checksum):
      checksum.update(bytes)
      work = .cyclic(checksum)
    case .adler(var checksum):
      checksum.update(bytes)
      work = .adler(checksum)
    }
  }

  /// The digest of all bytes taken in; nil where the library failed.
  public consuming func finish() -> [UInt8]? {
    switch work {
    case .message(let digest): digest.finish()
    case .cyclic(let checksum): checksum.value
    case .adler(let checksum): checksum.value
    }
  }
}

/// A digest that libcrypto computes. Owned by one hasher.
private final class MessageDigest {
  private let context: OpaquePointer
  private let length: Int
  private var hasFailed = false

  init?(_ algorithm: DigestAlgorithm) {
    let method: OpaquePointer? =
      switch algorithm {
      case .sha512: EVP_sha512()
      case .sha256: EVP_sha256()
      case .sha1: EVP_sha1()
      case .md5: EVP_md5()
      case .crc64NVME, .crc64ECMA, .crc32C, .crc32, .adler32: nil
      }
    guard let method, let context = EVP_MD_CTX_new() else { return nil }
    guard EVP_DigestInit_ex(context, method, nil) == 1 else {
      EVP_MD_CTX_free(context)
      return nil
    }
    self.context = context
    length = algorithm.length
  }

  deinit { EVP_MD_CTX_free(context) }

  func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { pointer in
      if EVP_DigestUpdate(context, pointer.baseAddress, pointer.count) != 1 { hasFailed = true }
    }
  }

  func finish() -> [UInt8]? {
    // The library writes as much as its longest digest has at most.
    var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard !hasFailed, EVP_DigestFinal_ex(context, &result, &count) == 1, Int(count) == length else { return nil }
    return Array(result.prefix(length))
  }
}
