// Messages that parsers have been seen to disagree about, and plain ones beside them.

/// A message whose target is `/m…`; anything that asks for `/evil` is smuggled in it.
struct AmbiguousMessage {
  let section: String
  let name: String
  let text: [UInt8]
  /// Whether Larder passes it in a form of its own, in which all read it alike, though they differ over this one.
  let isMended: Bool

  init(_ section: String, _ name: String, _ text: String, isMended: Bool = false) {
    self.section = section
    self.name = name
    self.text = Array(text.utf8)
    self.isMended = isMended
  }

  /// The bytes, with `HOST` replaced.
  func bytes(authority: String) -> [UInt8] {
    Array(String(decoding: text, as: UTF8.self).replacing("HOST", with: authority).utf8)
  }
}

enum DifferentialCorpus {
  private static let evil = "GET http://HOST/evil HTTP/1.1\r\nHost: HOST\r\n\r\n"

  /// A POST with these field lines and this body.
  private static func post(
    _ section: String, _ name: String, _ lines: String, _ body: String = "", isMended: Bool = false
  ) -> AmbiguousMessage {
    AmbiguousMessage(
      section, name, "POST http://HOST/m HTTP/1.1\r\nHost: HOST\r\n\(lines)\r\n\(body)", isMended: isMended)
  }

  private static func chunked(_ section: String, _ name: String, _ body: String, isMended: Bool = false)
    -> AmbiguousMessage
  {
    post(section, name, "Transfer-Encoding: chunked\r\n", body, isMended: isMended)
  }

  /// Two framings at once: the length ends the body behind the smuggled request, the coding before it.
  private static func both(_ name: String, _ coding: String) -> AmbiguousMessage {
    let body = "0\r\n\r\n" + evil
    return post("RFC 9112 §6.3", name, "Content-Length: \(body.utf8.count + 34)\r\n\(coding)\r\n", body)
  }

  static let messages: [AmbiguousMessage] = plain + lengths + codings + lines + chunks + targets

  private static let plain: [AmbiguousMessage] = [
    AmbiguousMessage("RFC 9112 §3", "a plain GET", "GET http://HOST/m HTTP/1.1\r\nHost: HOST\r\n\r\n"),
    post("RFC 9112 §6.3", "a plain length", "Content-Length: 5\r\n", "hello"),
    post("RFC 9112 §6.3", "no body at all", ""),
    post("RFC 9112 §6.3", "length 0", "Content-Length: 0\r\n"),
    chunked("RFC 9112 §7.1", "plain chunks", "5\r\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "several chunks", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1.2", "a trailer", "5\r\nhello\r\n0\r\nX-A: b\r\n\r\n"),
    chunked(
      "RFC 9112 §7.1", "a request within a chunk",
      "\(String(5 + 4, radix: 16))\r\nGET /evil\r\n0\r\n\r\n".replacing("/evil", with: "/good")),
    AmbiguousMessage("RFC 9112 §2.2", "an empty line before", "\r\nGET http://HOST/m HTTP/1.1\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage(
      "RFC 9110 §9.3.1", "a GET with a body",
      "GET http://HOST/m HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\n\r\nhello"),
    AmbiguousMessage(
      "RFC 9110 §9.3.5", "a DELETE with a body",
      "DELETE http://HOST/m HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\n\r\nhello"),
  ]

