// What a request's Accept-Encoding says of the two forms that a response can be given here: gzip-coded and as it is.
internal import HTTPMessage

/// The weights of gzip and of identity in a request (RFC 9110 §12.5.3), in thousandths.
struct AcceptedCodings: Equatable {
  /// 0 where the client does not accept gzip.
  var gzip: Int
  /// 0 where the client does not accept content without a coding; nil where nothing names it, which accepts it too.
  var identity: Int?

  /// Nil for a request without the field: then any coding is acceptable, and none is asked for.
  init?(_ request: Fields) {
    guard request.contains(.acceptEncoding) else { return nil }
    var gzip: Int?
    var identity: Int?
    var other: Int?
    for member in request.listMemberBytes(.acceptEncoding) {
      // A weight that is none says nothing of its coding.
      guard let (name, weight) = AcceptedCodings.read(member) else { continue }
      if AcceptedCodings.isGzip(name) {
        gzip = max(gzip ?? 0, weight)
      } else if ASCII.equalIgnoringCase(name, "identity".utf8) {
        identity = max(identity ?? 0, weight)
      } else if name.elementsEqual("*".utf8) {
        other = max(other ?? 0, weight)
      }
    }
    self.gzip = gzip ?? other ?? 0
    // "*;q=0" refuses identity where nothing names it; "*" with a weight does not prefer it.
    self.identity = identity ?? (other == 0 ? 0 : nil)
  }

  /// RFC 9110 §8.4.1.3: x-gzip is the same as gzip.
  static func isGzip(_ name: ArraySlice<UInt8>) -> Bool {
    ASCII.equalIgnoringCase(name, "gzip".utf8) || ASCII.equalIgnoringCase(name, "x-gzip".utf8)
  }

  private static func read(_ member: ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, weight: Int)? {
    let parts = member.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    guard let name = parts.first.map(ASCII.trimmed) else { return nil }
    var weight = 1000
    for part in parts.dropFirst().map(ASCII.trimmed) where !part.isEmpty {
      guard let found = PreferenceList.weight(part) else { return nil }
      weight = found
    }
    return (name, weight)
  }
}
