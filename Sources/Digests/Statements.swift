// Reading the fields in which origins state digests of a whole representation.

public import HTTPMessage

/// The digests that a response states of its whole representation.
public enum Statements {
  /// Whose content the fields came with.
  public enum Content: Sendable {
    /// The whole representation (a 200), or a stored response that keeps such fields of a 200 only.
    case whole
    /// A part of it (206): what is said of the content says nothing of the whole.
    case part
  }

  /// All statements that can be understood, those of the newer fields first; empty where nothing is stated.
  ///
  /// A field that is malformed states nothing, nor do unknown algorithms, values of a wrong length, and an algorithm for
  /// which one field has two different values.
  public static func all(in fields: Fields, content: Content = .whole, rules: StatementRules) -> [StatedDigest] {
    var found = structured(.reprDigest, in: fields)
    switch content {
    case .whole:
      // RFC 9530 §2: where the content is the whole representation, its digest is the representation's.
      found += structured(.contentDigest, in: fields)
    case .part: break
    }
    found += instanceDigests(in: fields)
    if case .whole = content, rules.contentMD5 { found += contentMD5(in: fields) }
    if rules.objectStores {
      if case .whole = content { found += simpleStorageChecksums(in: fields) }
      found += ObjectStores.checksums(in: fields)
    }
    return found
  }

  /// The statement to compare: the one that is least likely to miss an error, and of equal ones the first.
  public static func strongest(of stated: [StatedDigest]) -> StatedDigest? {
    stated.min { $0.algorithm.rank < $1.algorithm.rank }
  }

  /// `Repr-Digest` and `Content-Digest` (RFC 9530 §2 and §3): dictionaries of byte sequences.
  private static func structured(_ name: FieldName, in fields: Fields) -> [StatedDigest] {
    guard let value = fields.combined(name), let entries = StructuredField.parseDictionary(value) else { return [] }
    return entries.compactMap { entry in
      guard let algorithm = registered[entry.key], case .item(let item) = entry.member,
        case .bytes(let digest) = item.value
      else { return nil }
      return StatedDigest(algorithm, digest, field: name.spelling)
    }
  }

  /// The keys of RFC 9530 §7.2; `unixsum` and `unixcksum` find too little to be worth their while.
  private static let registered: [String: DigestAlgorithm] = [
    "sha-512": .sha512, "sha-256": .sha256, "sha": .sha1, "md5": .md5, "crc32c": .crc32C, "adler": .adler32,
  ]

  /// `Digest` (RFC 3230 §4.3.2), which RFC 9530 has replaced: `SHA-256=base64, ADLER32=hexadecimal`.
  private static func instanceDigests(in fields: Fields) -> [StatedDigest] {
    let isCoded = !fields.listMembers(.contentEncoding).allSatisfy { $0.lowercased() == "identity" }
    let stated = fields.listMembers(.digest).compactMap { member -> StatedDigest? in
      guard let separator = member.firstIndex(of: "=") else { return nil }
      var name = member[..<separator].lowercased()
      // RFC 5843 §2.2: a digest of what is left when the content coding has been undone.
      if name.hasPrefix("id-") {
        guard !isCoded else { return nil }
        name.removeFirst(3)
      }
      let text = member[member.index(after: separator)...]
      switch name {
      case "sha-512": return base64(.sha512, text, "Digest")
      case "sha-256": return base64(.sha256, text, "Digest")
      case "sha": return base64(.sha1, text, "Digest")
      case "md5": return base64(.md5, text, "Digest")
      case "crc32c": return hexadecimal(.crc32C, text)
      case "adler32": return hexadecimal(.adler32, text)
      default: return nil
      }
    }
    return unambiguous(stated)
  }

  /// `Content-MD5` of a 200 (RFC 2616 §14.15).
  private static func contentMD5(in fields: Fields) -> [StatedDigest] {
    unambiguous(fields.all(.contentMD5).compactMap { base64(.md5, $0.string, "Content-MD5") })
  }

  /// S3's: of the whole object only where the type says so, or where there is none and the value is not composite
  /// ("value-parts"). What comes with a part is the part's.
  private static func simpleStorageChecksums(in fields: Fields) -> [StatedDigest] {
    let type = fields.combined("x-amz-checksum-type")
    guard type.map({ $0.equalsIgnoringCase("FULL_OBJECT") }) ?? !fields.contains("x-amz-mp-parts-count")
    else { return [] }
    let names: [(FieldName, DigestAlgorithm)] = [
      ("x-amz-checksum-sha256", .sha256), ("x-amz-checksum-sha1", .sha1), ("x-amz-checksum-crc64nvme", .crc64NVME),
      ("x-amz-checksum-crc32c", .crc32C), ("x-amz-checksum-crc32", .crc32),
    ]
    return names.flatMap { name, algorithm in
      unambiguous(fields.all(name).compactMap { base64(algorithm, $0.string, name.spelling) })
    }
  }

  /// Takes out what one field says in two ways.
  static func unambiguous(_ stated: [StatedDigest]) -> [StatedDigest] {
    stated.filter { one in stated.allSatisfy { $0.algorithm != one.algorithm || $0.value == one.value } }
  }

  static func base64(_ algorithm: DigestAlgorithm, _ text: some StringProtocol, _ field: String) -> StatedDigest? {
    Base64.decode(Array(text.utf8)).flatMap { StatedDigest(algorithm, $0, field: field) }
  }

  /// One to eight hexadecimal digits, as the registry of RFC 3230 has checksums of 32 bits.
  private static func hexadecimal(_ algorithm: DigestAlgorithm, _ text: some StringProtocol) -> StatedDigest? {
    guard (1...8).contains(text.utf8.count), text.utf8.allSatisfy({ ASCII.hexadecimalValue($0) != nil }),
      let number = UInt32(text, radix: 16)
    else { return nil }
    return StatedDigest(algorithm, number.digestBytes, field: "Digest")
  }
}

extension FixedWidthInteger {
  /// Its bytes, the highest first.
  var digestBytes: [UInt8] {
    (0..<Self.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
  }
}
