// What somebody sees who opens the proxy's own address instead of using it as a proxy.

import HTTPMessage

/// Answers for requests that name the proxy itself (origin-form, RFC 9112 §3.2.1).
enum HelpPage {
  /// The page; any other path than `/` is an error, since a client that asks for it has misunderstood.
  static func page(path: String, listeningOn address: String) -> ErrorPage {
    let help =
      "This is a Larder caching proxy. Set http_proxy=http://\(address) (or your program's HTTP proxy setting) "
      + "and ask for http:// addresses; it does not serve pages of its own."
    return ErrorPage(status: path == "/" ? 200 : 400, reason: help)
  }
}
