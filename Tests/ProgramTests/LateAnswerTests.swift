// A 304 that comes when what it is about is not stored any more: nothing comes back by it.
import TestSupport
import Testing

@Suite struct LateAnswerTests {
  /// RFC 9111 §4.4: what an unsafe request has made invalid stays so, whatever was asked before it.
  @Test func aValidationUnderWayDoesNotUndoAnInvalidation() throws {
    try withRig { rig in
      let isAsked = rig.gate("the origin may say that nothing has changed")
      let origin = try rig.origin { exchange in
        try exchange.readBody()
        let fields = [("ETag", "\"v1\"")]
        if exchange.request.method == "POST" {
          try exchange.respond("204 No Content")
        } else if exchange.request.field("If-None-Match") != nil {
          try isAsked.pass()
          try exchange.head("304 Not Modified", fields + [("Cache-Control", "max-age=3600")])
        } else {
          try exchange.respond("200 OK", fields + [("Cache-Control", "max-age=0")], body: "body \(exchange.index)")
        }
      }
      let larder = try rig.larder()
      #expect(try RawClient.fetch(origin.url("/"), through: larder.port).text == "body 0")
      let early = try RawClient(port: larder.port)
      try early.send(RawClient.request("GET", origin.url("/")))
      try isAsked.waitForArrival()
      #expect(try RawClient.fetch(origin.url("/"), through: larder.port, method: "POST").status == 204)
      isAsked.open()
      #expect(try early.response().status == 200)
      let late = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(!isHit(late))
      #expect(late.text == "body \(origin.requests.count - 1)")
    }
  }
}
