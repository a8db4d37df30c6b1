// Which stored responses an unsafe request makes invalid.
public import HTTPMessage

/// The keys of which all stored responses become invalid by this response (RFC 9111 §4.4).
///
/// Empty for safe methods and for errors. The target's own key comes first; those of Location and Content-Location
/// follow if they are of the same origin, so that no origin can invalidate another's responses.
public func invalidatedKeys(by response: ResponseHead, to method: Method, target: TargetURI) -> [CacheKey] {
  guard !method.isSafe, (200..<400).contains(response.status) else { return [] }
  var keys = [CacheKey(target)]
  for name in [FieldName.location, .contentLocation] {
    for value in response.fields.all(name) {
      guard let other = target.resolving(value.string), other.isSameOrigin(as: target) else { continue }
      let key = CacheKey(other)
      if !keys.contains(key) { keys.append(key) }
    }
  }
  return keys
}

extension TargetURI {
  /// RFC 9110 §4.3.1.
  fileprivate func isSameOrigin(as other: TargetURI) -> Bool {
    scheme == other.scheme && host == other.host && port == other.port
  }
}
