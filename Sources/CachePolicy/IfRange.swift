// Whether a Range field counts, given the If-Range beside it.
public import HTTPMessage

/// The outcome of If-Range against the stored response that would answer.
public enum IfRangeOutcome: Equatable, Sendable {
  /// There is no If-Range, or it holds: Range counts.
  case absentOrMatches
  /// Range is to be ignored, and the whole representation served.
  case mismatch
}

/// Evaluates If-Range (RFC 9110 §13.1.5): a strong entity tag, or exactly the Last-Modified that is strong by §8.8.2.2.
public func evaluateIfRange(
  of request: RequestHead, against stored: StoredResponse, now: Timestamp
) -> IfRangeOutcome {
  // Without Range, and with another method than GET, the field is ignored.
  guard request.method == .get, request.fields.contains(.range), let value = request.fields.first(.ifRange) else {
    return .absentOrMatches
  }
  guard request.fields.count(of: .ifRange) == 1 else { return .mismatch }
  if let tag = EntityTag.parse(value) {
    return entityTag(of: stored.fields).map(tag.strongMatches) == true ? .absentOrMatches : .mismatch
  }
  guard let asked = HTTPDate.parse(value, now: now) else { return .mismatch }
  return isStrong(date: asked, in: stored) ? .absentOrMatches : .mismatch
}

/// A date may stand in for a strong entity tag beside it; beside a weak one it is not strong (see `validator(of:)`).
private func isStrong(date: Timestamp, in stored: StoredResponse) -> Bool {
  var fields = stored.fields
  if let tag = entityTag(of: fields), !tag.isWeak { fields.remove(.etag) }
  return validator(of: fields, responseTime: stored.responseTime) == .strongDate(date)
}
