// The head of a final response: what it says, and how that is laid out.

import CachePolicy
import HTTPMessage
import HTTPWire

/// What a final response head says. Every response has one, so its octets are written in one piece of memory.
struct OutgoingHead {
  let status: Int
  let reason: String
  /// Whole field lines as `Fields.serialized` gives them, without those that are named below.
  let lines: [UInt8]
  /// The part that a stored response is sent of.
  var part: ContentRange?
  /// The age of a stored response, in seconds (RFC 9111 §5.1).
  var age: Int64?
  /// Our own entry in `Via`, where it is not among the lines.
  var via: FieldValue?

  /// The fields by which the recipient knows where the body ends and what becomes of the connection.
  struct Framing {
    var contentLength: UInt64?
    var isChunked = false
    var connection = Connection.unsaid
  }

  /// What `Connection` says.
  enum Connection {
    case unsaid
    case close
    case keepAlive
    /// It goes on in the protocols named.
    case upgrade(FieldValue?)
  }

  /// The octets of the head with its empty line, and where in them our member of Cache-Status stands.
  func octets(
    _ framing: Framing, _ cacheStatus: CacheStatus, cache name: CacheName
  ) -> (octets: [UInt8], ownStatus: Range<Int>) {
    var ownStatus = 0..<0
    let most =
      Self.most + reason.utf8.count + lines.count + (part == nil ? 0 : ContentRange.most) + (via?.bytes.count ?? 0)
      + cacheStatus.most(cache: name) + framing.connection.most
    let octets = [UInt8](capacity: most) { output in
      output.append(startLine: .http11, status: status, reason: reason)
      output.append(lines.span.bytes)
      if let part {
        output.append("Content-Range: ")
        part.write(to: &output)
        output.append("\r\n")
      }
      if let age {
        output.append("Age: ")
        output.append(decimal: max(0, age))
        output.append("\r\n")
      }
      if let via {
        output.append("Via: ")
        output.append(via.bytes.span.bytes)
        output.append("\r\n")
      }
      output.append("Cache-Status: ")
      let start = output.count
      cacheStatus.write(to: &output, cache: name, sent: status)
      ownStatus = start..<output.count
      output.append("\r\n")
      if let contentLength = framing.contentLength {
        output.append("Content-Length: ")
        output.append(decimal: contentLength)
        output.append("\r\n")
      }
      if framing.isChunked { output.append("Transfer-Encoding: chunked\r\n") }
      framing.connection.write(to: &output)
      output.append("\r\n")
    }
    return (octets, ownStatus)
  }

  /// The most octets of everything that has no length of its own.
  private static let most = 160
}

extension OutgoingHead.Connection {
  fileprivate var most: Int {
    switch self {
    case .unsaid, .close, .keepAlive: 32
    case .upgrade(let protocols): 64 + (protocols?.bytes.count ?? 0)
    }
  }

  fileprivate func write(to output: inout OutputSpan<UInt8>) {
    switch self {
    case .unsaid: break
    case .close: output.append("Connection: close\r\n")
    case .keepAlive: output.append("Connection: keep-alive\r\n")
    case .upgrade(let protocols):
      output.append("Connection: Upgrade\r\n")
      guard let protocols else { return }
      output.append("Upgrade: ")
      output.append(protocols.bytes.span.bytes)
      output.append("\r\n")
    }
  }
}
