// Bytes through a stream: all of them, in order, with backpressure, and what is left between reads.

import EventLoop
import Testing

@Suite struct StreamTests {
  @Test func whatHasComeIsTakenAtOnceWholeOrNotAtAll() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      try await pair.client.send([1, 2, 3])
      // Its first byte is read as a head is; the rest is left over.
      _ = try await pair.server.read(deadline: .after(seconds: patience)) { _ in 1 }
      #expect(!pair.server.readAtOnce(3) { _ in true }, "two bytes are no three")
      try await pair.client.send([4])
      var seen: [UInt8] = []
      while seen.isEmpty {
        _ = pair.server.readAtOnce(3) { bytes in
          seen = Array(bytes)
          return false
        }
        if seen.isEmpty { await bench.loop.nextTurn() }
      }
      #expect(seen == [2, 3, 4])
      var taken: [UInt8] = []
      #expect(
        pair.server.readAtOnce(2) { bytes in
          taken = Array(bytes)
          return true
        })
      #expect(taken == [2, 3])
      #expect(try await pair.server.readSome() == [4], "the rest is read as ever")
    }
  }

  /// Bytes that a limited read leaves in the socket come without another event.
  @Test func aLimitedReadLeavesTheRestForTheNext() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      try await pair.client.send([1, 2, 3, 4, 5, 6, 7])
      pair.client.shutdownWrite()
      var seen: [[UInt8]] = []
      while true {
        let more = try await pair.server.read(deadline: .after(seconds: patience), atMost: 3) { bytes in
          seen.append(Array(bytes))
          return bytes.byteCount
        }
        // What was sent to the other side since has nothing to do with what is left.
        try await pair.server.send([0])
        guard more else { break }
      }
      #expect(seen == [[1, 2, 3], [4, 5, 6], [7]])
    }
  }

  @Test func megabytesComeBackUnchangedThroughAnEcho() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let sent = pattern(8 << 20)
      let echo = bench.spawn {
        do {
          while let some = try await pair.server.readSome() {
            pair.server.queue(some)
            try await pair.server.flush(downTo: 64 << 10, stall: patience)
            #expect(pair.server.queuedBytes <= 64 << 10)
          }
          pair.server.shutdownWrite()
        } catch {
          Issue.record(error)
        }
      }
      // The same stream is read and written at once, by two tasks.
      let writer = bench.spawn {
        do {
          for start in stride(from: 0, to: sent.count, by: 100_000) {
            pair.client.queue(sent[start..<min(start + 100_000, sent.count)])
            try await pair.client.flush(downTo: 256 << 10, stall: patience)
          }
          pair.client.shutdownWrite()
        } catch {
          Issue.record(error)
        }
      }
      let received = try await pair.client.readAll()
      await writer.value
      await echo.value
      #expect(received == sent)
      #expect(pair.client.queuedBytes == 0)
    }
  }

  @Test func aParkedStreamCallsOnceForInputADeadlineOrItsClose() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let calls = Arrivals()
      let server = pair.server
      // A wait that ends without input: only then is it known that nothing has come.
      #expect(
        await failure { _ = try await server.read(deadline: .after(seconds: 0.01)) { $0.byteCount } } == .timedOut)
      #expect(server.park(until: .never) { calls.add(server) })
      try await pair.client.send([1])
      _ = await calls.next()
      #expect(!server.park(until: .never) {}, "what has come is to be read first")
      #expect(try await server.readSome() == [1])
      #expect(
        await failure { _ = try await server.read(deadline: .after(seconds: 0.01)) { $0.byteCount } } == .timedOut)
      #expect(server.park(until: .after(seconds: 0.01)) { calls.add(server) })
      _ = await calls.next()
      #expect(server.park(until: .never) { calls.add(server) })
      server.close()
      _ = await calls.next()
      #expect(!server.park(until: .never) {}, "it is closed")
    }
  }

  @Test func manySmallReadsInARowLetOthersGoFirst() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      try await pair.client.send(pattern(4096))
      var turns = 0
      var isOver = false
      let other = bench.spawn {
        while !isOver {
          turns += 1
          await bench.loop.nextTurn()
        }
      }
      for _ in 0..<4096 { _ = try await pair.server.read(deadline: .after(seconds: patience)) { _ in 1 } }
      isOver = true
      await other.value
      // By the time that they take together, not by their number.
      #expect(turns >= 8)
    }
  }

  /// All of them are found ready by one wait for events: who came first must not wait for what each of them costs.
  @Test func manyStreamsReadyAtOnceLetTheFirstOnesGoOn() async throws {
    try await withBench { bench in
      var pairs: [Pair] = []
      for _ in 0..<64 {
        let pair = try await bench.pair()
        let server = pair.server
        #expect(
          await failure { _ = try await server.read(deadline: .after(seconds: 0.001)) { $0.byteCount } } == .timedOut)
        pairs.append(pair)
      }
      let calls = Arrivals()
      var callsBeforeTheFirstWentOn: Int?
      for pair in pairs {
        let server = pair.server
        #expect(
          server.park(until: .never) {
            if calls.count == 0 { _ = bench.spawn { callsBeforeTheFirstWentOn = calls.count } }
            let end = Deadline.after(seconds: 0.001)
            while Deadline.now < end {}
            calls.add(server)
          })
        pair.client.queue([1])
      }
      for pair in pairs { try await pair.client.flush(downTo: 0, stall: patience) }
      while calls.count < pairs.count { await bench.loop.nextTurn() }
      let count = try #require(callsBeforeTheFirstWentOn)
      // One wait for events finds 32 of them.
      #expect(count < 32)
    }
  }

  /// Who gives no time looks at what is there, and does not wait for a timer.
  @Test func aReadWithoutTimeTakesWhatIsThere() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let server = pair.server
      #expect(
        await failure { _ = try await server.read(deadline: .after(seconds: 0)) { $0.byteCount } } == .timedOut)
      try await pair.client.send(pattern(10))
      #expect(try await server.readSome() == pattern(10))
    }
  }

  @Test func piecesOfAllSizesKeepTheirOrder() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let sizes = [1, 0, 4095, 4096, 4097, 100_000, 3, 65_536, 2]
      var expected: [UInt8] = []
      for (index, size) in sizes.enumerated() {
        let bytes = pattern(size, seed: UInt64(index))
        expected += bytes
        if index.isMultiple(of: 2) { pair.client.queue(bytes) } else { pair.client.queue(bytes.span.bytes) }
      }
      #expect(pair.client.queuedBytes == expected.count)
      let writer = bench.spawn {
        try? await pair.client.flush(stall: patience)
        pair.client.close()
      }
      #expect(try await pair.server.readAll() == expected)
      await writer.value
    }
  }

  @Test func whatAReadLeavesIsThereForTheNext() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      try await pair.client.send(Array("abcdef".utf8))
      pair.client.shutdownWrite()
      var pieces: [String] = []
      for taken in [1, 2, 3] {
        let more = try await pair.server.read(deadline: .after(seconds: patience)) { input in
          pieces.append(String(decoding: Array(input), as: UTF8.self))
          return taken
        }
        #expect(more)
      }
      #expect(pieces == ["abcdef", "bcdef", "def"])
      #expect(try await pair.server.readSome() == nil)
      #expect(try await pair.server.readSome() == nil, "the end stays the end")
    }
  }

  @Test func whatAThrowingConsumerWasGivenIsGone() async throws {
    struct Refusal: Error {}
    try await withBench { bench in
      let pair = try await bench.pair()
      try await pair.client.send([1, 2, 3])
      do {
        _ = try await pair.server.read(deadline: .after(seconds: patience)) { _ in throw Refusal() }
        Issue.record("the consumer's error was lost")
      } catch is Refusal {}
      try await pair.client.send([4])
      #expect(try await pair.server.readSome() == [4])
    }
  }

  @Test func halfCloseEndsOneDirectionOnly() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      try await pair.client.send([1])
      pair.client.shutdownWrite()
      #expect(try await pair.server.readAll() == [1])
      try await pair.server.send([2, 3])
      pair.server.close()
      #expect(try await pair.client.readAll() == [2, 3])
    }
  }

  @Test func shutdownWaitsForWhatIsQueued() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let sent = pattern(6 << 20)
      pair.client.queue(sent)
      let writer = bench.spawn { try? await pair.client.flush(downTo: sent.count / 2, stall: patience) }
      pair.client.shutdownWrite()
      #expect(try await pair.server.readAll() == sent)
      await writer.value
    }
  }

  @Test func anIdleConnectionIsCleanUntilSomethingComesOrItEnds() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      #expect(pair.client.isIdleClean())
      try await pair.server.send([1, 2])
      _ = try await pair.client.read(deadline: .after(seconds: patience)) { _ in 1 }
      #expect(!pair.client.isIdleClean(), "a byte was left over")
      #expect(try await pair.client.readSome() == [2])
      #expect(pair.client.isIdleClean())
      try await pair.server.send([3])
      #expect(!pair.client.isIdleClean(), "a byte came unasked")
      #expect(try await pair.client.readSome() == [3])
      pair.server.close()
      #expect(!pair.client.isIdleClean(), "the peer has closed")
      pair.client.close()
      #expect(!pair.client.isIdleClean())
    }
  }

  @Test func bothEndsKnowTheirAddresses() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      #expect(pair.client.peer == pair.listener.boundAddress)
      #expect(pair.client.local == pair.server.peer)
      #expect(pair.server.local == pair.listener.boundAddress)
    }
  }

  /// Without a limit on what a stream may move in a turn, the reader would never let the timer fire.
  @Test func aStreamThatIsAlwaysReadableLetsTimersFire() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let isOver = ClosedFlag()
      let source = bench.spawn {
        let bytes = pattern(1 << 20)
        do {
          while true {
            pair.server.queue(bytes)
            try await pair.server.flush(stall: patience)
          }
        } catch {}
      }
      let timer = bench.loop.timer(at: .after(seconds: 0.05)) { isOver.set() }
      while !isOver.isSet { #expect(try await pair.client.readSome() != nil) }
      pair.client.abort()
      await source.value
      timer.cancel()
    }
  }
}
