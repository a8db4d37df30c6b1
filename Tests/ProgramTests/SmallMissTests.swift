// Small objects that are not stored yet: those that come with their head, in pieces, and with something behind them.
import TestSupport
import Testing

@Suite struct SmallMissTests {
  private let fields = [("Cache-Control", "max-age=600"), ("ETag", "\"one\"")]

  private func head(_ length: Int) -> String {
    (["HTTP/1.1 200 OK"] + fields.map { "\($0.0): \($0.1)" } + ["Content-Length: \(length)", "", ""])
      .joined(separator: "\r\n")
  }

  @Test func aSmallObjectThatComesWholeIsServedAndStored() throws {
    try withRig { rig in
      let body = PatternBody(seed: 71, size: 1024)
      let bytes = body.bytes(0..<1024)
      let origin = try rig.origin { exchange in try exchange.raw(Array(head(1024).utf8) + bytes) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for number in 0..<20 {
        let response = try client.fetch(origin.url("/\(number)"))
        #expect(response.status == 200 && cacheStatus(response).contains("stored"))
        expectBytes(response.body, bytes)
      }
      for number in 0..<20 {
        let response = try client.fetch(origin.url("/\(number)"))
        #expect(isHit(response))
        expectBytes(response.body, bytes)
      }
      let range = try client.fetch(origin.url("/3"), [("Range", "bytes=1000-")])
      #expect(range.status == 206)
      expectBytes(range.body, Array(bytes[1000...]))
      #expect(origin.requests.count == 20)
      #expect(origin.connections == 1, "the connection is kept")
      try larder.stop()
    }
  }

  @Test func aRangeOfASmallObjectThatComesWholeIsCutFromIt() throws {
    try withRig { rig in
      let bytes = PatternBody(seed: 72, size: 1024).bytes(0..<1024)
      let origin = try rig.origin { exchange in try exchange.raw(Array(head(1024).utf8) + bytes) }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      let part = try client.fetch(origin.url("/"), [("Range", "bytes=10-19")])
      #expect(part.status == 206 && part.field("Content-Range") == "bytes 10-19/1024")
      expectBytes(part.body, Array(bytes[10..<20]))
      expectBytes(try client.fetch(origin.url("/")).body, bytes)
      #expect(origin.requests.count == 1)
      try larder.stop()
    }
  }

  @Test(arguments: [1, 500, 1023])
  func aSmallObjectThatComesInPiecesIsServedAndStored(cut: Int) throws {
    try withRig { rig in
      let bytes = PatternBody(seed: 73, size: 1024).bytes(0..<1024)
      let gate = rig.gate("the head has arrived")
      let origin = try rig.origin { exchange in
        try exchange.raw(Array(head(1024).utf8) + bytes[..<cut])
        try gate.pass()
        try exchange.raw(Array(bytes[cut...]))
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/")))
      var response = try client.responseHead()
      gate.open()
      var found: [UInt8] = []
      try client.readBody(of: &response) { found += $0 }
      expectBytes(found, bytes)
      let again = try client.fetch(origin.url("/"))
      #expect(isHit(again))
      expectBytes(again.body, bytes)
      #expect(origin.requests.count == 1)
      try larder.stop()
    }
  }

  @Test func whatFollowsASmallObjectBelongsToNobody() throws {
    try withRig { rig in
      let bytes = PatternBody(seed: 74, size: 1024).bytes(0..<1024)
      let origin = try rig.origin { exchange in
        let unasked = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8)
        try exchange.raw(Array(head(1024).utf8) + bytes + unasked)
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for number in 0..<3 { expectBytes(try client.fetch(origin.url("/\(number)")).body, bytes) }
      #expect(origin.connections == 3, "a connection with something unasked on it is not used again")
      try larder.stop()
    }
  }

  @Test func aClientThatComesBackAfterAWhileIsServedOnTheSameConnection() throws {
    try withRig { rig in
      let origin = try rig.origin { try $0.respond("200 OK", fields, body: "small") }
      // Longer than a connection's task waits for a request.
      let larder = try rig.larder(["clients.head_timeout": "2s"])
      let client = try RawClient(port: larder.port)
      for _ in 0..<3 {
        #expect(try client.fetch(origin.url("/")).text == "small")
        // The program's own clock says when that time is over: it ends a connection that never sends a request.
        #expect(try RawClient(port: larder.port).isEnded())
      }
      client.close()
      try larder.stop()
    }
  }
}