  private static let lengths: [AmbiguousMessage] = [
    post("RFC 9110 §8.6", "two lengths", "Content-Length: 0\r\nContent-Length: 100\r\n", evil),
    post("RFC 9110 §8.6", "two lengths, the other way", "Content-Length: 100\r\nContent-Length: 0\r\n", evil),
    post("RFC 9110 §8.6", "a list of lengths", "Content-Length: 0, 100\r\n", evil),
    post("RFC 9110 §8.6", "equal lengths", "Content-Length: 5\r\nContent-Length: 5\r\n", "hello", isMended: true),
    post("RFC 9110 §8.6", "a list of equal lengths", "Content-Length: 5, 5\r\n", "hello", isMended: true),
    post("RFC 9110 §8.6", "leading zeros", "Content-Length: 005\r\n", "hello", isMended: true),
    post("RFC 9110 §8.6", "a plus sign", "Content-Length: +5\r\n", "hello"),
    post("RFC 9110 §8.6", "a minus sign", "Content-Length: -5\r\n", "hello"),
    post("RFC 9110 §8.6", "hexadecimal", "Content-Length: 0x5\r\n", "hello"),
    post("RFC 9110 §8.6", "an underscore", "Content-Length: 1_0\r\n", "hello"),
    post("RFC 9110 §8.6", "an empty length", "Content-Length:\r\n", evil),
    post("RFC 9110 §8.6", "text behind", "Content-Length: 5 hello\r\n", "hello"),
    post("RFC 9110 §8.6", "2^64 and five", "Content-Length: 18446744073709551621\r\n", "hello"),
    post("RFC 9110 §8.6", "a vertical tab before", "Content-Length: \u{0B}5\r\n", "hello"),
    post("RFC 9110 §5.1", "an underscore in the name", "Content_Length: 5\r\n"),
  ]

