// The requests whose counts have thresholds, made one after another so that the counts are the same everywhere.
import Glibc
import TestSupport

/// A kind of request, and how to make some of it.
enum RequestKind: String, CaseIterable {
  /// A whole object of 1 KiB from memory.
  case hit
  /// 64 KiB at a random place of a cached object of 1 MiB.
  case range
  /// An object of 1 KiB that nobody has asked for, and its way to the disk.
  case miss
  /// A reader of an object of 128 KiB that another is already bringing.
  case follow
}

/// Makes requests to one Larder.
final class RequestMaker {
  private let larder: LarderServer
  private let origin: NginxOrigin
  private let gated: GatedOrigin
  private var random = SeededGenerator(5)
  private var made = 0
  private let client: RawClient

  init(_ larder: LarderServer, _ origin: NginxOrigin, _ gated: GatedOrigin) throws {
    self.larder = larder
    self.origin = origin
    self.gated = gated
    client = try RawClient(port: larder.port)
  }

  /// Makes so many of a kind, compares every answer, and calls `before` when only they are left to do.
  func make(_ count: Int, of kind: RequestKind, before: () throws -> Void) throws {
    switch kind {
    case .hit:
      try before()
      for _ in 0..<count { try ask("/1k", Self.small) }
    case .range:
      try before()
      for _ in 0..<count {
        let first = Int.random(in: 0...(Self.middle.size - Self.rangeLength), using: &random)
        try ask("/1m", Self.middle, first..<first + Self.rangeLength)
      }
    case .miss:
      try before()
      for _ in 0..<count {
        made += 1
        try ask("/miss/\(made)", Self.small)
      }
    case .follow: try follow(count, before)
    }
  }

  /// What goes on after the last answer.
  enum Aftermath: UInt32 {
    /// Records are written half a second after a change.
    case records = 1
    /// The index commits them five seconds after it.
    case commit = 6
  }

  /// Waits until that is over.
  func settle(_ aftermath: Aftermath) { sleep(aftermath.rawValue) }

  private func ask(_ path: String, _ body: PatternBody, _ range: Range<Int>? = nil) throws {
    let checker = BodyChecker(body, from: range?.lowerBound ?? 0)
    let fields = range.map { [("Range", "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? []
    let response = try client.fetch(origin.url(path), fields) { checker.take($0) }
    try demandEqual(response.status, range == nil ? 200 : 206, "status of \(path)")
    try demandEqual(checker.position, range?.upperBound ?? body.size, "length of \(path)")
    try demandEqual(checker.mismatch, nil, "first wrong byte of \(path)")
  }

  /// One leads while the origin holds back the end of the body; the others, whose connections are warm, come when all
  /// before it is there: how often they are woken then does not depend on the machine's speed.
  private func follow(_ count: Int, _ before: () throws -> Void) throws {
    made += 1
    let url = gated.url(made)
    let clients = try (0..<count).map { _ in try RawClient(port: larder.port) }
    defer { for client in clients { client.close() } }
    for client in clients { try demandEqual(try client.fetch(origin.url("/1k")).status, 200, "status of /1k") }
    let leader = try RawClient(port: larder.port)
    defer { leader.close() }
    try leader.send(RawClient.request("GET", url))
    let leading = try leader.responseHead()
    try demandEqual(leading.status, 200, "status of what was led")
    let present = try leader.read(gated.end)
    try before()
    for client in clients { try client.send(RawClient.request("GET", url)) }
    // Their heads say that they have joined; the rest of the body is behind the gate.
    var responses = try clients.map { try $0.responseHead() }
    gated.open(made)
    for index in clients.indices {
      let checker = BodyChecker(gated.body)
      try clients[index].readBody(of: &responses[index]) { checker.take($0) }
      try demandEqual(checker.position, gated.body.size, "length of what was followed")
      try demandEqual(checker.mismatch, nil, "first wrong byte of what was followed")
    }
    let led = BodyChecker(gated.body)
    for part in [present, try leader.read(gated.body.size - gated.end)] { part.withUnsafeBytes { led.take($0) } }
    try demandEqual(led.mismatch, nil, "first wrong byte of what was led")
    try demandEqual(gated.requests(made), 1, "requests upstream for what was followed")
  }

  /// What the origins of a run have.
  static let small = PatternBody(seed: 1, size: 1 << 10)
  static let middle = PatternBody(seed: 2, size: 1 << 20)
  static let gated = PatternBody(seed: 3, size: 128 << 10)
  /// Where the end begins that the origin holds back: little enough to come in one segment of the loopback interface.
  static let gatedEnd = 96 << 10
  private static let rangeLength = 64 << 10
}

/// An origin that sends most of a body, and the end when it is told to.
final class GatedOrigin: Sendable {
  private let origin: ScriptedOrigin
  private let gates = Monitor<[String: ManualGate]>([:])
  let body: PatternBody
  /// Where the end that is held back begins, in bytes.
  let end: Int

  init(_ rig: Rig, _ body: PatternBody, end: Int) throws {
    self.body = body
    self.end = end
    let gates = gates
    let representation = Representation(body)
    origin = try rig.origin { exchange in
      let gate = gates.withLock { gates in
        let gate = gates[exchange.request.target] ?? ManualGate(exchange.request.target)
        gates[exchange.request.target] = gate
        return gate
      }
      try representation.serve(exchange, Representation.Behaviour(.stall(after: end, gate)))
    }
  }

  func url(_ number: Int) -> String { origin.url("/\(number)") }

  func open(_ number: Int) { gates.withLock { $0["/\(number)"] }?.open() }

  /// How often an object was asked for.
  func requests(_ number: Int) -> Int { origin.requests.count { $0.target == "/\(number)" } }
}
