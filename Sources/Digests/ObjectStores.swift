// The checksum fields of object stores that speak of the whole object in every answer, also in a partial one.

import HTTPMessage

enum ObjectStores {
  static func checksums(in fields: Fields) -> [StatedDigest] {
    cloudStorage(in: fields) + objectStorageService(in: fields)
  }

  /// Cloud Storage: `x-goog-hash: crc32c=base64,md5=base64`, in one line or several, of the object as it is stored.
  private static func cloudStorage(in fields: Fields) -> [StatedDigest] {
    // It decompresses what was stored compressed for who did not ask for that; the hash is of what is stored.
    if let stored = fields.combined("x-goog-stored-content-encoding") {
      let coding = fields.combined(.contentEncoding) ?? "identity"
      guard stored.bytes.elementsEqual(coding.bytes) else { return [] }
    }
    return Statements.unambiguous(
      fields.listMembers("x-goog-hash").compactMap { member in
        guard let separator = member.firstIndex(of: "=") else { return nil }
        let text = member[member.index(after: separator)...]
        switch member[..<separator].lowercased() {
        case "md5": return Statements.base64(.md5, text, "x-goog-hash")
        case "crc32c": return Statements.base64(.crc32C, text, "x-goog-hash")
        default: return nil
        }
      })
  }

  /// Object Storage Service: a decimal number.
  private static func objectStorageService(in fields: Fields) -> [StatedDigest] {
    Statements.unambiguous(
      fields.all("x-oss-hash-crc64ecma").compactMap { value in
        value.decimal.flatMap { StatedDigest(.crc64ECMA, $0.digestBytes, field: "x-oss-hash-crc64ecma") }
      })
  }
}
