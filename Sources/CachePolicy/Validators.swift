// The best validator of a response, and when a date is a strong one.
public import HTTPMessage

/// The best validator in the fields of a response that was received at `responseTime`.
///
/// Last-Modified is strong only at least 60 seconds before Date. RFC 9110 §8.8.2.2 asks for one second, and for reason
/// to believe that clocks make no difference: the file's time and the response's time may come from two machines,
/// or from a clock that is being set. A minute (RFC 2616's number) is more than clocks of one site differ by.
/// Beside an entity tag that is weak or unreadable it is never strong: such an origin says itself that octets may
/// differ while the date does not (nginx does so when it compresses on the fly).
public func validator(of fields: Fields, responseTime: Timestamp) -> Validator {
  if let tag = entityTag(of: fields) { return tag.isWeak ? .weakTag(tag) : .strongTag(tag) }
  guard let modified = lastModified(of: fields, now: responseTime) else { return .none }
  guard !fields.contains(.etag), let value = fields.first(.date),
    let date = HTTPDate.parse(value, now: responseTime), date - modified >= strongDateInterval
  else { return .weakDate(modified) }
  return .strongDate(modified)
}

private let strongDateInterval: Int64 = 60

/// The entity tag; nil unless there is exactly one and it can be read.
func entityTag(of fields: Fields) -> EntityTag? {
  onlyValue(fields, .etag).flatMap { EntityTag.parse($0) }
}
