// Where a message ends (RFC 9112 §6).

public import HTTPMessage

/// How the length of a body is known.
public enum BodyFraming: Hashable, Sendable {
  case none
  case length(UInt64)
  case chunked
  /// Only of responses: the body ends with the connection.
  case untilClose

  /// The framing of a request's body (RFC 9112 §6.3). Throws where two readers could disagree.
  public static func of(request: RequestHead) throws(WireError) -> BodyFraming {
    let framing = try declared(request.version, request.fields) ?? .none
    // RFC 9110 §9.3.6: some read what follows CONNECT as content, others as the first octets of the tunnel.
    if request.method == .connect {
      guard framing == .none || framing == .length(0) else { throw .conflictingFraming("CONNECT with content") }
      return .none
    }
    return framing
  }

  /// The framing of a final or interim response to a request with this method. Throws where the end is in doubt.
  public static func of(response: ResponseHead, to method: Method) throws(WireError) -> BodyFraming {
    if method == .head || response.isInterim || response.status == 204 || response.status == 304 { return .none }
    if method == .connect, (200..<300).contains(response.status) { return .none }
    return try declared(response.version, response.fields) ?? .untilClose
  }

  /// Whether everybody reads the end of this response, for which `of(response:to:)` gave a framing, in the same place.
  /// A response that has no content by its status or its request (RFC 9112 §6.3 (1)) may announce some all the same;
  /// what comes behind it is in doubt then, and its connection is not to be used again.
  public static func isCertain(_ response: ResponseHead) -> Bool {
    let announced: BodyFraming?
    do {
      announced = try declared(response.version, response.fields)
    } catch {
      return false
    }
    // RFC 9110 §8.6, RFC 9112 §6.1: neither field may stand in these; in answers to HEAD and in 304 they may.
    guard response.isInterim || response.status == 204 else { return true }
    return announced == nil || announced == .length(0)
  }

  /// What Transfer-Encoding and Content-Length say; nil where there is neither.
  private static func declared(_ version: HTTPVersion, _ fields: Fields) throws(WireError) -> BodyFraming? {
    guard fields.contains(.transferEncoding) else {
      return try ContentLength.parse(fields).get().map { .length($0) }
    }
    if fields.contains(.contentLength) { throw .conflictingFraming("both Transfer-Encoding and Content-Length") }
    guard version == .http11 else { throw .conflictingFraming("Transfer-Encoding in an HTTP/1.0 message") }
    try checkTransferCoding(fields)
    return .chunked
  }

  /// Throws unless `chunked`, and nothing else, is applied once (RFC 9112 §6.1).
  private static func checkTransferCoding(_ fields: Fields) throws(WireError) {
    let isSingleLine = fields.count(of: .transferEncoding) == 1
    if isSingleLine, fields.first(.transferEncoding)?.equalsIgnoringCase("chunked") == true { return }
    let codings = fields.listMembers(.transferEncoding).map { $0.lowercased() }
    if let place = codings.firstIndex(of: "chunked"), place < codings.count - 1 {
      throw .conflictingFraming("Transfer-Encoding with 'chunked' before its end")
    }
    if let unknown = codings.first(where: { $0 != "chunked" }) { throw .unknownTransferCoding(shown(unknown)) }
    throw .conflictingFraming("Transfer-Encoding with empty members")
  }
}

/// The Content-Length field (RFC 9110 §8.6).
enum ContentLength {
  /// The number, nil without a field. Several values are one when they are the same digits.
  static func parse(_ fields: Fields) -> Result<UInt64?, WireError> {
    guard let first = fields.first(.contentLength) else { return .success(nil) }
    // As it is nearly always: one line of digits.
    if fields.count(of: .contentLength) == 1, let number = first.decimal, number <= UInt64(Int64.max) {
      return .success(number)
    }
    var agreed: ArraySlice<UInt8>?
    for value in fields.all(.contentLength) {
      for part in value.bytes.split(separator: ASCII.comma, omittingEmptySubsequences: false) {
        let digits = ASCII.trimmed(part)
        if digits.isEmpty { return .failure(.badContentLength("an empty value")) }
        if let bad = digits.first(where: { !ASCII.isDigit($0) }) {
          return .failure(.badContentLength("\(ASCII.description(bad)) in it"))
        }
        if let agreed, agreed != digits {
          return .failure(.conflictingFraming("several different Content-Length values"))
        }
        agreed = digits
      }
    }
    guard let agreed else { return .success(nil) }
    guard let number = ASCII.decimal(agreed), number <= UInt64(Int64.max) else {
      return .failure(.badContentLength("more than 63 bits"))
    }
    return .success(number)
  }
}
