// An IP address in its text form, and back.
internal import Glibc

/// The text forms of IP addresses (RFC 4291 §2.2 for IPv6), as the C library reads them.
enum IPLiteral {
  /// The 4 or 16 bytes of an address without brackets, zone or prefix length; nil for anything else.
  static func parse(_ text: some StringProtocol) -> [UInt8]? {
    // A NUL would end the C string early, and the rest would go unseen.
    guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
    let text = String(text)
    var four = in_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      return withUnsafeBytes(of: four) { Array($0) }
    }
    var sixteen = in6_addr()
    if inet_pton(AF_INET6, text, &sixteen) == 1 {
      return withUnsafeBytes(of: sixteen) { Array($0) }
    }
    return nil
  }

  /// The shortest text of 4 or 16 bytes.
  static func format(_ bytes: [UInt8]) -> String {
    let family = bytes.count == 4 ? AF_INET : AF_INET6
    var text = [UInt8](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let isWritten = text.withUnsafeMutableBytes { output in
      bytes.withUnsafeBytes { input in
        inet_ntop(
          family, input.baseAddress, output.bindMemory(to: CChar.self).baseAddress, socklen_t(INET6_ADDRSTRLEN)) != nil
      }
    }
    return isWritten ? String(decoding: text.prefix { $0 != 0 }, as: UTF8.self) : ""
  }
}
