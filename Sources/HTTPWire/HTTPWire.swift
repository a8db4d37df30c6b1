// HTTPWire: the octets of HTTP/1.0 and 1.1: heads and bodies in and out, strictly by RFC 9112, without any I/O.

public import HTTPMessage

/// True when the sender of a message with these fields leaves the connection open after it (RFC 9112 §9.3): HTTP/1.1
/// unless it says `close`, HTTP/1.0 only when it says `keep-alive`.
public func keepsConnectionOpen(_ version: HTTPVersion, _ fields: Fields) -> Bool {
  guard fields.contains(.connection) else { return version == .http11 }
  if fields.hasListMember(.connection, "close") { return false }
  switch version {
  case .http11: return true
  case .http10: return fields.hasListMember(.connection, "keep-alive")
  }
}

extension RequestHead {
  /// True when a proxy that read this request may keep the connection open. RFC 9112 §9.3 takes `keep-alive` of an
  /// HTTP/1.0 request from a proxy: the option may have been passed on by one that didn't know it.
  public var keepsConnectionOpen: Bool { version == .http11 && HTTPWire.keepsConnectionOpen(version, fields) }
}

extension ResponseHead {
  /// True when the server that sent this response leaves the connection open after it.
  public var keepsConnectionOpen: Bool { HTTPWire.keepsConnectionOpen(version, fields) }
}
