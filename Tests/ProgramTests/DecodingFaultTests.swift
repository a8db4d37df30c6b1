// Decoding on the way when something is wrong: data that is no gzip data, a client that leaves, a bomb.
import Foundation
import TestSupport
import Testing

@Suite struct DecodingFaultTests {
  private static let identity = [("Accept-Encoding", "identity")]
  private static let gzip = [("Accept-Encoding", "gzip")]
  private static let fields = [
    ("Content-Type", "text/plain"), ("Content-Encoding", "gzip"), ("ETag", "\"g1\""),
  ]

  /// What cannot be decoded to its end is cut off visibly; who accepts gzip gets what the origin has sent.
  @Test func whatIsNoGzipDataIsCutOffVisibly() throws {
    try withRig { rig in
      let good = try gzipped(lines(20_000), rig)
      var wrongSum = good
      wrongSum[good.count - 6] ^= 1
      var wrongBody = good
      wrongBody[good.count / 2] ^= 0xFF
      let bodies: [(name: String, bytes: [UInt8])] = [
        ("wrong-checksum", wrongSum), ("wrong-data", wrongBody), ("truncated", Array(good.dropLast(3))),
        ("cut-in-the-middle", Array(good[..<(good.count / 2)])), ("no-gzip", lines(100)),
        ("garbage-behind", good + Array("garbage".utf8)), ("head-only", Array(good[..<5])),
      ]
      let origin = try rig.origin { exchange in
        let found = bodies.first { "/\($0.name)" == exchange.request.target }
        try FixedResource(found?.bytes ?? [], Self.fields).serve(exchange)
      }
      let larder = try rig.larder()
      let failures = try runTable(bodies, name: \.name) { row in
        let url = origin.url("/\(row.name)")
        for _ in 0..<2 {
          let response = try RawClient.fetch(url, Self.identity, through: larder.port)
          try demandEqual(response.status, 200, "the status")
          try demandEqual(response.end, .cut, "the end of a chunked response")
        }
        let old = try RawClient(port: larder.port)
        try old.send("GET \(url) HTTP/1.0\r\nAccept-Encoding: identity\r\n\r\n")
        try demandEqual(try old.response().end, .reset, "the end of a response delimited by the close")
        let coded = try RawClient.fetch(url, Self.gzip, through: larder.port)
        try demand(coded.end == .clean && coded.body == row.bytes, "not what the origin has sent")
      }
      #expect(failures == [])
      #expect(try larder.metric("larder_aborted_responses_total") == Double(bodies.count * 3))
      try larder.process.waitForErrorText("response cut off: not valid gzip data")
      try larder.process.waitForErrorText("response cut off: gzip data that ends early")
    }
  }

  @Test func aClientThatLeavesMidwayLeavesNothingBehind() throws {
    try withRig { rig in
      let plain = [UInt8](repeating: 0x20, count: 20_000_000)
      let coded = try gzipped(plain, rig)
      let origin = try rig.origin { try FixedResource(coded, Self.fields).serve($0) }
      let larder = try rig.larder()
      _ = try RawClient.fetch(origin.url("/"), Self.gzip, through: larder.port)
      let before = try larder.descriptorCount()
      for number in 0..<6 {
        let client = try RawClient(port: larder.port, receiveBuffer: 16 << 10)
        try client.send(RawClient.request("GET", origin.url("/"), Self.identity))
        #expect(try client.responseHead().status == 200)
        _ = try client.read(100_000)
        if number % 2 == 0 { client.reset() } else { client.close() }
      }
      try eventually("the clients are noticed to be gone", until: { $0 == 6 }) {
        try larder.metric("larder_clients_gone_total") ?? 0
      }
      try eventually("their connections are closed", until: { $0 <= before }) { try larder.descriptorCount() }
      let response = try RawClient.fetch(origin.url("/"), Self.identity, through: larder.port)
      #expect(response.end == .clean && response.body == plain)
    }
  }

  /// 50 MB of zeros from 50 KB, for several clients that take nothing for a while: what is decoded waits for them
  /// outside of memory, and others are served meanwhile.
  @Test func aBombIsHeldByItsClientNotByTheProxy() throws {
    try withRig { rig in
      let size = 50_000_000
      let coded = try gzipped([UInt8](repeating: 0, count: size), rig)
      let small = try gzipped(lines(100), rig)
      let origin = try rig.origin { exchange in
        try FixedResource(exchange.request.target == "/bomb" ? coded : small, Self.fields).serve(exchange)
      }
      let larder = try rig.larder(["workers": "1"])
      for path in ["/bomb", "/small"] {
        #expect(try RawClient.fetch(origin.url(path), Self.gzip, through: larder.port).status == 200)
      }
      let before = try larder.residentBytes()
      let clients = try (0..<6).map { _ in
        let client = try RawClient(port: larder.port, receiveBuffer: 16 << 10)
        try client.send(RawClient.request("GET", origin.url("/bomb"), Self.identity))
        return (client, try client.responseHead())
      }
      let other = try RawClient(port: larder.port)
      for _ in 0..<50 {
        for fields in [Self.identity, Self.gzip] {
          let response = try other.fetch(origin.url("/small"), fields)
          #expect(isHit(response) && response.end == .clean)
        }
      }
      // One takes all of it, the others leave.
      let zeros = [UInt8](repeating: 0, count: 1 << 20)
      let client = clients[0].0
      var response = clients[0].1
      var count = 0
      var wrong = 0
      try client.readBody(of: &response) { piece in
        count += piece.count
        if let start = piece.baseAddress, memcmp(start, zeros, piece.count) != 0 { wrong += 1 }
      }
      #expect(count == size && wrong == 0 && response.end == .clean)
      for (client, _) in clients.dropFirst() { client.reset() }
      try eventually("the others are noticed to be gone", until: { $0 == 5 }) {
        try larder.metric("larder_clients_gone_total") ?? 0
      }
      let grown = try larder.peakResidentBytes() - before
      #expect(grown < 24 << 20, "resident memory grew by \(grown) bytes")
    }
  }
}
