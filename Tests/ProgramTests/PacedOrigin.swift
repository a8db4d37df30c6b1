// An origin that sends each body slowly, for as long as a test wants, and tells how many it sends at a time.
import Foundation
import TestSupport
import Testing

/// Serves one body in small pieces with pauses between them: some 2 MB a second for each connection.
final class PacedOrigin: Sendable {
  let body: PatternBody
  let entityTag: String
  let fields: [(String, String)]
  private let slowFrom: Int
  /// Whether bodies are still sent slowly.
  private let isSlow: @Sendable (PacedOrigin) -> Bool
  private let state = Monitor(State())

  private struct State {
    var pieces = 0
    var running = 0
    var peak = 0
    var answered = 0
  }

  /// - Parameter slowFrom: what lies before this offset is sent as fast as it goes.
  init(
    _ body: PatternBody, entityTag: String = "\"v1\"", fields: [(String, String)] = [("Accept-Ranges", "bytes")],
    slowFrom: Int = 0, while isSlow: @escaping @Sendable (PacedOrigin) -> Bool
  ) {
    self.body = body
    self.entityTag = entityTag
    self.fields = fields
    self.slowFrom = slowFrom
    self.isSlow = isSlow
  }

  /// Pieces sent slowly so far, on all connections.
  var pieces: Int { state.withLock { $0.pieces } }
  /// Waits until so many pieces have been sent slowly.
  func waitForPieces(_ count: Int) throws {
    try state.wait(for: "\(count) slow pieces") { $0.pieces >= count ? () : nil }
  }
  /// The most bodies that were under way at one time.
  var peak: Int { state.withLock { $0.peak } }

  /// Answers with what is asked for; with the whole where `ignoresRange`.
  func serve(_ exchange: Exchange, ignoresRange: Bool = false) throws {
    let ends = exchange.request.field("Range").map { range in
      range.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    }
    var range = 0..<body.size
    var head = fields + [("ETag", entityTag), ("Cache-Control", "max-age=3600")]
    if let ends, let first = ends[0], !ignoresRange {
      range = first..<min(body.size, (ends[1] ?? body.size - 1) + 1)
      head.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.size)"))
    }
    head.append(("Content-Length", "\(range.count)"))
    try exchange.head(ends == nil || ignoresRange ? "200 OK" : "206 Partial Content", head)
    state.withLock { state in
      state.running += 1
      state.peak = max(state.peak, state.running)
    }
    defer { state.withLock { $0.running -= 1 } }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let end = min(range.upperBound, offset + Self.piece)
      try exchange.body(body.bytes(offset..<end))
      offset = end
      guard offset > slowFrom, isSlow(self) else { continue }
      state.withLock { $0.pieces += 1 }
      // Nothing is waited for here: to be slow is what this origin is for, and slowness is measured in real time.
      Thread.sleep(forTimeInterval: 0.03)
    }
  }

  static let piece = 64 << 10
}

/// Expects that exactly so many body bytes have come from upstream: nothing is missing, and nothing came twice.
func expectReceived(
  _ count: Int, _ larder: LarderProcess, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let received = try larder.metric("larder_upstream_body_bytes_total")
  #expect(received == Double(count), sourceLocation: sourceLocation)
}
