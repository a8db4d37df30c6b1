// The first byte of a stored range: what it costs must grow neither with the object's size nor with its spans.
import Diagnostics
import Glibc
import HTTPMessage
import Spans
import Store
import TestSupport

/// Counts the work of the first byte after a restart, at the store and through the whole program.
enum FirstByteBenchmark {
  /// A span a MiB, from 64 MiB to 100 GiB: size and number of spans grow together, 1,600 times.
  private static let objects = [
    SparseObject(name: "64M", size: 64 << 20, spanCount: 64, stride: 1 << 20),
    SparseObject(name: "1G", size: 1 << 30, spanCount: 1024, stride: 1 << 20),
    SparseObject(name: "10G", size: 10 << 30, spanCount: 10_240, stride: 1 << 20),
    SparseObject(name: "100G", size: 100 << 30, spanCount: 102_400, stride: 1 << 20),
  ]
  /// The same number of spans close together: what it costs depends on the spans of the 16 MiB around the byte.
  private static let dense = SparseObject(name: "10G-dense", size: 10 << 30, spanCount: 10_240, stride: 1024)
  private static let rounds = 9

  /// What one first byte took.
  private struct Work {
    var rows = 0
    var diskReads = 0
    var readCalls = 0
    var microseconds = 0.0
  }

  static func run(_ results: inout Results, _ verdict: inout Verdict) async throws {
    var random = SeededGenerator(2)
    let folder = try TemporaryFolder("larder-bench")
    defer { folder.remove() }
    var table = Table(
      "First byte of a stored range, store just opened (\(rounds) rounds, the least of each)",
      ["object", "spans", "index rows", "disk reads", "read calls", "CPU µs", "CPU ratio"])
    var first: Work?
    let caches = (all: folder.file("all"), dense: folder.file("dense"))
    try await prepare(objects, in: caches.all)
    try await prepare([dense], in: caches.dense)
    for object in objects + [dense] {
      let isDense = object.name == dense.name
      let directory = isDense ? caches.dense : caches.all
      var works: [Work] = []
      for _ in 0..<rounds {
        works.append(try await measure(object, Int.random(in: 0..<object.spanCount, using: &random), in: directory))
      }
      let work = least(works)
      let base = first ?? work
      first = base
      table.add([
        object.name, "\(object.spanCount)\(isDense ? " in 10 MiB" : "")", "\(work.rows)", "\(work.diskReads)",
        "\(work.readCalls)", text(work.microseconds, digits: 0), text(work.microseconds / base.microseconds, digits: 2),
      ])
      guard !isDense else { continue }
      verdict.demand(work.rows > 0, "\(object.name): no row of the index was read: nothing was measured")
      verdict.demand(
        work.rows <= base.rows && work.diskReads <= base.diskReads && work.readCalls <= base.readCalls,
        "first byte of \(object.name) takes more than that of \(objects[0].name): \(work), \(base)")
    }
    results.add(table, as: "first-byte")
    try throughTheProgram(caches.all, &random, &results, &verdict)
  }

  /// Each field's least: the opening's own thread may read a row more while a measurement runs, never one less.
  private static func least(_ works: [Work]) -> Work {
    Work(
      rows: works.map(\.rows).min() ?? 0, diskReads: works.map(\.diskReads).min() ?? 0,
      readCalls: works.map(\.readCalls).min() ?? 0, microseconds: works.map(\.microseconds).min() ?? 0)
  }

  private static func options(_ directory: String) -> StoreOptions {
    StoreOptions(directory: directory, capacity: 8 << 30, syncInterval: 3600, journalInterval: 3600)
  }

  private static func prepare(_ objects: [SparseObject], in directory: String) async throws {
    let store = try Store.open(options(directory), log: .silent)
    for object in objects { try await object.write(to: store) }
    await store.close()
  }

