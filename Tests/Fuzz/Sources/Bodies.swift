// Chunked bodies: however they arrive their content is the same, and what is written is read back.

import HTTPMessage
import HTTPWire

private struct Decoded: Equatable {
  var content: [UInt8] = []
  var trailers = Fields()
  var isComplete = false
  var taken = 0
  var error: WireError?
}

func fuzzChunkedBody(_ input: [UInt8]) {
  let whole = decode(input, step: input.count)
  must(whole == decode(input, step: 1), "octet by octet it is another body")
  must(whole == decode(input, step: 5), "in pieces it is another body")
  must(whole.error == nil || !whole.isComplete, "an error that looks like an end")
  guard whole.isComplete else { return }
  // What comes behind the body is not touched.
  let pipelined = decode(Array(input[..<whole.taken]) + Array("GET / HTTP/1.1\r\n\r\n".utf8), step: 4096)
  must(pipelined == whole, "what follows a body changes it")
  var written: [UInt8] = []
  if !whole.content.isEmpty {
    written += ChunkedCoding.chunkHeader(whole.content.count) + whole.content + ChunkedCoding.chunkEnd
  }
  written += ChunkedCoding.lastChunk(trailers: whole.trailers)
  // Each of the eight lines may have got the space that was not there.
  let again = decode(written, step: 4096, trailerBytes: 512 + 8)
  must(again.isComplete && again.taken == written.count, "a written body has another end: \(again)")
  must(again.content == whole.content && again.trailers == whole.trailers, "a written body is read as another")
  for name: FieldName in [.contentLength, .transferEncoding, .host, .connection, .trailer] {
    must(!whole.trailers.contains(name), "a trailer that says where a message ends or goes")
  }
}

private func decode(_ input: [UInt8], step: Int, trailerBytes: Int = 512) -> Decoded {
  var decoder = BodyDecoder(
    framing: .chunked, limits: ChunkLimits(extensionBytes: 64, trailerBytes: trailerBytes, trailerCount: 8))
  var result = Decoded()
  var start = 0
  while start < input.count, !decoder.isComplete {
    let piece = Array(input[start..<min(input.count, start + step)])
    do {
      let taken = try decoder.decode(piece.span.bytes) { bytes in
        must(bytes.byteCount > 0, "an empty piece")
        bytes.withUnsafeBytes { result.content.append(contentsOf: $0) }
      }
      must(taken <= piece.count && (decoder.isComplete || taken == piece.count), "octets are left over")
      result.taken += taken
      start += taken
    } catch {
      // How much of the content came before the error depends on the pieces.
      result.content = []
      result.taken = 0
      result.error = error as? WireError
      must(result.error != nil && !decoder.isComplete, "an error of another kind, or an end")
      return result
    }
  }
  result.isComplete = decoder.isComplete
  result.trailers = decoder.trailers
  if !result.isComplete { must((try? decoder.endOfInput()) == nil, "a cut body looks complete") }
  return result
}
