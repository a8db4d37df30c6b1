// Chunked bodies, whose length nobody knows at first: cut, left or too large to keep, they still end right and once.
import TestSupport
import Testing

@Suite struct CutChunkedTests {
  /// RFC 9112 §8: a chunked body without its last chunk is incomplete. A resumption's 206 tells the total, and a 416
  /// that names it tells that nothing is missing: neither may be asked for again and again.
  @Test func aChunkedBodyCutAtEveryByteOfItsFramingArrivesWholeInAFewRequests() throws {
    let body = PatternBody(seed: 301, size: 40)
    let wire =
      Array("14\r\n".utf8) + body.bytes(0..<20) + Array("\r\n14\r\n".utf8) + body.bytes(20..<40)
      + Array("\r\n0\r\n\r\n".utf8)
    try withRig { rig in
      let seen = Monitor<Set<String>>([])
      let origin = try rig.origin { exchange in
        let cut = Int(exchange.request.target.dropFirst()) ?? 0
        guard seen.withLock({ $0.insert(exchange.request.target).inserted }) else {
          return try Representation(body).serve(exchange)
        }
        try exchange.head(
          "200 OK", [("Transfer-Encoding", "chunked"), ("ETag", "\"v1\""), ("Cache-Control", "max-age=3600")])
        try exchange.raw(Array(wire[..<cut]))
        exchange.finish()
      }
      let larder = try rig.larder()
      let client = try RawClient(port: larder.port)
      for cut in 0..<wire.count {
        for _ in 0..<2 {
          let response = try client.fetch(origin.url("/\(cut)"))
          #expect(response.status == 200 && response.end == .clean, "cut at \(cut)")
          expectBytes(response.body, body.bytes)
        }
        let count = origin.requests.filter { $0.target == "/\(cut)" }.count
        #expect(count <= 4, "\(count) requests when cut at \(cut)")
      }
    }
  }

