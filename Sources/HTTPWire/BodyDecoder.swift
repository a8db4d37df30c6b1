// Reads bodies (RFC 9112 §6, §7).

public import HTTPMessage

/// Takes octets in pieces of any size and hands out the content in them. Not usable after an error.
public struct BodyDecoder: Sendable {
  private enum State {
    case length(remaining: UInt64)
    case untilClose
    case chunked(ChunkedDecoder)
    case complete
    /// An error has been thrown: never to be taken for an end.
    case failed
  }

  private var state: State

  /// The trailer section of a chunked body once it is complete, without the fields that end at this hop and those
  /// that say where a message goes or ends: in a trailer nobody may heed them (RFC 9110 §6.5.1).
  public private(set) var trailers = Fields()

  public init(framing: BodyFraming, limits: ChunkLimits = .standard) {
    switch framing {
    case .none, .length(0): state = .complete
    case .length(let length): state = .length(remaining: length)
    case .chunked: state = .chunked(ChunkedDecoder(limits: limits))
    case .untilClose: state = .untilClose
    }
  }

  /// True when the body has ended; a body that ends with the connection does so only at `endOfInput()`.
  public var isComplete: Bool {
    switch state {
    case .complete: true
    case .length, .untilClose, .chunked, .failed: false
    }
  }

  /// The octets that are still to come, where that is known.
  public var remaining: UInt64? {
    switch state {
    case .complete: 0
    case .length(let remaining): remaining
    case .untilClose, .chunked, .failed: nil
    }
  }

  /// Takes octets up to the end of the body, or all, and calls `piece` with each run of content in them. Returns how
  /// many it took. Throws a `WireError` for a bad chunk or trailer, and what `piece` throws.
  public mutating func decode(_ input: RawSpan, _ piece: (RawSpan) throws -> Void) throws -> Int {
    switch state {
    case .complete, .failed: return 0
    case .untilClose:
      if input.byteCount > 0 { try piece(input) }
      return input.byteCount
    case .length(let remaining):
      let count = Int(min(remaining, UInt64(input.byteCount)))
      if count > 0 { try piece(input.extracting(0..<count)) }
      let rest = remaining - UInt64(count)
      state = rest == 0 ? .complete : .length(remaining: rest)
      return count
    case .chunked(var decoder):
      // So the decoder is the only owner of what it collects, and a throw leaves no state that looks like an end.
      state = .failed
      let taken = try decoder.decode(input, piece)
      if let found = decoder.trailers {
        trailers = found
        state = .complete
      } else {
        state = .chunked(decoder)
      }
      return taken
    }
  }

  /// To be called when the input has ended. Throws `truncated` unless that is a proper end.
  public mutating func endOfInput() throws(WireError) {
    switch state {
    case .complete: break
    case .untilClose: state = .complete
    case .length(let remaining): throw .truncated("\(remaining) bytes before the end of the body")
    case .chunked: throw .truncated("before the last chunk")
    case .failed: throw .truncated("in a body that was refused")
    }
  }
}