  /// Opens the store, takes the first bytes of one span, and says what that took without the opening.
  private static func measure(_ object: SparseObject, _ number: Int, in directory: String) async throws -> Work {
    let store = try Store.open(options(directory), log: .silent)
    // The opening ends with reading what is stored, on a thread of its own: it is over when all objects are counted.
    let wanted = object.name == dense.name ? 1 : objects.count
    let limit = monotonicSeconds() + Patience.seconds
    while store.statistics.objects < wanted, monotonicSeconds() < limit { await Task.yield() }
    let before = store.statistics
    let calls = try ProcessFigures.own.readCalls()
    let nanoseconds = ownProcessorNanoseconds()
    let span = object.span(number)
    guard let entry = await store.entries(for: object.key).first,
      await entry.representation.presence(at: span.lower, upTo: span.upper) == .present(upTo: span.upper)
    else { throw HarnessError("span \(number) of \(object.name) is not present") }
    let bytes = try await entry.representation.bytes(in: span)
    var work = Work()
    work.microseconds = Double(ownProcessorNanoseconds() - nanoseconds) / 1000
    work.readCalls = try ProcessFigures.own.readCalls() - calls
    let after = store.statistics
    work.rows = after.indexRowsRead - before.indexRowsRead
    work.diskReads = after.diskReads - before.diskReads
    guard bytes.copied() == object.content(number) else { throw HarnessError("wrong bytes in \(object.name)") }
    await store.close()
    return work
  }

  /// The same by Range requests to `larder serve` with all of them in one cache: the second byte of an object, whose
  /// part of the index is not in memory yet. The origin does not exist.
  private static func throughTheProgram(
    _ cache: String, _ random: inout SeededGenerator, _ results: inout Results, _ verdict: inout Verdict
  ) throws {
    var table = Table(
      "Range requests of 64 bytes to `larder serve`, just started, each in another 16 MiB (the least of each)",
      ["object", "spans", "requests", "index rows", "disk reads", "read calls"])
    let numbers = SeededGenerator(random.next())
    let failures = try serve(cache, numbers, into: &table)
    for failure in failures { verdict.demand(false, failure) }
    results.add(table, as: "first-byte-program")
  }

  private static func serve(_ cache: String, _ numbers: SeededGenerator, into table: inout Table) throws -> [String] {
    var numbers = numbers
    var failures: [String] = []
    var rows = table
    try withRig { rig in
      let larder = try rig.larder(
        ["workers": "1", "log.level": "info", "log.access_log": "off"], on: try rig.folders(cache: cache))
      let figures = ProcessFigures(larder.process.id)
      var first: Work?
      for object in objects {
        // The first request of an object reads its record too; of 64 MiB three more 16 MiB are left to compare.
        var segments = Array(0..<object.spanCount / 16).shuffled(using: &numbers).prefix(8)
        try ask(larder, object, segments.removeFirst() * 16 + 5)
        var works: [Work] = []
        for segment in segments {
          let before = try counts(larder, figures)
          try ask(larder, object, segment * 16 + Int.random(in: 0..<16, using: &numbers))
          let after = try counts(larder, figures)
          works.append(
            Work(
              rows: after.rows - before.rows, diskReads: after.diskReads - before.diskReads,
              readCalls: after.readCalls - before.readCalls))
        }
        let work = least(works)
        let base = first ?? work
        first = base
        rows.add([
          object.name, "\(object.spanCount)", "\(works.count)", "\(work.rows)", "\(work.diskReads)",
          "\(work.readCalls)",
        ])
        if work.rows > base.rows || work.diskReads > base.diskReads || work.readCalls > base.readCalls + 1 {
          failures.append("a range of \(object.name) takes more than one of \(objects[0].name): \(work), \(base)")
        }
      }
    }
    table = rows
    return failures
  }

  private static func counts(_ larder: LarderProcess, _ figures: ProcessFigures) throws -> Work {
    guard let rows = try larder.metric("larder_store_index_rows_read_total"),
      let reads = try larder.metric("larder_store_disk_reads_total")
    else { throw HarnessError("the metrics of the store are missing") }
    return Work(rows: Int(rows), diskReads: Int(reads), readCalls: try figures.readCalls())
  }

  private static func ask(_ larder: LarderProcess, _ object: SparseObject, _ number: Int) throws {
    let span = object.span(number)
    let response = try RawClient.fetch(
      object.url, [("Range", "bytes=\(span.lower)-\(span.upper - 1)")], through: larder.port)
    try demandEqual(response.status, 206, "status of span \(number) of \(object.name)")
    try demandEqual(response.body, object.content(number), "span \(number) of \(object.name)")
  }
}
