// Parts of files that go out through the kernel.

import EventLoop
import Glibc
import Testing

@Suite struct FileRegionTests {
  @Test func aRegionBetweenBytesIsTheFilesContent() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let content = pattern(5 << 20)
      let isClosed = ClosedFlag()
      var file: OpenFile? = try OpenFile(content, isClosed: isClosed)
      if let file {
        pair.client.queue([1])
        pair.client.queue(
          FileRegion(descriptor: file.descriptor, owner: file, offset: 1000, length: content.count - 2000))
        pair.client.queue([2])
        pair.client.queue(FileRegion(descriptor: file.descriptor, owner: file, offset: 0, length: 10))
      }
      file = nil
      #expect(pair.client.queuedBytes == content.count - 2000 + 12)
      #expect(!isClosed.isSet, "the stream keeps the file open")
      let writer = bench.spawn {
        try? await pair.client.flush(stall: patience)
        pair.client.shutdownWrite()
      }
      let received = try await pair.server.readAll()
      await writer.value
      var expected: [UInt8] = [1]
      expected += content[1000..<content.count - 1000]
      expected.append(2)
      expected += content[..<10]
      #expect(received == expected)
      #expect(isClosed.isSet, "the stream lets go of the file once it has left")
    }
  }

  @Test(arguments: [0, 1000]) func aFileCutShortIsAnError(_ left: Int) async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let file = try OpenFile(pattern(1 << 20))
      pair.client.queue(FileRegion(descriptor: file.descriptor, owner: file, offset: 0, length: 1 << 20))
      try file.truncate(to: left)
      let error = await failure { try await pair.client.flush(stall: patience) }
      #expect(error == .system(ENODATA))
      #expect(await failure { try await pair.client.send([1]) } == error, "nothing follows the gap")
      pair.client.abort()
    }
  }

  @Test func closingLetsGoOfTheFile() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let isClosed = ClosedFlag()
      do {
        let file = try OpenFile(pattern(100_000), isClosed: isClosed)
        pair.client.queue(FileRegion(descriptor: file.descriptor, owner: file, offset: 0, length: 100_000))
      }
      pair.client.close()
      #expect(isClosed.isSet)
    }
  }

  @Test func whatStandsBeforeAFileLeavesInOneSegmentWithIt() async throws {
    try await withBench { bench in
      let arrivals = Arrivals()
      let listener = try Listener(address: anyPort, on: bench.loop) { arrivals.add($0) }
      let receiver = try PlainReceiver(port: listener.boundAddress.port)
      let stream = await arrivals.next()
      let head = pattern(300, seed: 2)
      let file = try OpenFile(pattern(10_000))
      stream.queue(head)
      stream.queue(FileRegion(descriptor: file.descriptor, owner: file, offset: 0, length: 10_000))
      try await stream.flush(stall: patience)
      #expect(try receiver.receive(10_300) == head + pattern(10_000))
      #expect(try receiver.dataSegments() == 1)
    }
  }

  @Test func manyPiecesBeforeAFileKeepTheirOrder() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let file = try OpenFile(pattern(100_000))
      var expected: [UInt8] = []
      // Large enough to be referenced, each by itself; together more than a socket takes at once.
      for seed in 1...40 {
        let piece = pattern(200_000, seed: UInt64(seed))
        pair.client.queue(piece[...])
        expected += piece
      }
      pair.client.queue(FileRegion(descriptor: file.descriptor, owner: file, offset: 0, length: 100_000))
      expected += pattern(100_000)
      let writer = bench.spawn {
        try? await pair.client.flush(stall: patience)
        pair.client.shutdownWrite()
      }
      #expect(try await pair.server.readAll() == expected)
      await writer.value
    }
  }

  /// Heads, small bodies, copies, references and files in any order, sent now and then, and not always all of it, since
  /// nobody reads before the end: what had to wait is queued behind.
  @Test(arguments: 1...40) func whateverIsQueuedLeavesInItsOrder(_ seed: UInt64) async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let content = pattern(300_000)
      let file = try OpenFile(content)
      var random = pattern(1000, seed: seed).makeIterator()
      func choice(_ count: Int) -> Int { Int(random.next() ?? 0) % count }
      var expected: [UInt8] = []
      for step in 0..<(20 + choice(60)) {
        let size = [0, 1, 300, 1024, 4095, 4096, 60_000, 65_536, 65_537, 250_000][choice(10)]
        let bytes = pattern(size, seed: seed &* 1000 &+ UInt64(step))
        switch choice(5) {
        case 0, 1:
          pair.client.queue(bytes)
          expected += bytes
        case 2:
          pair.client.queue(bytes.span.bytes)
          expected += bytes
        case 3:
          pair.client.queue(FileRegion(descriptor: file.descriptor, owner: file, offset: 0, length: size))
          expected += content.prefix(size)
        default: _ = pair.client.sendAtOnce()
        }
        #expect(pair.client.queuedBytes <= expected.count)
      }
      let writer = bench.spawn {
        try? await pair.client.flush(stall: patience)
        pair.client.shutdownWrite()
      }
      #expect(try await pair.server.readAll() == expected)
      await writer.value
    }
  }
}

/// A blocking socket of the test's own, which can tell in how many segments its bytes came.
private final class PlainReceiver {
  private let descriptor: Int32

  init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var limit = timeval(tv_sec: Int(patience), tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(code == 0)
  }

  deinit { close(descriptor) }

  func receive(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let got = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, count, Int32(MSG_WAITALL)) }
    try #require(got == count)
    return bytes
  }

  func dataSegments() throws -> UInt32 {
    // tcpi_data_segs_in of Linux's struct tcp_info, which the C library's header ends before.
    let place = 152
    var facts = [UInt8](repeating: 0, count: 256)
    var size = socklen_t(facts.count)
    let code = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &facts, &size)
    try #require(code == 0)
    try #require(Int(size) >= place + 4)
    return facts.span.bytes.unsafeLoad(fromByteOffset: place, as: UInt32.self)
  }
}
