// Digests: what an origin says the digest of a representation is, and the computing of digests piece by piece.

/// A way to make a digest of bytes.
public enum DigestAlgorithm: String, CaseIterable, Sendable {
  case sha512 = "SHA-512"
  case sha256 = "SHA-256"
  case sha1 = "SHA-1"
  case md5 = "MD5"
  /// The one that S3 calls CRC64NVME.
  case crc64NVME = "CRC-64/NVME"
  /// The one of ECMA-182, reflected, as xz and OSS use it.
  case crc64ECMA = "CRC-64/ECMA"
  /// Castagnoli's.
  case crc32C = "CRC-32C"
  case crc32 = "CRC-32"
  case adler32 = "Adler-32"

  /// How many bytes its digests have.
  public var length: Int {
    switch self {
    case .sha512: 64
    case .sha256: 32
    case .sha1: 20
    case .md5: 16
    case .crc64NVME, .crc64ECMA: 8
    case .crc32C, .crc32, .adler32: 4
    }
  }

  /// Its place among all, the least likely to miss an error first.
  var rank: Int { Self.allCases.firstIndex(of: self) ?? Self.allCases.count }
}

/// A digest of a whole representation in its content coding, as a response stated it.
public struct StatedDigest: Hashable, Sendable {
  public let algorithm: DigestAlgorithm
  /// As many bytes as the algorithm's digests have; numbers with the highest byte first.
  public let value: [UInt8]
  /// The name of the field that said so.
  public let field: String

  /// Nil where the value has not the length of the algorithm's digests.
  public init?(_ algorithm: DigestAlgorithm, _ value: [UInt8], field: String) {
    guard value.count == algorithm.length else { return nil }
    self.algorithm = algorithm
    self.value = value
    self.field = field
  }
}

/// Which statements count beside those that are made for the purpose.
public struct StatementRules: Sendable {
  /// Whether `Content-MD5` counts.
  public var contentMD5: Bool
  /// Whether the checksum fields of object stores count.
  public var objectStores: Bool

  public init(contentMD5: Bool, objectStores: Bool) {
    self.contentMD5 = contentMD5
    self.objectStores = objectStores
  }
}
