// What the tests of loops and streams share.

import EventLoop
import Glibc
import Synchronization
import Testing

/// An actor on a loop, as a worker of the proxy is.
actor Bench: LoopBound {
  nonisolated let loop: EventLoop
  private var count = 0

  init(_ loop: EventLoop) { self.loop = loop }

  func run<Value: Sendable>(_ body: @Sendable (isolated Bench) async throws -> Value) async rethrows -> Value {
    try await body(self)
  }

  func increment(_ number: Int) -> Int {
    count += 1
    return number + 1
  }

  var calls: Int { count }
}

/// Runs `body` on a fresh loop and stops it.
func withBench<Value: Sendable>(_ body: @Sendable (isolated Bench) async throws -> Value) async throws -> Value {
  let loop = try EventLoop.start(name: "test")
  defer { loop.stop() }
  let bench = Bench(loop)
  return try await bench.run(body)
}

/// Two ends of one connection on the bench's loop.
struct Pair {
  let client: ByteStream
  let server: ByteStream
  let listener: Listener
}

extension Bench {
  /// Connects to itself. (An initialiser with an isolated parameter does not stay on the loop.)
  func pair() async throws -> Pair {
    let arrivals = Arrivals()
    let listener = try Listener(address: anyPort, on: loop) { arrivals.add($0) }
    let client = try await ByteStream.connect(
      to: listener.boundAddress, on: loop, deadline: .after(seconds: patience))
    return Pair(client: client, server: await arrivals.next(), listener: listener)
  }
}

let anyPort = SocketAddress(ip: "127.0.0.1", port: 0) ?? unusable()
/// Long enough for any machine: a test that waits so long has failed.
let patience = 60.0

private func unusable() -> SocketAddress { fatalError("127.0.0.1 is an address") }

/// The connections a listener has taken, in order.
final class Arrivals {
  private var streams: [ByteStream] = []
  private var waiting: CheckedContinuation<Void, Never>?

  var count: Int { streams.count }

  func add(_ stream: ByteStream) {
    streams.append(stream)
    waiting?.resume()
    waiting = nil
  }

  func next() async -> ByteStream {
    while streams.isEmpty {
      // The way into the wait may lead through the loop's queue, and one may have come meanwhile.
      await withCheckedContinuation { if streams.isEmpty { waiting = $0 } else { $0.resume() } }
    }
    return streams.removeFirst()
  }
}

extension ByteStream {
  /// Reads once, everything that is there.
  func readSome() async throws -> [UInt8]? {
    var bytes: [UInt8] = []
    let more = try await read(deadline: .after(seconds: patience)) { input in
      bytes = Array(input)
      return input.byteCount
    }
    return more ? bytes : nil
  }

  /// Reads to the end of input.
  func readAll() async throws -> [UInt8] {
    var all: [UInt8] = []
    while let some = try await readSome() { all += some }
    return all
  }

  func send(_ bytes: [UInt8]) async throws {
    queue(bytes)
    try await flush(stall: patience)
  }
}

extension Array where Element == UInt8 {
  init(_ span: RawSpan) { self = span.withUnsafeBytes { Array($0) } }
}

/// Bytes that do not repeat soon.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed
  let words = (0..<(count + 7) / 8).map { _ in
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }
  return words.withUnsafeBytes { Array($0.prefix(count)) }
}

/// The error that `body` throws.
func failure(of body: () async throws -> Void) async -> StreamError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? StreamError
  }
}

/// An open file that goes when the last reference does, and says so.
final class OpenFile: Sendable {
  let descriptor: Int32
  private let isClosed: ClosedFlag

  init(_ bytes: [UInt8], isClosed: ClosedFlag = ClosedFlag()) throws {
    var name = Array("/tmp/larder-region-XXXXXX".utf8CString)
    descriptor = mkstemp(&name)
    try #require(descriptor >= 0)
    unlink(name)
    self.isClosed = isClosed
    let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    try #require(written == bytes.count)
  }

  deinit {
    close(descriptor)
    isClosed.set()
  }

  func truncate(to length: Int) throws { try #require(ftruncate(descriptor, length) == 0) }
}

final class ClosedFlag: Sendable {
  private let flag = Atomic<Bool>(false)
  func set() { flag.store(true, ordering: .relaxed) }
  var isSet: Bool { flag.load(ordering: .relaxed) }
}
