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
}