  private static let codings: [AmbiguousMessage] = [
    both("length and coding", "Transfer-Encoding: chunked"),
    both("a coding in capitals", "TRANSFER-ENCODING: CHUNKED"),
    both("a tab before the coding", "Transfer-Encoding:\tchunked"),
    both("a vertical tab before it", "Transfer-Encoding: \u{0B}chunked"),
    both("a form feed behind it", "Transfer-Encoding: chunked\u{0C}"),
    both("a space before the colon", "Transfer-Encoding : chunked"),
    both("a tab before the colon", "Transfer-Encoding\t: chunked"),
    both("a folded coding", "Transfer-Encoding:\r\n chunked"),
    both("quotes", "Transfer-Encoding: \"chunked\""),
    both("a word like it", "Transfer-Encoding: xchunked"),
    both("chunked, identity", "Transfer-Encoding: chunked, identity"),
    both("identity, chunked", "Transfer-Encoding: identity, chunked"),
    both("two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
    both("a bare LF before it", "X: y\nTransfer-Encoding: chunked"),
    both("a bare CR before it", "X: y\rTransfer-Encoding: chunked"),
    both("a line that begins with a space", " Transfer-Encoding: chunked"),
    both("NUL in the name", "Transfer-Encoding\0: chunked"),
    both("NUL in the value", "Transfer-Encoding: chunked\0"),
    both("a comma before it", "Transfer-Encoding: ,chunked"),
    both("an underscore", "Transfer_Encoding: chunked"),
    post("RFC 9112 §6.1", "gzip, chunked", "Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
    post("RFC 9112 §6.1", "identity", "Transfer-Encoding: identity\r\n", evil),
    post("RFC 9112 §6.1", "chunked twice", "Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
    AmbiguousMessage(
      "RFC 9112 §6.1", "chunked in HTTP/1.0",
      "POST http://HOST/m HTTP/1.0\r\nHost: HOST\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
  ]

  private static let lines: [AmbiguousMessage] = [
    post("RFC 9112 §2.2", "bare LF everywhere", "X: y\nContent-Length: 5\n", "hello"),
    post("RFC 9112 §2.2", "a bare LF as the end", "Content-Length: 0\r\n\n" + evil),
    post("RFC 9110 §5.5", "NUL in a value", "X: a\0b\r\nContent-Length: 5\r\n", "hello"),
    post("RFC 9110 §5.1", "a space in a name", "X Y: a\r\nContent-Length: 5\r\n", "hello"),
    post("RFC 9112 §5", "no colon", "nonsense\r\nContent-Length: 5\r\n", "hello"),
    post("RFC 9112 §5", "a nameless field", ": a\r\nContent-Length: 5\r\n", "hello"),
    post("RFC 9112 §5.2", "a folded value", "X: a\r\n b\r\nContent-Length: 5\r\n", "hello"),
    post(
      "RFC 9110 §7.6.1", "Connection names the length", "Connection: Content-Length\r\nContent-Length: 5\r\n", "hello",
      isMended: true),
    post(
      "RFC 9110 §7.6.1", "Connection names the coding",
      "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n", isMended: true),
    post("RFC 9110 §5.5", "bytes beyond ASCII in a value", "X: ü\r\nContent-Length: 5\r\n", "hello"),
  ]

  private static let chunks: [AmbiguousMessage] = [
    chunked("RFC 9112 §7.1", "a size of 64 bits", "ffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "a size that overflows to 5", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "0x", "0x5\r\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "a plus sign", "+5\r\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "a space behind the size", "5 \r\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "a bare LF behind the size", "5\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "a bare LF behind the data", "5\r\nhello\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "two bytes that are no CRLF", "5\r\nhelloXX0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "a bare CR behind the size", "5\rhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1", "leading zeros", "00005\r\nhello\r\n0\r\n\r\n", isMended: true),
    chunked("RFC 9112 §7.1", "an underscore", "0_5\r\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1.1", "an extension", "5;a=b\r\nhello\r\n0\r\n\r\n", isMended: true),
    chunked(
      "RFC 9110 §5.6.3", "whitespace before an extension", "5 \t;a=b\r\nhello\r\n0 ;c\r\n\r\n", isMended: true),
    chunked("RFC 9112 §7.1.1", "a bare LF in an extension", "5;a\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1.1", "a bare CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1.1", "a quoted line feed", "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"),
    chunked("RFC 9112 §7.1.2", "a trailer without a colon", "0\r\nGET http://HOST/evil HTTP/1.1\r\n\r\n"),
    chunked("RFC 9112 §7.1.2", "a length as a trailer", "5\r\nhello\r\n0\r\nContent-Length: 0\r\n\r\n", isMended: true),
    chunked("RFC 9112 §7.1.2", "a bare LF as the end", "0\r\n\n" + evil),
  ]

  private static let targets: [AmbiguousMessage] = [
    AmbiguousMessage("RFC 9112 §3", "two spaces", "GET  http://HOST/m HTTP/1.1\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage("RFC 9112 §3", "a tab", "GET\thttp://HOST/m\tHTTP/1.1\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage("RFC 9112 §3", "a space in the target", "GET http://HOST/m n HTTP/1.1\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage("RFC 9112 §3", "a second version", "GET http://HOST/m HTTP/1.1 HTTP/1.0\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage("RFC 9112 §3", "no version", "GET http://HOST/m\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage("RFC 9112 §2.3", "HTTP/1.10", "GET http://HOST/m HTTP/1.10\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage("RFC 9112 §2.3", "http/1.1", "GET http://HOST/m http/1.1\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage("RFC 9112 §3.2", "two Hosts", "GET http://HOST/m HTTP/1.1\r\nHost: HOST\r\nHost: other\r\n\r\n"),
    AmbiguousMessage("RFC 9112 §3.2", "no Host", "GET http://HOST/m HTTP/1.1\r\n\r\n"),
    AmbiguousMessage(
      "RFC 9112 §3.2.2", "another Host", "GET http://HOST/m HTTP/1.1\r\nHost: other\r\n\r\n", isMended: true),
    AmbiguousMessage("RFC 9112 §3.2", "a fragment", "GET http://HOST/m#/evil HTTP/1.1\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage("RFC 3986 §2", "a byte beyond ASCII", "GET http://HOST/mü HTTP/1.1\r\nHost: HOST\r\n\r\n"),
    AmbiguousMessage(
      "RFC 3986 §6.2", "percent-encoding", "GET http://HOST/m%2e%2e%2fn HTTP/1.1\r\nHost: HOST\r\n\r\n", isMended: true),
    AmbiguousMessage(
      "RFC 9112 §3", "a bare LF behind the request line", "GET http://HOST/m HTTP/1.1\nHost: HOST\r\n\r\n"),
  ]
}
