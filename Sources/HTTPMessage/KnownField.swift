// The field names this program has a word for, and how the bytes of a name are recognised as one of them.

/// The number of a field name we name; `none` for all others.
enum KnownField: UInt8, CaseIterable {
  case none
  case accept
  case acceptEncoding
  case acceptRanges
  case age
  case allow
  case authorization
  case cacheControl
  case cacheStatus
  case connection
  case contentEncoding
  case contentLength
  case contentLocation
  case contentMD5
  case contentRange
  case contentType
  case date
  case digest
  case etag
  case expect
  case expires
  case host
  case ifMatch
  case ifModifiedSince
  case ifNoneMatch
  case ifRange
  case ifUnmodifiedSince
  case keepAlive
  case lastModified
  case location
  case maxForwards
  case pragma
  case proxyAuthenticate
  case proxyAuthenticationInfo
  case proxyAuthorization
  case proxyConnection
  case range
  case reprDigest
  case retryAfter
  case server
  case setCookie
  case te
  case trailer
  case transferEncoding
  case upgrade
  case userAgent
  case vary
  case via
  case warning
  case cdnCacheControl
  case surrogateControl
  case cookie
  case referer
  case origin
  case acceptLanguage
  case contentLanguage
  case contentDisposition
  case forwarded
  case xForwardedFor
  case contentDigest
}

extension KnownField {
  /// The usual spellings, in the order of the cases.
  static let names: [FieldName] = [
    FieldName(known: .none, ""),
    .accept,
    .acceptEncoding,
    .acceptRanges,
    .age,
    .allow,
    .authorization,
    .cacheControl,
    .cacheStatus,
    .connection,
    .contentEncoding,
    .contentLength,
    .contentLocation,
    .contentMD5,
    .contentRange,
    .contentType,
    .date,
    .digest,
    .etag,
    .expect,
    .expires,
    .host,
    .ifMatch,
    .ifModifiedSince,
    .ifNoneMatch,
    .ifRange,
    .ifUnmodifiedSince,
    .keepAlive,
    .lastModified,
    .location,
    .maxForwards,
    .pragma,
    .proxyAuthenticate,
    .proxyAuthenticationInfo,
    .proxyAuthorization,
    .proxyConnection,
    .range,
    .reprDigest,
    .retryAfter,
    .server,
    .setCookie,
    .te,
    .trailer,
    .transferEncoding,
    .upgrade,
    .userAgent,
    .vary,
    .via,
    .warning,
    .cdnCacheControl,
    .surrogateControl,
    .cookie,
    .referer,
    .origin,
    .acceptLanguage,
    .contentLanguage,
    .contentDisposition,
    .forwarded,
    .xForwardedFor,
    .contentDigest,
  ]

  /// The field that these octets name, whatever their case.
  static func recognise(_ name: RawSpan) -> KnownField {
    table.look(up: name)
  }

  private static let table = Table()

  /// Open addressing over a hash of length, first and last octet: most names are found at the first probe.
  private struct Table {
    private var slots = [KnownField](repeating: .none, count: 256)
    private var usual: [[UInt8]] = []
    private var lowercased: [[UInt8]] = []

    init() {
      for known in KnownField.allCases {
        let name = KnownField.names[Int(known.rawValue)].spelling.lowercased()
        usual.append(Array(KnownField.names[Int(known.rawValue)].spelling.utf8))
        lowercased.append(Array(name.utf8))
        guard known != .none, let first = name.utf8.first, let last = name.utf8.last else { continue }
        var slot = Table.hash(name.utf8.count, first, last)
        while slots[slot] != .none { slot = (slot + 1) & 255 }
        slots[slot] = known
      }
    }

    private static func hash(_ count: Int, _ first: UInt8, _ last: UInt8) -> Int {
      (count &* 29 &+ Int(first) &* 7 &+ Int(last) &* 53) & 255
    }

    func look(up name: RawSpan) -> KnownField {
      let count = name.byteCount
      guard count > 0 else { return .none }
      var slot = Table.hash(count, ASCII.lowercased(name.byte(at: 0)), ASCII.lowercased(name.byte(at: count - 1)))
      while slots[slot] != .none {
        let number = Int(slots[slot].rawValue)
        if isSpelled(name, usual[number]) || matches(name, lowercased[number]) { return slots[slot] }
        slot = (slot + 1) & 255
      }
      return .none
    }

    private func isSpelled(_ name: RawSpan, _ usual: [UInt8]) -> Bool { name.isEqual(to: usual.span.bytes) }

    private func matches(_ name: RawSpan, _ candidate: [UInt8]) -> Bool {
      guard name.byteCount == candidate.count else { return false }
      for offset in 0..<candidate.count where ASCII.lowercased(name.byte(at: offset)) != candidate[offset] {
        return false
      }
      return true
    }
  }
}

