// The proxy's own error answers: short, as HTML or plain text, with the request's identifier.

import HTTPMessage

/// An answer that the proxy itself gives instead of a response.
struct ErrorPage {
  let status: Int
  /// What was found and what was expected, in words.
  let reason: String
  var fields = Fields()

  init(status: Int, reason: String, fields: Fields = Fields()) {
    self.status = status
    self.reason = reason
    self.fields = fields
  }

  /// The head, without framing, and the body in the form that `Accept` prefers (RFC 9110 §12.5.1).
  func rendered(for request: Fields, identifier: String) -> (head: ResponseHead, body: [UInt8]) {
    var head = ResponseHead(status: status, fields: fields)
    head.fields.set(.cacheControl, "no-store")
    let title = "\(status) \(head.reason)"
    let body: String
    if prefersHTML(request) {
      head.fields.set(.contentType, "text/html; charset=utf-8")
      body = """
        <!doctype html><html><head><meta charset="utf-8"><title>\(title)</title></head>
        <body><h1>\(title)</h1><p>\(Self.escaped(reason))</p>
        <p><small>Larder, request \(identifier)</small></p></body></html>

        """
    } else {
      head.fields.set(.contentType, "text/plain; charset=utf-8")
      body = "\(title)\n\(reason)\nLarder, request \(identifier)\n"
    }
    return (head, Array(body.utf8))
  }

  /// Text as HTML shows it; what a client sent must never become markup.
  static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case let other: result.append(other)
      }
    }
    return result
  }
}
