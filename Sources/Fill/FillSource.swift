// What a fill asks upstream with: the target and the fields of the request that began it, and of the stored response.

public import HTTPMessage
public import Spans
public import Upstream

/// The target of a fill and its request fields, without the conditionals and the Range of any client.
public struct FillSource: Sendable {
  public let target: TargetURI
  /// End-to-end fields as they go upstream, `Host` and `Via` among them.
  public let fields: Fields

  /// - Parameter fields: the forwarded request's fields; its own conditionals and `Range` are left out here.
  public init(target: TargetURI, fields: Fields) {
    self.target = target
    var fields = fields
    fields.remove(Self.ofClients)
    self.fields = fields
  }

  private static let ofClients = FieldNameSet([
    .range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
  ])

  /// Where the target is served.
  public var origin: Origin { Origin(target) }

  /// The request for part of a representation under its validator; for all of it where `span` is nil.
  ///
  /// `If-Match` takes a strong tag only (RFC 9110 §13.1.1); a strong date goes as `If-Unmodified-Since`.
  public func request(for span: ByteSpan?, under validator: Validator) -> UpstreamRequest {
    var fields = fields
    if let span {
      let range: ByteRange =
        span.upper == .max ? .from(span.lower) : .bounded(first: span.lower, last: span.upper - 1)
      fields.set(.range, range.fieldValue)
      switch validator {
      case .strongTag(let tag): fields.set(.ifMatch, tag.fieldValue)
      case .strongDate(let date): fields.set(.ifUnmodifiedSince, HTTPDate.format(date))
      case .weakTag, .weakDate, .none: break
      }
    }
    return UpstreamRequest(
      origin: Origin(target),
      head: RequestHead(method: .get, target: .origin(target.pathAndQuery), version: .http11, fields: fields))
  }
}

/// What a fill must know of the stored response.
public struct FillResponse {
  /// Its `Content-Encoding`, which every partial answer must repeat.
  public let coding: FieldValue?
  /// Whether its `Accept-Ranges` has `bytes` (RFC 9110 §14.3).
  public let statesRanges: Bool
  /// Whether the rest can be asked for where an exchange ends early.
  public let isResumable: Bool

  public init(_ fields: Fields, isResumable: Bool) {
    coding = fields.combined(.contentEncoding)
    statesRanges = fields.first(.acceptRanges)?.string.lowercased() == "bytes"
    self.isResumable = isResumable
  }
}
