// The pieces: heads in and out, spans, look-ups and inserts of the store.
import CachePolicy
import Diagnostics
import Glibc
import HTTPMessage
import HTTPWire
import Spans
import Store
import TestSupport

extension MicroBenchmarks {
  /// Reading request heads and writing response heads.
  static func wirePieces() throws -> [MicroBenchmark] {
    let short = Array("GET http://origin.example/1k HTTP/1.1\r\nHost: origin.example\r\n\r\n".utf8)
    let browser = Array(
      """
      GET http://origin.example/images/2026/picture-of-the-day.jpg?size=large HTTP/1.1\r
      Host: origin.example\r
      User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r
      Accept: image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5\r
      Accept-Language: en-GB,en;q=0.7,de;q=0.3\r
      Accept-Encoding: gzip, deflate, br, zstd\r
      Referer: http://origin.example/today.html\r
      Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r
      If-None-Match: "5f8a1c-2c3d4e5f60718"\r
      Cache-Control: max-age=0\r
      Connection: keep-alive\r
      \r\n
      """.utf8)
    let head = ResponseHead(
      status: 200,
      fields: [
        "Server": "nginx/1.22.1", "Date": "Sat, 21 Nov 2026 10:00:00 GMT", "Content-Type": "application/octet-stream",
        "Content-Length": "1024", "Last-Modified": "Sat, 21 Nov 2026 09:00:00 GMT", "ETag": "\"6b01b2a5-400\"",
        "Cache-Control": "max-age=86400", "Accept-Ranges": "bytes", "Age": "17", "Via": "1.1 larder",
        "Cache-Status": "larder; hit; ttl=86383",
      ])
    return [
      MicroBenchmark(name: "request head, 1 field", calls: 20_000) { try parse(short, $0) },
      MicroBenchmark(name: "request head, 10 fields", calls: 10_000) { try parse(browser, $0) },
      MicroBenchmark(name: "response head written, 11 fields", calls: 20_000) { calls in
        var bytes = 0
        for _ in 0..<calls { bytes += head.serialized().count }
        return bytes
      },
    ]
  }

  private static func parse(_ bytes: [UInt8], _ calls: Int) throws -> Int {
    var parser = RequestHeadParser()
    var heads = 0
    for _ in 0..<calls {
      if try parser.feed(bytes.span.bytes).head != nil { heads += 1 }
    }
    try demandEqual(heads, calls, "heads parsed")
    return heads
  }

  /// Sets of 10,000 spans: what a plan asks of them, and changes in their middle.
  static func spanPieces() -> [MicroBenchmark] {
    let stride: UInt64 = 1 << 20
    let count = 10_000
    let set = SpanSet((0..<count).map { ByteSpan(UInt64($0) * stride, UInt64($0) * stride + stride / 2) })
    return [
      MicroBenchmark(name: "plan over 10,000 spans, 64 MiB of them", calls: 5_000) { calls in
        var random = SeededGenerator(1)
        var found = 0
        for _ in 0..<calls {
          let lower = UInt64.random(in: 0..<UInt64(count - 64), using: &random) * stride
          found += set.gaps(in: ByteSpan(lower, lower + 64 * stride)).count
        }
        return found
      },
      MicroBenchmark(name: "first gap in 10,000 spans", calls: 20_000) { calls in
        var random = SeededGenerator(2)
        var found: UInt64 = 0
        for _ in 0..<calls {
          let lower = UInt64.random(in: 0..<UInt64(count - 1), using: &random) * stride
          found &+= set.firstGap(in: ByteSpan(lower, lower + stride))?.lower ?? 0
        }
        return Int(truncatingIfNeeded: found)
      },
      MicroBenchmark(name: "span inserted among 10,000", calls: 5_000) { calls in
        var random = SeededGenerator(3)
        var changed = set
        for _ in 0..<calls {
          let lower = UInt64.random(in: 0..<UInt64(count), using: &random) * stride + stride * 3 / 4
          changed.insert(ByteSpan(lower, lower + 64))
        }
        return changed.count
      },
    ]
  }
}

/// Pieces of a store that has to be opened and filled first.
enum StorePieces {
  private static let keys = 20_000

  static func measure(_ measure: (MicroBenchmark) async throws -> Void) async throws {
    let folder = try TemporaryFolder("larder-pieces")
    defer { folder.remove() }
    // What is written stays uncommitted while it is measured: no other thread's work is counted.
    var options = StoreOptions(
      directory: folder.file("cache"), capacity: 8 << 30, syncInterval: 3600, journalInterval: 3600)
    var store = try Store.open(options, log: .silent)
    try await measure(
      MicroBenchmark(name: "small object stored", calls: 2_000) { calls in
        for number in 0..<calls { try await SmallObject(number: number).write(to: store) }
        return store.statistics.objects
      })
    for number in 0..<keys { try await SmallObject(number: number).write(to: store) }
    let large = SparseObject(name: "spans", size: 64 << 30, spanCount: 0, stride: 4096)
    try await large.write(to: store)
    guard let spans = await store.entries(for: large.key).first?.representation else {
      throw HarnessError("what was stored is not there")
    }
    var written = 0
    let bytes = [UInt8](repeating: 7, count: Int(SparseObject.length))
    try await measure(
      MicroBenchmark(name: "extent written into a representation of many", calls: 1_000, isSteady: false) { calls in
        for _ in 0..<calls {
          // Each apart from the one before; every 16 MiB hold four thousand.
          let writer = spans.writer(at: UInt64(written) * 4096)
          try writer.write(bytes.span.bytes)
          if writer.needsDrain { try await writer.drain() }
          writer.finish()
          written += 1
        }
        return written
      })
    try await measure(lookUp("look-up of a key in memory", below: 100, in: store))
    await store.close()
    // Opened anew, with no memory to keep what it looks up: nearly every look-up reads the index.
    options.memoryBudget = 0
    store = try Store.open(options, log: .silent)
    try await measure(lookUp("look-up of a key in the index", below: keys, in: store))
    await store.close()
  }

  private static func lookUp(_ name: String, below count: Int, in store: Store) -> MicroBenchmark {
    MicroBenchmark(name: name, calls: 2_000) { calls in
      var random = SeededGenerator(4)
      var found = 0
      for _ in 0..<calls {
        let object = SmallObject(number: Int.random(in: 0..<count, using: &random))
        found += await store.entries(for: object.key).count
      }
      try demandEqual(found, calls, "keys found")
      return found
    }
  }
}