extension FieldName {
  public static let accept = FieldName(known: .accept, "Accept")
  public static let acceptEncoding = FieldName(known: .acceptEncoding, "Accept-Encoding")
  public static let acceptRanges = FieldName(known: .acceptRanges, "Accept-Ranges")
  public static let age = FieldName(known: .age, "Age")
  public static let allow = FieldName(known: .allow, "Allow")
  public static let authorization = FieldName(known: .authorization, "Authorization")
  public static let cacheControl = FieldName(known: .cacheControl, "Cache-Control")
  public static let cacheStatus = FieldName(known: .cacheStatus, "Cache-Status")
  public static let connection = FieldName(known: .connection, "Connection")
  public static let contentEncoding = FieldName(known: .contentEncoding, "Content-Encoding")
  public static let contentLength = FieldName(known: .contentLength, "Content-Length")
  public static let contentLocation = FieldName(known: .contentLocation, "Content-Location")
  public static let contentMD5 = FieldName(known: .contentMD5, "Content-MD5")
  public static let contentRange = FieldName(known: .contentRange, "Content-Range")
  public static let contentType = FieldName(known: .contentType, "Content-Type")
  public static let date = FieldName(known: .date, "Date")
  public static let digest = FieldName(known: .digest, "Digest")
  public static let etag = FieldName(known: .etag, "ETag")
  public static let expect = FieldName(known: .expect, "Expect")
  public static let expires = FieldName(known: .expires, "Expires")
  public static let host = FieldName(known: .host, "Host")
  public static let ifMatch = FieldName(known: .ifMatch, "If-Match")
  public static let ifModifiedSince = FieldName(known: .ifModifiedSince, "If-Modified-Since")
  public static let ifNoneMatch = FieldName(known: .ifNoneMatch, "If-None-Match")
  public static let ifRange = FieldName(known: .ifRange, "If-Range")
  public static let ifUnmodifiedSince = FieldName(known: .ifUnmodifiedSince, "If-Unmodified-Since")
  public static let keepAlive = FieldName(known: .keepAlive, "Keep-Alive")
  public static let lastModified = FieldName(known: .lastModified, "Last-Modified")
  public static let location = FieldName(known: .location, "Location")
  public static let maxForwards = FieldName(known: .maxForwards, "Max-Forwards")
  public static let pragma = FieldName(known: .pragma, "Pragma")
  public static let proxyAuthenticate = FieldName(known: .proxyAuthenticate, "Proxy-Authenticate")
  public static let proxyAuthenticationInfo = FieldName(known: .proxyAuthenticationInfo, "Proxy-Authentication-Info")
  public static let proxyAuthorization = FieldName(known: .proxyAuthorization, "Proxy-Authorization")
  public static let proxyConnection = FieldName(known: .proxyConnection, "Proxy-Connection")
  public static let range = FieldName(known: .range, "Range")
  public static let reprDigest = FieldName(known: .reprDigest, "Repr-Digest")
  public static let retryAfter = FieldName(known: .retryAfter, "Retry-After")
  public static let server = FieldName(known: .server, "Server")
  public static let setCookie = FieldName(known: .setCookie, "Set-Cookie")
  public static let te = FieldName(known: .te, "TE")
  public static let trailer = FieldName(known: .trailer, "Trailer")
  public static let transferEncoding = FieldName(known: .transferEncoding, "Transfer-Encoding")
  public static let upgrade = FieldName(known: .upgrade, "Upgrade")
  public static let userAgent = FieldName(known: .userAgent, "User-Agent")
  public static let vary = FieldName(known: .vary, "Vary")
  public static let via = FieldName(known: .via, "Via")
  public static let warning = FieldName(known: .warning, "Warning")
  public static let cdnCacheControl = FieldName(known: .cdnCacheControl, "CDN-Cache-Control")
  public static let surrogateControl = FieldName(known: .surrogateControl, "Surrogate-Control")
  public static let cookie = FieldName(known: .cookie, "Cookie")
  public static let referer = FieldName(known: .referer, "Referer")
  public static let origin = FieldName(known: .origin, "Origin")
  public static let acceptLanguage = FieldName(known: .acceptLanguage, "Accept-Language")
  public static let contentLanguage = FieldName(known: .contentLanguage, "Content-Language")
  public static let contentDigest = FieldName(known: .contentDigest, "Content-Digest")
  public static let contentDisposition = FieldName(known: .contentDisposition, "Content-Disposition")
  public static let forwarded = FieldName(known: .forwarded, "Forwarded")
  public static let xForwardedFor = FieldName(known: .xForwardedFor, "X-Forwarded-For")
}
