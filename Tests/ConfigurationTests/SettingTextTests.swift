// Sizes, times, shares, addresses and networks are read as people write them, and nothing else is.
import Configuration
import Testing

@Suite struct Sizes {
  @Test(
    arguments: [
      ("0", 0), ("1", 1), ("64K", 65_536), ("64k", 65_536), ("4KiB", 4096), ("256M", 268_435_456),
      ("20G", 21_474_836_480), ("1T", 1_099_511_627_776), ("16777215T", 18_446_742_974_197_923_840),
    ] as [(String, UInt64)])
  func areRead(_ text: String, _ bytes: UInt64) {
    #expect(SettingText.parseSize(text) == bytes)
  }

  @Test(arguments: [
    "", "K", "-1", "+1", "1.5G", "20GB", "20 G", "0x10", "16777216T", "99999999999999999999", "1P", "1_0",
  ])
  func areRefused(_ text: String) {
    #expect(SettingText.parseSize(text) == nil)
  }

  @Test(arguments: [0, 1, 1023, 1024, 1025, 65_536, 1 << 20, 3 << 30, 5 << 40, .max] as [UInt64])
  func comeBackAsWritten(_ bytes: UInt64) {
    #expect(SettingText.parseSize(SettingText.formatSize(bytes)) == bytes)
  }
}

@Suite struct Times {
  @Test(
    arguments: [
      ("0", .zero), ("250ms", .milliseconds(250)), ("90s", .seconds(90)), ("5m", .seconds(300)), ("1h", .seconds(3600)),
      ("2d", .seconds(172_800)), ("36525d", .seconds(36_525 * 86_400)),
    ] as [(String, Duration)])
  func areRead(_ text: String, _ duration: Duration) {
    #expect(SettingText.parseDuration(text) == duration)
  }

  @Test(arguments: ["", "s", "5", "-5s", "1.5s", "5 s", "5S", "1w", "1h30m", "36526d", "99999999999999999999s"])
  func areRefused(_ text: String) {
    #expect(SettingText.parseDuration(text) == nil)
  }

  @Test(arguments: [0, 1, 999, 1000, 1500, 60_000, 90_000, 300_000, 3_600_000, 5_400_000, 86_400_000, 172_800_000])
  func comeBackAsWritten(_ milliseconds: Int) {
    let duration = Duration.milliseconds(milliseconds)
    #expect(SettingText.parseDuration(SettingText.formatDuration(duration)) == duration)
  }

  @Test func countAsHTTPDoes() {
    #expect(Duration.milliseconds(1500).inSeconds == 1.5)
  }
}

@Suite struct Shares {
  @Test(arguments: [("0%", 0), ("98%", 0.98), ("100%", 1), ("12.5%", 0.125)] as [(String, Double)])
  func areRead(_ text: String, _ share: Double) {
    #expect(SettingText.parseFraction(text) == share)
    #expect(SettingText.formatFraction(share) == text)
  }

  @Test(arguments: ["", "%", "98", "0.98", "101%", "-1%", "1e1%", "nan%", "0x1%", "1.2.3%"])
  func areRefused(_ text: String) {
    #expect(SettingText.parseFraction(text) == nil)
  }
}

@Suite struct ListenAddresses {
  @Test(arguments: [
    ("127.0.0.1:3128", "127.0.0.1:3128", true), ("localhost:1", "127.0.0.1:1", true), ("[::1]:80", "[::1]:80", true),
    ("0.0.0.0:0", "0.0.0.0:0", false), ("[::]:3128", "[::]:3128", false),
    ("[2001:0DB8:0:0::1]:65535", "[2001:db8::1]:65535", false), ("127.9.9.9:1", "127.9.9.9:1", true),
    ("[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true),
  ])
  func areRead(_ text: String, _ canonical: String, _ isLoopback: Bool) {
    let address = ListenAddress(text)
    #expect(address?.description == canonical)
    #expect(address?.isLoopback == isLoopback)
  }

  @Test(arguments: [
    "", ":3128", "3128", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "example.com:80", "::1:80",
    "[127.0.0.1]:80", "[localhost]:80", "[::1:80", "[fe80::1%eth0]:80", "127.1:80", "127.0.0.1\0:80",
  ])
  func areRefused(_ text: String) {
    #expect(ListenAddress(text) == nil)
  }
}

@Suite struct AddressBlocks {
  @Test(
    arguments: [
      ("10.0.0.0/8", [10, 255, 0, 1], true), ("10.0.0.0/8", [11, 0, 0, 0], false),
      ("172.16.0.0/12", [172, 31, 255, 255], true), ("172.16.0.0/12", [172, 32, 0, 0], false),
      ("192.168.1.128/25", [192, 168, 1, 128], true), ("192.168.1.128/25", [192, 168, 1, 127], false),
      ("1.2.3.4", [1, 2, 3, 4], true), ("1.2.3.4", [1, 2, 3, 5], false), ("0.0.0.0/0", [255, 255, 255, 255], true),
      ("0.0.0.0/0", [0x20, 1] + [UInt8](repeating: 0, count: 14), false),
      ("fc00::/7", [0xFD] + [UInt8](repeating: 9, count: 15), true),
      ("fc00::/7", [0xFE] + [UInt8](repeating: 0, count: 15), false),
      ("fe80::/10", [0xFE, 0xBF] + [UInt8](repeating: 0, count: 14), true),
      ("::1", [UInt8](repeating: 0, count: 15) + [1], true),
      // RFC 4291 §2.5.5.2: a mapped address is the address that it maps.
      ("10.0.0.0/8", [UInt8](repeating: 0, count: 10) + [255, 255, 10, 1, 1, 1], true),
      ("::/0", [UInt8](repeating: 0, count: 10) + [255, 255, 10, 1, 1, 1], false),
      ("::ffff:10.0.0.0/104", [10, 1, 1, 1], true), ("::ffff:10.0.0.0/104", [11, 1, 1, 1], false),
      ("::ffff:10.0.0.0/104", [UInt8](repeating: 0, count: 10) + [255, 255, 10, 1, 1, 1], true),
      ("::ffff:1.2.3.4", [1, 2, 3, 4], true), ("::ffff:0:0/96", [1, 2, 3, 4], true), ("::/95", [1, 2, 3, 4], false),
      ("10.0.0.0/8", [10, 1, 1], false), ("::/0", [], false),
    ] as [(String, [UInt8], Bool)])
  func contain(_ text: String, _ address: [UInt8], _ isInside: Bool) throws {
    #expect(try #require(AddressBlock(text)).contains(address) == isInside)
  }

  @Test(arguments: [
    "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8", "10/8", "fc00::1/7", "::/129", "a.b.c.d", "::1/-1",
  ])
  func areRefused(_ text: String) {
    #expect(AddressBlock(text) == nil)
  }

  @Test(arguments: ["10.0.0.0/8", "fc00::/7", "::1/128", "1.2.3.4/32"])
  func comeBackAsWritten(_ text: String) {
    #expect(AddressBlock(text)?.description == text)
  }
}
