// Every way a stream can fail: who waits learns of it, by its name, once.

import EventLoop
import Glibc
import Testing

@Suite struct StreamFailureTests {
  @Test func aReadEndsAtItsDeadlineAndTheNextOneWorks() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      #expect(
        await failure { _ = try await pair.server.read(deadline: .after(seconds: 0.03)) { $0.byteCount } } == .timedOut)
      try await pair.client.send([7])
      #expect(try await pair.server.readSome() == [7])
    }
  }

  @Test func anEarlierDeadlineAfterALaterOneIsKept() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      try await pair.client.send([1])
      _ = try await pair.server.read(deadline: .never) { $0.byteCount }
      let first = bench.spawn {
        #expect(
          await failure { _ = try await pair.server.read(deadline: .after(seconds: 3600)) { $0.byteCount } }
            == .cancelled)
      }
      await Task.yield()
      first.cancel()
      await first.value
      #expect(
        await failure { _ = try await pair.server.read(deadline: .after(seconds: 0.01)) { $0.byteCount } } == .timedOut)
    }
  }

  @Test func aFlushThatMovesNothingStalls() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      pair.client.queue([UInt8](repeating: 7, count: 32 << 20))
      #expect(await failure { try await pair.client.flush(stall: 0.2) } == .timedOut)
      #expect(pair.client.queuedBytes > 0)
      // The stream is not broken by it: once the peer reads, all goes through.
      let writer = bench.spawn {
        try? await pair.client.flush(stall: patience)
        pair.client.close()
      }
      #expect(try await pair.server.readAll().count == 32 << 20)
      await writer.value
    }
  }

  @Test func aResetIsNotAnEnd() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      pair.client.abort()
      #expect(await failure { _ = try await pair.server.readSome() } == .reset)
      #expect(await failure { _ = try await pair.server.readSome() } == .reset, "it stays reset")
      #expect(pair.server.isPeerGone)
    }
  }

  @Test func aResetBehindBytesComesAfterThem() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      try await pair.client.send([1, 2])
      pair.client.abort()
      #expect(try await pair.server.readSome() == [1, 2])
      #expect(await failure { _ = try await pair.server.readSome() } == .reset)
    }
  }

  @Test func whatIsQueuedLeavesBeforeAReset() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      pair.client.queue([1, 2] as [UInt8])
      pair.client.abort()
      #expect(try await pair.server.readSome() == [1, 2])
      #expect(await failure { _ = try await pair.server.readSome() } == .reset)
    }
  }

  @Test func aResetBehindBytesIsMetThoughAnswersAreWritten() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      // The first round is answered: from then on the server waits for events, and does not ask.
      try await pair.client.send([1, 2])
      #expect(try await pair.server.readSome() == [1, 2])
      try await pair.server.send([3])
      #expect(try await pair.client.readSome() == [3])
      try await pair.client.send([4])
      pair.client.abort()
      #expect(try await pair.server.readSome() == [4])
      _ = await failure { try await pair.server.send([5]) }
      #expect(await failure { _ = try await pair.server.readSome() } == .reset)
    }
  }

  @Test func anEndBehindBytesIsMetThoughAnswersAreWritten() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      for round in 0..<3 as Range<UInt8> {
        try await pair.client.send([round])
        if round == 2 { pair.client.shutdownWrite() }
        #expect(try await pair.server.readSome() == [round])
        try await pair.server.send([round])
        #expect(try await pair.client.readSome() == [round])
      }
      #expect(try await pair.server.readSome() == nil)
    }
  }

  @Test func aResetThatAWriteMeetsIsNoCleanEndForTheReader() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      pair.client.abort()
      var written: StreamError?
      while written == nil { written = await failure { try await pair.server.send([1]) } }
      #expect(written == .reset)
      #expect(await failure { _ = try await pair.server.readSome() } == .reset)
    }
  }

  @Test func aPeerThatGoesWhileNobodyReadsIsReported() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      await withCheckedContinuation { continuation in
        pair.server.onPeerGone { _ in continuation.resume() }
        pair.client.abort()
      }
      #expect(pair.server.isPeerGone)
      #expect(await failure { _ = try await pair.server.readSome() } == .reset)
    }
  }

  /// The send that the reset itself brings about is told of it first.
  @Test func aPeerThatGoesWhileBytesWaitForItIsReported() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      // More than the system takes, and nobody waits for it to leave.
      pair.server.queue([UInt8](repeating: 7, count: 32 << 20))
      #expect(await failure { try await pair.server.flush(stall: 0.05) } == .timedOut)
      await withCheckedContinuation { continuation in
        pair.server.onPeerGone { end in
          #expect(end == .reset)
          continuation.resume()
        }
        pair.client.abort()
      }
      #expect(pair.server.isPeerGone)
      #expect(await failure { _ = try await pair.server.readSome() } == .reset)
    }
  }

  @Test(arguments: [false, true]) func closingWakesWhoWaits(_ aborts: Bool) async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let reader = bench.spawn { #expect(await failure { _ = try await pair.client.readSome() } == .closed) }
      let writer = bench.spawn {
        pair.client.queue([UInt8](repeating: 7, count: 32 << 20))
        #expect(await failure { try await pair.client.flush(stall: patience) } == .closed)
      }
      _ = try await pair.server.readSome()
      if aborts { pair.client.abort() } else { pair.client.close() }
      pair.client.close()
      pair.client.abort()
      await reader.value
      await writer.value
      #expect(await failure { try await pair.client.send([1]) } == .closed)
      #expect(await failure { _ = try await pair.client.readSome() } == .closed)
      #expect(pair.client.queuedBytes == 0)
    }
  }

  @Test func cancellationWakesWhoWaits() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let reader = bench.spawn { #expect(await failure { _ = try await pair.client.readSome() } == .cancelled) }
      let writer = bench.spawn {
        pair.client.queue([UInt8](repeating: 7, count: 32 << 20))
        #expect(await failure { try await pair.client.flush(stall: patience) } == .cancelled)
      }
      _ = try await pair.server.readSome()
      reader.cancel()
      writer.cancel()
      await reader.value
      await writer.value
      try await pair.server.send([9])
      #expect(try await pair.client.readSome() == [9], "the stream outlives the wait")
    }
  }

  @Test func aTaskCancelledBeforeItWaitsDoesNotWait() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let reader = bench.spawn { #expect(await failure { _ = try await pair.client.readSome() } == .cancelled) }
      reader.cancel()
      await reader.value
    }
  }

  @Test func connectingToAClosedPortIsRefusedInWords() async throws {
    try await withBench { bench in
      let listener = try Listener(address: anyPort, on: bench.loop) { _ in }
      let address = listener.boundAddress
      listener.close()
      let error = await failure {
        _ = try await ByteStream.connect(to: address, on: bench.loop, deadline: .after(seconds: patience))
      }
      #expect(error == .system(ECONNREFUSED))
      #expect(error?.explanation == "connection refused")
    }
  }

  @Test func connectingEndsAtItsDeadline() async throws {
    try await withBench { bench in
      // With a backlog of 0 that is never taken from, the system leaves further connections unanswered.
      let listener = try Listener(address: anyPort, on: bench.loop, backlog: 0) { _ in }
      listener.pause()
      var kept: [ByteStream] = []
      var error: StreamError?
      while error == nil, kept.count < 16 {
        error = await failure {
          kept.append(
            try await ByteStream.connect(to: listener.boundAddress, on: bench.loop, deadline: .after(seconds: 0.2)))
        }
      }
      #expect(error == .timedOut)
    }
  }

  @Test func everyErrorHasWords() {
    #expect(StreamError.system(ENOENT).explanation == "No such file or directory")
    #expect(StreamError.system(ENETUNREACH).explanation == "the network is unreachable")
    #expect(StreamError.timedOut.explanation == "timed out")
  }
}
