// What is known of one request when it is over: the access log and the metrics are made from it.

public import EventLoop
public import HTTPMessage

/// One request, from its first byte to its end. It keeps what the request was made of: nothing is spelled out unless
/// somebody logs it.
public struct RequestRecord: Sendable {
  /// Names the request in error pages and logs.
  public let identifier: RequestIdentifier
  /// Where the request came from.
  public let peer: SocketAddress
  /// When the request's head was complete.
  public let started: Timestamp
  public let request: RequestHead
  /// The status sent; 0 where the client left before there was one.
  public var status = 0
  /// Body bytes sent to the client.
  public var bytes: UInt64 = 0
  /// Of those, bytes that this request did not have to ask upstream for.
  public var bytesFromCache: UInt64 = 0
  /// Of those, bytes that upstream was asked for by this request.
  public var bytesFromUpstream: UInt64 = 0
  /// Seconds from the request's head to the first byte of the response; nil where none was sent.
  public var firstByte: Double?
  /// Seconds from the request's head to the end of the response.
  public var duration = 0.0
  /// Our own member of Cache-Status (RFC 9211); nil where no response was sent.
  public var ownStatus: FieldValue?
  /// How the response ended.
  public var ending = Ending.complete

  init(identifier: RequestIdentifier, peer: SocketAddress, started: Timestamp, request: RequestHead) {
    self.identifier = identifier
    self.peer = peer
    self.started = started
    self.request = request
  }

  /// The client's address, without its port.
  public var client: String { peer.ip }
  public var method: String { request.method.name }
  /// The target as the client wrote it.
  public var target: String { request.target.text }
  public var version: String { request.version.text }
  public var referer: String? { request.fields.first(.referer)?.string }
  public var userAgent: String? { request.fields.first(.userAgent)?.string }
  /// `ownStatus` as text, empty where there is none.
  public var cacheStatus: String { ownStatus?.string ?? "" }

  /// How a response ended.
  public enum Ending: String, Sendable {
    case complete
    /// The client left or took nothing for too long.
    case clientGone = "client-gone"
    /// The response was cut off because what was missing of it could not be had.
    case aborted
  }
}