  /// A chunked object's first client leaves, and its fill ends; then what others ask for is looked at.
  private func afterTheFirstReader(
    of body: PatternBody, _ look: (_ origin: ScriptedOrigin, _ larder: LarderProcess) throws -> Void
  ) throws {
    try withRig { rig in
      let left = rig.gate("the first exchange has ended early")
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        if exchange.index == 0 { behaviour.framing = .chunked }
        do {
          try Representation(body).serve(exchange, behaviour)
        } catch {
          left.open()
          throw error
        }
      }
      let larder = try rig.larder([
        "fills.read_ahead": "1M", "fills.finish_if_missing": "0", "fills.finish_if_done": "100%",
      ])
      let client = try RawClient(port: larder.port, receiveBuffer: 64 << 10)
      try client.send(RawClient.request("GET", origin.url("/")))
      _ = try client.responseHead()
      _ = try client.read(500_000)
      client.reset()
      try left.pass()
      try look(origin, larder)
    }
  }

  /// An object is fetched once, however many readers leave: the next one resumes where the last one's fill ended.
  @Test func aChunkedObjectWhoseReaderHasLeftIsNotFetchedTwice() throws {
    let body = PatternBody(seed: 302, size: 24_000_000)
    try afterTheFirstReader(of: body) { origin, larder in
      let checker = BodyChecker(body)
      let whole = try RawClient(port: larder.port).fetch(origin.url("/"), into: checker.take)
      #expect(whole.status == 200 && whole.end == .clean)
      #expect(checker.mismatch == nil && checker.position == body.size)
      for request in origin.requests.dropFirst() {
        #expect(request.field("Range")?.hasPrefix("bytes=") == true && request.field("Range") != "bytes=0-")
      }
      #expect(try larder.metric("larder_fill_skipped_bytes_total") == 0)
    }
  }

  /// What is stored under a strong validator is kept; a 206 or 416 to a request for what is missing tells the total.
  @Test(arguments: [
    ("bytes=20000000-20000099", 20_000_000..<20_000_100), ("bytes=23999900-", 23_999_900..<24_000_000),
    ("bytes=-100", 23_999_900..<24_000_000), ("bytes=30000000-", 0..<0),
  ])
  func aRangeBeyondWhatCameOfAChunkedObjectLeavesItStored(_ range: String, _ selected: Range<Int>) throws {
    let body = PatternBody(seed: 305, size: 24_000_000)
    try afterTheFirstReader(of: body) { origin, larder in
      let response = try RawClient.fetch(origin.url("/"), [("Range", range)], through: larder.port)
      #expect(response.status == (selected.isEmpty ? 416 : 206) && response.end == .clean)
      #expect(response.field("Content-Range")?.hasSuffix("/24000000") == true)
      expectBytes(response.body, body.bytes(selected))
      let start = try RawClient.fetch(origin.url("/"), [("Range", "bytes=0-999")], through: larder.port)
      #expect(start.status == 206 && isHit(start))
      expectBytes(start.body, body.bytes(0..<1000))
    }
  }

  /// RFC 9111 §5.2.1.7, RFC 9211 §2.1: what is there is given to who wants nothing else, and nobody says that more was
  /// asked for, although the length is not known.
  @Test(arguments: [[], [("Cache-Control", "only-if-cached")]])
  func whatIsThereOfAChunkedObjectIsAHit(_ fields: [(String, String)]) throws {
    let body = PatternBody(seed: 308, size: 24_000_000)
    try afterTheFirstReader(of: body) { origin, larder in
      let asked = origin.requests.count
      let range = ("Range", "bytes=100-1099")
      let response = try RawClient.fetch(origin.url("/"), fields + [range], through: larder.port)
      #expect(response.status == 206 && response.field("Content-Range") == "bytes 100-1099/*")
      #expect(isHit(response), "\(response.cacheStatus)")
      expectBytes(response.body, body.bytes(100..<1100))
      #expect(origin.requests.count == asked)
    }
  }

  /// A chunked body that has come with its head is stored to its end, however little of it was asked for.
  @Test func aPartOfAChunkedObjectThatIsThereBringsAllOfIt() throws {
    let text = String(repeating: "0123456789", count: 30)
    try withRig { rig in
      let origin = try rig.origin { exchange in
        try exchange.raw(
          "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nCache-Control: max-age=3600\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "12c\r\n\(text)\r\n0\r\n\r\n")
      }
      let larder = try rig.larder()
      let part = try RawClient.fetch(origin.url("/"), [("Range", "bytes=48-49")], through: larder.port)
      #expect(part.status == 206 && part.field("Content-Range") == "bytes 48-49/300" && part.text == "89")
      let whole = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(isHit(whole) && whole.text == text)
      #expect(origin.requests.count == 1)
    }
  }

  /// Rule 4: bytes are kept by their strong validator, also where one answer states the total and the other does not.
  @Test func aPartWithATotalJoinsAChunkedObjectUnderItsTag() throws {
    let body = PatternBody(seed: 307, size: 3_000_000)
    try withRig { rig in
      let (head, part, rest) = (rig.gate("the head of the whole"), rig.gate("the part"), rig.gate("the rest"))
      let origin = try rig.origin { exchange in
        guard exchange.index == 0 else {
          try part.pass()
          return try Representation(body).serve(exchange)
        }
        try head.pass()
        try exchange.head(
          "200 OK", [("Transfer-Encoding", "chunked"), ("ETag", "\"v1\""), ("Cache-Control", "max-age=3600")])
        try exchange.chunk(body.bytes(0..<1_000_000))
        try rest.pass()
        try exchange.chunk(body.bytes(1_000_000..<body.size))
        try exchange.lastChunk()
      }
      let larder = try rig.larder(["fills.collapse_timeout": "100ms", "fills.follow_patience": "100ms"])
      let whole = try RawClient(port: larder.port)
      try whole.send(RawClient.request("GET", origin.url("/")))
      try origin.waitForRequests(1)
      let other = try RawClient(port: larder.port)
      try other.send(RawClient.request("GET", origin.url("/"), [("Range", "bytes=2000000-2000999")]))
      try origin.waitForRequests(2)
      head.open()
      var first = try whole.responseHead()
      part.open()
      let second = try other.response()
      #expect(second.status == 206 && second.field("Content-Range") == "bytes 2000000-2000999/3000000")
      expectBytes(second.body, body.bytes(2_000_000..<2_001_000))
      rest.open()
      let checker = BodyChecker(body)
      try whole.readBody(of: &first, into: checker.take)
      #expect(first.end == .clean && checker.mismatch == nil && checker.position == body.size)
      let asked = origin.requests.count
      let again = BodyChecker(body)
      let stored = try RawClient(port: larder.port).fetch(origin.url("/"), into: again.take)
      #expect(isHit(stored) && again.mismatch == nil && again.position == body.size)
      #expect(origin.requests.count == asked)
    }
  }

  /// A fill that has paused for a client that takes nothing goes on for whoever waits for more of it, and does not stop
  /// when that client leaves.
  @Test(arguments: [false, true]) func aRangeAheadOfTheReaderOfAChunkedObjectArrives(_ leaves: Bool) throws {
    let body = PatternBody(seed: 306, size: 24_000_000)
    try withRig { rig in
      let rest = rig.gate("what comes after the other has left")
      let origin = try rig.origin { exchange in
        try exchange.head(
          "200 OK", [("Transfer-Encoding", "chunked"), ("ETag", "\"v1\""), ("Cache-Control", "max-age=3600")])
        for offset in stride(from: 0, to: body.size, by: 100_000) {
          if leaves, offset == 1_000_000 { try rest.pass() }
          try exchange.chunk(body.bytes(offset..<offset + 100_000))
        }
        try exchange.lastChunk()
      }
      let larder = try rig.larder(["workers": "1", "fills.read_ahead": "1M", "fills.follow_patience": "1m"])
      let slow = try RawClient(port: larder.port, receiveBuffer: 64 << 10)
      try slow.send(RawClient.request("GET", origin.url("/")))
      _ = try slow.responseHead()
      let client = try RawClient(port: larder.port)
      try client.send(RawClient.request("GET", origin.url("/"), [("Range", "bytes=20000000-20000099")]))
      try letWorkerRead(larder)
      if leaves {
        slow.reset()
        try eventually("the slow client's end", until: { $0 == 1 }) { try larder.metric("larder_clients_gone_total") }
        rest.open()
      }
      let response = try client.response()
      #expect(response.status == 206 && response.end == .clean)
      expectBytes(response.body, body.bytes(20_000_000..<20_000_100))
      let start = try RawClient.fetch(origin.url("/"), [("Range", "bytes=0-999")], through: larder.port)
      #expect(start.status == 206)
      expectBytes(start.body, body.bytes(0..<1000))
      #expect(origin.requests.count == 1)
    }
  }

  /// RFC 9112 §7.1: the last chunk says that the body is complete. Where nothing can be kept, an honest shorter 206 is
  /// not the end of the body.
  @Test func aChunkedObjectLargerThanTheCacheArrivesWholeFromAnOriginOfShortParts() throws {
    let body = PatternBody(seed: 303, size: 20_000_000)
    try withRig { rig in
      let origin = try rig.origin { exchange in
        var behaviour = Representation.Behaviour()
        behaviour.longestPart = 1_000_000
        if exchange.request.field("Range") == nil { behaviour.framing = .chunked }
        try Representation(body).serve(exchange, behaviour)
      }
      let larder = try rig.larder(["cache.size": "8M"])
      let checker = BodyChecker(body)
      let response = try RawClient(port: larder.port).fetch(origin.url("/"), into: checker.take)
      #expect(response.status == 200 && response.end == .clean)
      #expect(checker.mismatch == nil)
      #expect(checker.position == body.size)
    }
  }

  /// Rule 1: what is present is given before an end that shows (RFC 9112 §6.3: fewer bytes than the Content-Length).
  @Test func aBodyWhoseRestIsGoneEndsAfterItsLastPresentByte() throws {
    let body = PatternBody(seed: 304, size: 6_000_000)
    try withRig { rig in
      let origin = try rig.origin { exchange in
        if exchange.index == 0 { return try Representation(body).serve(exchange) }
        try exchange.respond("404 Not Found", body: "gone")
      }
      let larder = try rig.larder()
      _ = try RawClient.fetch(origin.url("/"), [("Range", "bytes=0-4999999")], through: larder.port)
      let response = try RawClient.fetch(origin.url("/"), through: larder.port)
      #expect(response.status == 200 && response.end == .cut)
      expectBytes(response.body, body.bytes(0..<5_000_000))
    }
  }
}
