// A response as the cache keeps it.
public import HTTPMessage

/// The head of a stored response and what is needed to reuse it. The body is the store's.
public struct StoredResponse: Equatable, Sendable {
  /// Never 206: a partial response is stored as an incomplete 200 (RFC 9111 §3.3).
  public var status: Int
  public var reason: String
  /// Without hop-by-hop fields and fields that may not be stored (RFC 9111 §3.1); Age is kept as it was received.
  public var fields: Fields
  /// When the request that brought or last validated it was sent.
  public var requestTime: Timestamp
  /// When the head of that response was received.
  public var responseTime: Timestamp
  /// The request fields that Vary nominates, as the request had them (RFC 9111 §4.1).
  public var nominated: [NominatedField]

  public init(
    status: Int, reason: String, fields: Fields, requestTime: Timestamp, responseTime: Timestamp,
    nominated: [NominatedField]
  ) {
    self.status = status
    self.reason = reason
    self.fields = fields
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.nominated = nominated
  }

  /// What to keep of a response that `storing` has found storable.
  ///
  /// A 206 becomes an incomplete 200 with the total length, if known, as Content-Length (RFC 9111 §3.3). Date is
  /// filled in where the origin has no clock (RFC 9110 §6.6.1).
  public init(
    storing response: ResponseHead, to request: RequestHead, requestTime: Timestamp, responseTime: Timestamp,
    rules: CacheRules = .standard
  ) {
    self.init(
      storing: response, ResponseCacheControl(response.fields, rules), to: request, requestTime: requestTime,
      responseTime: responseTime)
  }

  /// The same where the directives have been read already.
  init(
    storing response: ResponseHead, _ control: ResponseCacheControl, to request: RequestHead, requestTime: Timestamp,
    responseTime: Timestamp
  ) {
    var fields = StoredResponse.storableFields(of: response.fields, control)
    if !fields.contains(.date) { fields.append(.date, HTTPDate.format(responseTime)) }
    let isPartial = response.status == 206
    if isPartial {
      let range = fields.first(.contentRange).flatMap { ContentRange.parse($0) }
      fields.remove(.contentRange)
      fields.removeAll { name, _ in name.isOfPartsOnly }
      switch range {
      case .satisfied(_, _, .some(let total)): fields.set(.contentLength, FieldValue(total))
      case .satisfied(_, _, nil), .unsatisfied, nil: fields.remove(.contentLength)
      }
    }
    self.init(
      status: isPartial ? 200 : response.status, reason: isPartial ? "OK" : response.reason, fields: fields,
      requestTime: requestTime, responseTime: responseTime,
      nominated: NominatedField.nominated(by: response.fields, in: request.fields))
  }

  /// Whether what is missing of a body that came under `validator` can be asked for, and combined with what is there:
  /// only a strong validator lets bytes be combined (RFC 9110 §15.3.7.3), and Range is ignored where the answer without it
  /// would be anything but a 200 (§14.2). Without that, a body is fetched whole or not at all.
  public func isResumable(under validator: Validator) -> Bool { status == 200 && validator.isStrong }

  /// The fields of a response that may be stored (RFC 9111 §3.1).
  static func storableFields(of fields: Fields, _ control: ResponseCacheControl) -> Fields {
    var kept = fields
    kept.removeHopByHop()
    // A trailer section is not stored, so that nothing may announce it.
    kept.remove(.trailer)
    for name in control.unstorableFields { kept.remove(name) }
    return kept
  }

  /// The value of its Date field, or when it was received if that is missing or unreadable (RFC 9110 §6.6.1).
  public var date: Timestamp {
    fields.first(.date).flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
  }
}

/// The fields of a response that may not be stored and are yet meant for the client that has asked: those that
/// `private` and `no-cache` name (RFC 9111 §5.2.2.4, §5.2.2.7).
public func unstorableFields(of response: ResponseHead, rules: CacheRules = .standard) -> Fields {
  unstorableFields(of: response, ResponseCacheControl(response.fields, rules))
}

/// The same where `storing` has read the response already.
public func unstorableFields(of response: ResponseHead, _ terms: ReuseTerms) -> Fields {
  unstorableFields(of: response, terms.control)
}

private func unstorableFields(of response: ResponseHead, _ control: ResponseCacheControl) -> Fields {
  let names = control.unstorableFields
  var result = Fields()
  guard !names.isEmpty else { return result }
  var endToEnd = response.fields
  endToEnd.removeHopByHop()
  for name in names {
    for value in endToEnd.all(name) { result.append(name, value) }
  }
  return result
}

extension FieldName {
  /// Whether, in a 206, it speaks of the enclosed part and so of no other part nor of the whole: the digests of the
  /// content (RFC 9530 §2) and the checksums that S3 gives with a part.
  var isOfPartsOnly: Bool {
    self == .contentDigest || self == .contentMD5 || lowercased.hasPrefix("x-amz-checksum-")
  }
}
