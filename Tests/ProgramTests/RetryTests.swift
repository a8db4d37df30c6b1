// Requests that meet a connection which has died: what is sent once more and what never is (RFC 9110 §9.2.2,
// RFC 9112 §9.3.1, §9.5).
import TestSupport
import Testing

@Suite struct RetryTests {
  /// What the origin does with the second request on a connection.
  enum Death: CaseIterable {
    case finish
    case reset
  }

  /// Warms a connection up, then sends `request`, which finds it dying. Returns the response and what came to the
  /// origin, the first request left out.
  private func meetDeath(
    _ death: Death, _ request: (ScriptedOrigin) -> String, to method: String
  ) throws -> (RawResponse, [RecordedRequest], repeated: Double?) {
    var result: (RawResponse, [RecordedRequest], Double?)?
    try withRig { rig in
      let origin = try rig.origin { exchange in
        // The connection is alive until it has a request: nobody can see beforehand that it will die.
        if exchange.index == 1 {
          switch death {
          case .finish: return exchange.finish()
          case .reset: return exchange.reset()
          }
        }
        try exchange.readBody()
        try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "answer")
      }
      let larder = try rig.larder(["workers": "1"])
      #expect(try RawClient.fetch(origin.url("/warm"), through: larder.port).status == 200)
      let client = try RawClient(port: larder.port)
      try client.send(request(origin))
      let response = try client.response(to: method)
      result = (
        response, Array(origin.requests.dropFirst()), try larder.metric("larder_upstream_repeated_requests_total")
      )
    }
    return try #require(result)
  }

  @Test(
    "RFC 9110 §9.2.2: an idempotent request is sent once more on a new connection",
    arguments: ["GET", "HEAD", "OPTIONS", "DELETE", "PUT"], Death.allCases)
  func idempotentIsRepeated(_ method: String, _ death: Death) throws {
    let (response, requests, repeated) = try meetDeath(
      death, { RawClient.request(method, $0.url("/x")) }, to: method)
    #expect(response.status == 200)
    #expect(requests.map(\.method) == [method, method])
    #expect(requests.map(\.connection) == [0, 1])
    #expect(repeated == 1)
  }

  @Test(
    "RFC 9110 §9.2.2: any other request is never on a connection that could have died, and sent once",
    arguments: ["POST", "PATCH", "BREW"], Death.allCases)
  func othersAreNotRepeated(_ method: String, _ death: Death) throws {
    let (response, requests, repeated) = try meetDeath(
      death, { RawClient.request(method, $0.url("/x"), [("Content-Length", "0")]) }, to: method)
    #expect(response.status == 502)
    #expect(requests.map(\.method) == [method])
    #expect(requests.map(\.connection) == [1])
    #expect(repeated == 0)
  }

  @Test("RFC 9110 §9.2.2: a request with a body is sent once", arguments: ["PUT", "POST"], Death.allCases)
  func bodiesAreNotRepeated(_ method: String, _ death: Death) throws {
    let (response, requests, repeated) = try meetDeath(
      death, { RawClient.request(method, $0.url("/x"), [("Content-Length", "5")]) + "hello" }, to: method)
    #expect(response.status == 502)
    #expect(requests.count == 1)
    #expect(repeated == 0)
  }

  @Test("RFC 9112 §9.3.1: a response that has begun is not asked for again") func begunResponseIsNotRepeated() throws {
    try withRig { rig in
      let origin = try rig.origin { exchange in
        if exchange.index == 0 { return try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "warm") }
        try exchange.raw("HTTP/1.1 200 OK\r\nContent-")
        exchange.finish()
      }
      let larder = try rig.larder(["workers": "1"])
      _ = try RawClient.fetch(origin.url("/warm"), through: larder.port)
      #expect(try RawClient.fetch(origin.url("/x"), through: larder.port).status == 502)
      #expect(origin.requests.count == 2)
    }
  }

  @Test("RFC 9112 §9.3.1: a new connection that dies is an error, not a loop") func newConnectionIsNotRepeated() throws
  {
    try withRig { rig in
      let origin = try rig.origin { $0.reset() }
      let larder = try rig.larder(["workers": "1"])
      #expect(try RawClient.fetch(origin.url("/"), through: larder.port).status == 502)
      #expect(origin.requests.count == 1)
    }
  }

  @Test("RFC 9112 §9.5: a connection that the origin has closed while it was idle is not used") func closedWhileIdle()
    throws
  {
    try withRig { rig in
      let closed = rig.gate("closed")
      let origin = try rig.origin { exchange in
        try exchange.respond("200 OK", [("Cache-Control", "no-store")], body: "x")
        if exchange.index == 0 {
          exchange.finishSending()
          closed.open()
        }
      }
      let larder = try rig.larder(["workers": "1"])
      _ = try RawClient.fetch(origin.url("/"), through: larder.port)
      try closed.pass()
      // A request of any method: the connection it gets must be a good one.
      let client = try RawClient(port: larder.port)
      #expect(try client.fetch(origin.url("/"), [("Content-Length", "0")], method: "POST").status == 200)
      #expect(try client.fetch(origin.url("/")).status == 200)
      #expect(origin.requests.count == 3)
    }
  }
}
