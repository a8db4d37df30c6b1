// Blocks that are given to a file before its bytes are written, and what becomes of those that stay empty.
import Glibc
import Spans
import Synchronization
import Testing

@testable import Store

struct AllocationTests {
  private static let mebibyte: UInt64 = 1 << 20

  /// A store with an object of 64 MiB of which nothing is there.
  private final class Stage {
    let directory: Directory
    let store: Store
    let representation: Representation

    init(_ disk: (any FaultySystem)? = nil) throws {
      directory = try Directory()
      store = try Store.open(options(directory), calls: SystemCalls(faults: disk))
      representation = store.makeRepresentation(validator: validator, total: 64 * mebibyte)
      store.add(response(), for: key("a"), representation: representation)
    }

    /// Writes `span` as fills do: in pieces, with room promised for 8 MiB.
    func write(_ span: ByteSpan, with writer: ExtentWriter? = nil) async throws -> ExtentWriter {
      let writer = writer ?? representation.writer(at: span.lower)
      var position = span.lower
      while position < span.upper {
        if writer.reservation?.remaining ?? 0 < mebibyte {
          writer.reservation = await store.makeRoom(for: 8 * mebibyte)
        }
        let piece = ByteSpan(position, min(span.upper, position + (256 << 10)))
        try writer.write(content(piece).span.bytes)
        if writer.needsDrain { try await writer.drain() }
        position = piece.upper
      }
      return writer
    }

    /// Waits until the disk threads have done what they were given.
    func settle() async {
      for _ in 0..<8 {
        await store.engine.pool.run { [representation] in representation.fileGate.withLock { _ in } }
      }
    }

    var allocated: UInt64 {
      var facts = stat()
      guard stat(store.engine.layout.body(representation.id), &facts) == 0 else { return 0 }
      return UInt64(facts.st_blocks) * 512
    }

    func expectContent(_ span: ByteSpan) async throws {
      var position = span.lower
      while position < span.upper {
        let bytes = try await representation.bytes(in: ByteSpan(position, span.upper))
        let wanted = content(ByteSpan(position, position + UInt64(bytes.count)))
        #expect(bytes.copied() == wanted, "at \(position)")
        position += UInt64(bytes.count)
      }
    }
  }

  @Test func blocksAreThereBeforeTheBytesAndGoWithTheWriter() async throws {
    let stage = try Stage()
    let writer = try await stage.write(ByteSpan(0, 2 * Self.mebibyte))
    await stage.settle()
    // Less where the file system cannot do it.
    let ahead = stage.allocated
    #expect(stage.store.engine.cannotAllocate.value == 1 || ahead >= 8 * Self.mebibyte)
    writer.finish()
    await stage.settle()
    #expect(stage.allocated < 2 * Self.mebibyte + (64 << 10))
    try await stage.expectContent(ByteSpan(0, 2 * Self.mebibyte))
    #expect(stage.representation.state.withLock { !$0.ahead.isReturning && $0.ahead.spans.isEmpty })
  }

  @Test func theLastWriterGivesBackForAllAndNothingOfWhatIsThere() async throws {
    let stage = try Stage()
    // Written before, in the midst of what the first will be given.
    try await stage.write(ByteSpan(5 * Self.mebibyte + 7, 6 * Self.mebibyte + 9)).finish()
    let first = try await stage.write(ByteSpan(0, Self.mebibyte + 5))
    let second = try await stage.write(ByteSpan(2 * Self.mebibyte + 1, 3 * Self.mebibyte))
    first.finish()
    await stage.settle()
    _ = try await stage.write(ByteSpan(3 * Self.mebibyte, 4 * Self.mebibyte + 3), with: second)
    second.finish()
    await stage.settle()
    #expect(stage.allocated < 4 * Self.mebibyte + (256 << 10))
    try await stage.expectContent(ByteSpan(0, Self.mebibyte + 5))
    try await stage.expectContent(ByteSpan(2 * Self.mebibyte + 1, 4 * Self.mebibyte + 3))
    try await stage.expectContent(ByteSpan(5 * Self.mebibyte + 7, 6 * Self.mebibyte + 9))
  }

  /// What could not be read the next time is a gap, and is on its way to somebody who could.
  @Test func whatIsBeingSentIsNotGivenBackAlthoughItWasDropped() async throws {
    let disk = PartlyFaultyDisk(.read, at: 0, .once(EIO))
    let stage = try Stage(disk)
    let writer = try await stage.write(ByteSpan(0, 2 * Self.mebibyte))
    await stage.settle()
    let first = ByteSpan(0, Extent.largest)
    let sent = try await stage.representation.bytes(in: first)
    // Somebody has cut the file, and it looks whole again: everything is to be read anew.
    stage.store.engine.distrust(stage.representation, path: "the file")
    await #expect(throws: StoreError.io(EIO)) { try await stage.representation.bytes(in: first) }
    #expect(await stage.representation.gaps(in: ByteSpan(0, 2 * Self.mebibyte), limit: 2) == [first])
    writer.finish()
    await stage.settle()
    #expect(stage.representation.state.withLock { !$0.ahead.isReturning && $0.ahead.spans.isEmpty })
    #expect(stage.allocated < 2 * Self.mebibyte + (64 << 10))
    #expect(sent.copied() == content(ByteSpan(0, UInt64(sent.count))))
  }

  /// What the index on the disk still claims must be there, should the process be killed now.
  @Test func partsThatAreBeingEvictedGoWithTheirCommit() async throws {
    let stage = try Stage()
    let writer = try await stage.write(ByteSpan(0, 2 * Self.mebibyte))
    await stage.settle()
    let first = ByteSpan(0, Extent.largest)
    stage.representation.state.withLock { state in
      _ = state.remove(from: 0) { $0.lower == first.lower }
      state.punching.insert(0)
    }
    writer.finish()
    await stage.settle()
    let file = try #require(readFile(stage.store.engine.layout.body(stage.representation.id)))
    #expect(Array(file[..<Int(first.upper)]) == content(first))
  }

  /// A reader that seeks: each fill ends early, and the next begins where the blocks of the last are being given back.
  @Test func whoWritesWhereBlocksAreGivenBackKeepsItsBytes() async throws {
    let stage = try Stage()
    var position: UInt64 = 0
    for round in 0..<40 {
      let length = Self.mebibyte + UInt64(round * 1001)
      let writer = try await stage.write(ByteSpan(position, position + length))
      writer.finish()
      position += length
    }
    try await stage.expectContent(ByteSpan(0, position))
    await stage.settle()
    #expect(stage.allocated < position + (128 << 10))
    // Also of the disk's copy.
    let file = try #require(readFile(stage.store.engine.layout.body(stage.representation.id)))
    #expect(file == content(ByteSpan(0, position)))
  }
}
