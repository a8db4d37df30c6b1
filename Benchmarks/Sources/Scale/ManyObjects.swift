// A million small objects: what start, memory and look-up cost.
import Diagnostics
import Glibc
import Store
import TestSupport

/// A store with very many keys, written by the store itself: over HTTP it would take hours.
enum ManyObjects {
  private static let count = 1_000_000
  private static let few = 1000

  static func run() async throws -> [ScaleBenchmark.Finding] {
    let folder = try TemporaryFolder("larder-million")
    defer { folder.remove() }
    let (full, small) = (folder.file("full"), folder.file("small"))
    let seconds = try await fill(full, count)
    _ = try await fill(small, few)
    let base = try await look(few, small, folder)
    let found = try await look(count, full, folder)
    let perObject = Double(found.privateBytes - base.privateBytes) / Double(count - few)
    let lookUps = found.microseconds / base.microseconds
    return [
      ScaleBenchmark.Finding(
        what: "\(count) objects written by the store", value: "\(text(seconds)) s", goal: "", isMet: nil),
      ScaleBenchmark.Finding(
        what: "start to first hit", value: "\(text(found.startSeconds, digits: 2)) s", goal: "under 2 s",
        isMet: found.startSeconds < 2),
      ScaleBenchmark.Finding(
        what: "private memory for each, the index's map not counted", value: "\(text(perObject, digits: 0)) bytes",
        goal: "under 300 bytes", isMet: perObject < 300),
      ScaleBenchmark.Finding(
        what: "processor time of a hit anywhere among them, by one among \(few)",
        value: "\(text(found.microseconds)) µs, \(text(lookUps, digits: 2)) times", goal: "flat; reads packs and index",
        isMet: nil),
      ScaleBenchmark.Finding(
        what: "rows of the index read for a hit anywhere among them", value: text(found.rowsPerHit, digits: 1),
        goal: "does not grow with the objects", isMet: nil),
    ]
  }

  /// Writes objects into a store until there are so many, or until it is full; returns the seconds that took.
  static func fill(_ directory: String, _ count: Int, capacity: UInt64 = 20 << 30) async throws -> Double {
    let began = monotonicSeconds()
    let store = try Store.open(StoreOptions(directory: directory, capacity: capacity), log: .silent)
    for number in 0..<count {
      if number % 256 == 0, store.statistics.bytesStored > capacity / 100 * 96 { break }
      try await SmallObject(number: number).write(to: store)
      // What is not yet written stays in memory: let it not become all of it.
      if number % 20_000 == 19_999 { await store.sync() }
    }
    await store.close()
    return monotonicSeconds() - began
  }

  private struct Look {
    let startSeconds: Double
    let privateBytes: Int
    let microseconds: Double
    let rowsPerHit: Double
  }

  private static func look(_ count: Int, _ cache: String, _ folder: TemporaryFolder) async throws -> Look {
    let began = monotonicSeconds()
    let larder = try LarderServer(
      in: folder.file("larder-\(count)"), LarderServer.Start(settings: ["cache.memory": "64M"], cache: cache))
    defer { larder.server.stop() }
    try check(SmallObject(number: count / 2), larder)
    let startSeconds = monotonicSeconds() - began
    let limit = monotonicSeconds() + 120
    while try larder.metric("larder_store_objects") != Double(count) {
      guard monotonicSeconds() < limit else { throw HarnessError("the index was not read within 120 s") }
      usleep(50_000)
    }
    let privateBytes = try larder.figures.privateBytes()
    for number in stride(from: 0, to: count, by: max(1, count / 200)) { try check(SmallObject(number: number), larder) }
    let load = Load(url: SmallObject.prefix, form: .names(count), length: SmallObject.size)
    let before = (try larder.figures.processorSeconds(), try larder.metric("larder_store_index_rows_read_total") ?? 0)
    let outcome = try load.run(port: larder.port, seconds: 5, label: "hits", in: folder)
    let after = (try larder.figures.processorSeconds(), try larder.metric("larder_store_index_rows_read_total") ?? 0)
    return Look(
      startSeconds: startSeconds, privateBytes: privateBytes,
      microseconds: (after.0 - before.0) * 1e6 / Double(outcome.requests),
      rowsPerHit: (after.1 - before.1) / Double(outcome.requests))
  }

  private static func check(_ object: SmallObject, _ larder: LarderServer) throws {
    let response = try RawClient.fetch(object.url, through: larder.port)
    try demandEqual(response.status, 200, "status of \(object.url)")
    try demandEqual(response.body, object.content, "body of \(object.url)")
  }
}
