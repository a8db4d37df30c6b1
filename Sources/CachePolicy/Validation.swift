// The conditions under which a cache asks an origin about its stored responses.
public import HTTPMessage

/// The condition fields of a validation request for stored responses (RFC 9111 §4.3.1).
///
/// `If-None-Match` lists every entity tag of `stored`, and then those of the client's own `If-None-Match` (§4.3.2), so
/// that one request serves both. `If-Modified-Since` is sent for a single stored response only. Of responses that
/// are incomplete only such may be passed whose present part answers the whole request (§4.3.2).
///
/// The fields replace those of the same names in the request. Empty if nothing stored has a validator.
public func conditionalFields(for stored: [StoredResponse], client: Fields = Fields()) -> Fields {
  var result = Fields()
  var tags: [EntityTag] = []
  func add(_ tag: EntityTag) {
    if !tags.contains(tag) { tags.append(tag) }
  }
  for response in stored {
    if let tag = entityTag(of: response.fields) { add(tag) }
  }
  if !tags.isEmpty, case .tags(let own) = EntityTagList.parse(client, .ifNoneMatch) { own.forEach(add) }
  let list = tags.map { Array($0.fieldValue.bytes) }.joined(separator: [ASCII.comma, ASCII.space])
  if !tags.isEmpty, let value = FieldValue(bytes: list) { result.append(.ifNoneMatch, value) }
  // The value goes back as it came: origins compare octets (RFC 9110 §13.1.3).
  if stored.count == 1, lastModified(of: stored[0].fields, now: stored[0].responseTime) != nil,
    let value = stored[0].fields.first(.lastModified)
  {
    result.append(.ifModifiedSince, value)
  }
  return result
}
