// A block of IP addresses in CIDR notation.

/// A block of IPv4 or IPv6 addresses (RFC 4632 §3.1, RFC 4291 §2.3).
public struct AddressBlock: Hashable, Sendable, CustomStringConvertible {
  /// The first address of the block: 4 or 16 bytes.
  public let addressBytes: [UInt8]
  /// How many leading bits all its addresses share.
  public let prefixLength: Int

  /// Reads `10.0.0.0/8`, `fc00::/7`, or one address without a prefix length.
  ///
  /// Bits after the prefix must be zero: `10.1.0.0/8` is more likely a slip than a wish for all of 10.0.0.0/8. A block
  /// of IPv4-mapped addresses, `::ffff:10.0.0.0/104`, is the IPv4 block that it maps.
  public init?(_ text: String) {
    let slash = text.firstIndex(of: "/")
    guard var bytes = IPLiteral.parse(text[..<(slash ?? text.endIndex)]) else { return nil }
    let width = bytes.count * 8
    var length = width
    if let slash {
      let digits = text[text.index(after: slash)...]
      guard let number = SettingText.digits(digits).flatMap({ Int(exactly: $0) }), number <= width else { return nil }
      length = number
    }
    let plain = Array(Self.unmapped(bytes[...]))
    if plain.count < bytes.count, length >= width - 32 { (bytes, length) = (plain, length - (width - 32)) }
    self.init(bytes: bytes, prefixLength: length)
    guard addressBytes == bytes else { return nil }
  }

  private init(bytes: [UInt8], prefixLength: Int) {
    addressBytes = zip(bytes, bytes.indices).map { $0 & Self.mask(byte: $1, prefixLength: prefixLength) }
    self.prefixLength = prefixLength
  }

  /// Whether an address of 4 or 16 bytes lies in the block.
  ///
  /// An IPv4-mapped IPv6 address is the IPv4 address that it maps (RFC 4291 §2.5.5.2), so that no spelling of an
  /// address gets around a rule about it.
  public func contains(_ address: [UInt8]) -> Bool {
    let bytes = Self.unmapped(address[...])
    guard bytes.count == addressBytes.count else { return false }
    return zip(bytes, addressBytes.indices).allSatisfy { byte, index in
      byte & Self.mask(byte: index, prefixLength: prefixLength) == addressBytes[index]
    }
  }

  /// `address/length`.
  public var description: String { "\(IPLiteral.format(addressBytes))/\(prefixLength)" }

  /// The bits of the byte at `index` that belong to the prefix.
  private static func mask(byte index: Int, prefixLength: Int) -> UInt8 {
    let bits = min(max(prefixLength - index * 8, 0), 8)
    return ~UInt8(truncatingIfNeeded: 0xFF >> bits)
  }

  private static func unmapped(_ address: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard address.count == 16, address.prefix(10).allSatisfy({ $0 == 0 }),
      address.dropFirst(10).prefix(2).allSatisfy({ $0 == 0xFF })
    else { return address }
    return address.suffix(4)
  }

  /// 127.0.0.0/8 and ::1.
  public static let loopback = [
    AddressBlock(bytes: [127, 0, 0, 0], prefixLength: 8),
    AddressBlock(bytes: [UInt8](repeating: 0, count: 15) + [1], prefixLength: 128),
  ]

  /// 169.254.0.0/16 (RFC 3927) and fe80::/10 (RFC 4291 §2.5.6).
  public static let linkLocal = [
    AddressBlock(bytes: [169, 254, 0, 0], prefixLength: 16),
    AddressBlock(bytes: [0xFE, 0x80] + [UInt8](repeating: 0, count: 14), prefixLength: 10),
  ]

  /// 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 (RFC 1918) and fc00::/7 (RFC 4193).
  public static let `private` = [
    AddressBlock(bytes: [10, 0, 0, 0], prefixLength: 8),
    AddressBlock(bytes: [172, 16, 0, 0], prefixLength: 12),
    AddressBlock(bytes: [192, 168, 0, 0], prefixLength: 16),
    AddressBlock(bytes: [0xFC] + [UInt8](repeating: 0, count: 15), prefixLength: 7),
  ]

  /// All of the above: whom a proxy on a local network serves by default.
  public static let loopbackAndPrivate = loopback + `private` + linkLocal
}
