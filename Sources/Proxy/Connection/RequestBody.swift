// The body of a client's request, read as far and as fast as whoever takes it wants.

import Configuration
import EventLoop
import HTTPMessage
import HTTPWire

/// A request body in progress (RFC 9112 §6). Bound to its worker's loop.
final class RequestBody {
  let framing: BodyFraming
  private let stream: ByteStream
  private var floor: RateFloor
  private var decoder: BodyDecoder

  init(framing: BodyFraming, limits: ChunkLimits, stream: ByteStream, floor: RateFloor) {
    self.framing = framing
    self.stream = stream
    self.floor = floor
    decoder = BodyDecoder(framing: framing, limits: limits)
  }

  var isComplete: Bool { decoder.isComplete }

  /// Trailer fields, once the body is complete.
  var trailers: Fields { decoder.trailers }

  /// Hands over what has come, without its framing; false once the body is complete.
  func read(_ piece: (RawSpan) -> Void) async throws -> Bool {
    if decoder.isComplete { return false }
    let start = ContinuousClock.now
    var count = 0
    let more = try await stream.read(deadline: floor.deadline) { input in
      count = input.byteCount
      return try decoder.decode(input) { piece($0) }
    }
    floor.received(count, after: (ContinuousClock.now - start).inSeconds)
    if !more { try decoder.endOfInput() }
    return !decoder.isComplete
  }
}
