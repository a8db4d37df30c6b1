// Addresses: text forms and kinds.

import EventLoop
import Testing

@Suite struct SocketAddressTests {
  @Test(arguments: [
    ("127.0.0.1", "loopback"), ("127.255.255.254", "loopback"), ("::1", "loopback"), ("::ffff:127.0.0.1", "loopback"),
    ("169.254.169.254", "link-local"), ("fe80::1", "link-local"), ("febf::1", "link-local"),
    ("::ffff:169.254.0.1", "link-local"),
    ("10.1.2.3", "private"), ("172.16.0.1", "private"), ("172.31.255.255", "private"), ("192.168.1.1", "private"),
    ("100.64.0.1", "private"), ("100.127.255.255", "private"), ("fd00::1", "private"), ("fc00::1", "private"),
    ("::ffff:10.0.0.1", "private"),
    ("0.0.0.0", "unspecified"), ("0.1.2.3", "unspecified"), ("::", "unspecified"),
    ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"), ("ff02::1", "multicast"),
    ("255.255.255.255", "multicast"),
    ("8.8.8.8", "public"), ("172.15.0.1", "public"), ("172.32.0.1", "public"), ("100.63.0.1", "public"),
    ("100.128.0.1", "public"), ("192.169.0.1", "public"), ("169.253.0.1", "public"), ("128.0.0.1", "public"),
    ("2001:db8::1", "public"), ("fec0::1", "public"), ("::2", "public"), ("::ffff:8.8.8.8", "public"),
  ]) func kind(_ ip: String, _ expected: String) throws {
    let address = try #require(SocketAddress(ip: ip, port: 1))
    let kinds = [
      ("loopback", address.isLoopback), ("link-local", address.isLinkLocal), ("private", address.isPrivate),
      ("unspecified", address.isUnspecified), ("multicast", address.isMulticast),
    ]
    #expect(kinds.filter(\.1).map(\.0) == (expected == "public" ? [] : [expected]))
  }

  @Test(arguments: [
    ("192.0.2.1:80", "192.0.2.1:80"), ("[2001:DB8::1]:8080", "[2001:db8::1]:8080"), ("[::]:0", "[::]:0"),
    ("[::ffff:192.0.2.1]:80", "192.0.2.1:80"), ("0.0.0.0:65535", "0.0.0.0:65535"),
  ]) func parsesAndDescribes(_ text: String, _ expected: String) throws {
    let address = try #require(SocketAddress.parse(text))
    #expect(address.description == expected)
    #expect(SocketAddress.parse(expected) == address)
  }

  @Test(arguments: [
    "", ":80", "192.0.2.1", "192.0.2.1:", "192.0.2.1:65536", "192.0.2.1:-1", "192.0.2.1:+1", "192.0.2.1:1 ",
    "2001:db8::1:80", "[192.0.2.1]:80", "[::1]", "[::1]80", "example.org:80", "256.1.1.1:1", "1.2.3:4",
  ]) func refuses(_ text: String) { #expect(SocketAddress.parse(text) == nil) }

  @Test func bytesOfAMappedAddressAreThoseOfIPv4() throws {
    let address = try #require(SocketAddress(ip: "::ffff:192.0.2.7", port: 80))
    #expect(address.addressBytes == [192, 0, 2, 7])
    #expect(address.ip == "192.0.2.7")
    #expect(try #require(SocketAddress(ip: "fe80::1%1", port: 2)).ip == "fe80::1%1")
  }

  @Test func ownAddressesHoldLoopback() {
    let own = SocketAddress.ownAddresses()
    #expect(own.contains { $0.ip == "127.0.0.1" && $0.port == 0 })
  }
}
