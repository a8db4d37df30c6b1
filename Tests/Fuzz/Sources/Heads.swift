// Heads of both directions: however they arrive they are the same, and what is written is read back.

import HTTPMessage
import HTTPWire

/// What a parser made of an input.
struct ParsedHeads<Head: Equatable>: Equatable {
  var heads: [Head] = []
  var error: WireError?
  var isEmpty = true
}

/// Small, so that the fuzzer reaches the bounds.
private let limits = HeadLimits(headBytes: 1024, fieldCount: 16, targetBytes: 256, lineBytes: 512)

func fuzzRequestHead(_ input: [UInt8]) {
  let whole = requests(input, step: input.count)
  must(whole == requests(input, step: 1), "octet by octet it is another head")
  must(whole == requests(input, step: 7), "in pieces it is another head")
  for head in whole.heads {
    let again = requests(head.serialized(), step: 4096)
    // Written, a line can be a space longer, and so too long.
    if again.error?.limit != nil { continue }
    must(again.error == nil && again.heads.count == 1, "a written head is refused: \(again)")
    must(again.heads.first == head, "a written head is read as another: \(head) \(again)")
    checkFields(head.fields)
    must(head.fields.count(of: .host) <= 1, "several Hosts")
    switch Result(catching: { () throws(WireError) in try BodyFraming.of(request: head) }) {
    case .success(.chunked): must(!head.fields.contains(.contentLength), "two framings")
    case .success(.length(let count)): must(head.fields.first(.contentLength)?.decimal == count, "another length")
    case .success(.untilClose): fail("no request ends with the connection")
    case .success(.none): must(!head.fields.contains(.transferEncoding), "a coding of no body")
    case .failure: break
    }
  }
}

func fuzzResponseHead(_ input: [UInt8]) {
  let whole = responses(input, step: input.count)
  must(whole == responses(input, step: 1), "octet by octet it is another head")
  must(whole == responses(input, step: 7), "in pieces it is another head")
  for head in whole.heads {
    let again = responses(head.serialized(), step: 4096)
    if again.error?.limit != nil { continue }
    must(again.error == nil && again.heads.count == 1, "a written head is refused: \(again)")
    must(again.heads.first?.fields == head.fields, "written fields are read as others")
    must(again.heads.first?.status == head.status, "a written status is read as another")
    checkFields(head.fields)
    for method: Method in [.get, .head, .connect] {
      switch Result(catching: { () throws(WireError) in try BodyFraming.of(response: head, to: method) }) {
      case .success(.none), .failure: break
      case .success(.chunked):
        must(!head.fields.contains(.contentLength) && head.version == .http11, "two framings")
      case .success(.length(let count)): must(head.fields.first(.contentLength)?.decimal == count, "another length")
      case .success(.untilClose):
        must(!head.fields.contains(.contentLength) && !head.fields.contains(.transferEncoding), "a framing is ignored")
      }
      _ = BodyFraming.isCertain(head)
    }
  }
}

/// No name or value that a type promises not to be there.
private func checkFields(_ fields: Fields) {
  for (name, value) in fields {
    must(FieldName(name.spelling) != nil, "a name that is no token")
    must(FieldValue(bytes: value.bytes)?.bytes == value.bytes, "a value with controls or blanks at its ends")
  }
  var forwarded = fields
  forwarded.removeHopByHop()
  for name: FieldName in [.connection, .transferEncoding, .te, .upgrade] {
    must(!forwarded.contains(name), "a field of one hop goes on")
  }
  must(forwarded.count(of: .contentLength) == fields.count(of: .contentLength), "a length is lost on the way")
}

private func requests(_ input: [UInt8], step: Int) -> ParsedHeads<RequestHead> {
  var parser = RequestHeadParser(limits: limits)
  return parse(input, step: step, { bytes throws(WireError) in try parser.feed(bytes) }, isEmpty: { parser.isEmpty })
}

private func responses(_ input: [UInt8], step: Int) -> ParsedHeads<ResponseHead> {
  var parser = ResponseHeadParser(limits: limits)
  return parse(input, step: step, { bytes throws(WireError) in try parser.feed(bytes) }, isEmpty: { parser.isEmpty })
}

/// Feeds an input in pieces of `step` octets; only the first few heads count.
private func parse<Head>(
  _ input: [UInt8], step: Int, _ feed: (RawSpan) throws(WireError) -> (taken: Int, head: Head?), isEmpty: () -> Bool
) -> ParsedHeads<Head> {
  var result = ParsedHeads<Head>()
  var start = 0
  while start < input.count {
    var piece = input[start..<min(input.count, start + step)]
    start = piece.endIndex
    while !piece.isEmpty {
      do {
        let bytes = Array(piece)
        let (taken, head) = try feed(bytes.span.bytes)
        must(taken > 0 && taken <= bytes.count, "\(taken) of \(bytes.count) octets taken")
        must(head != nil || taken == bytes.count, "without a head all is taken")
        piece = piece.dropFirst(taken)
        if let head { result.heads.append(head) }
      } catch {
        must(!error.explanation.utf8.contains { $0 < 0x20 }, "an explanation with controls")
        result.error = error
        return result
      }
    }
  }
  result.isEmpty = isEmpty()
  return result
}
