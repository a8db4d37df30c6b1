// Who gets a stored response with the gzip coding taken off or put on, and what its fields are then.
import CachePolicy
import HTTPMessage
import Testing

@Suite struct Negotiation {
  struct Row: Sendable {
    let section: String
    let request: [String]
    let lines: [String]
    let expected: ServedForm
    var method = Method.get
    var target = "/"
    var status = 200
    var rules = CodingRules()
    var isComplete = true
    var length: UInt64? = 100_000

    init(_ section: String, _ request: [String], _ lines: [String], _ expected: ServedForm) {
      self.section = section
      self.request = request
      self.lines = lines
      self.expected = expected
    }

    func with(_ change: (inout Row) -> Void) -> Row {
      var row = self
      change(&row)
      return row
    }
  }

  static let gzip = ["Content-Encoding: gzip", "Content-Type: text/plain", "ETag: \"a\""]
  static let plain = ["Content-Type: text/plain", "ETag: \"a\""]
  static let refuses = ["Accept-Encoding: identity"]

  static let decoding: [Row] = [
    Row("12.5.3 no field: any coding", [], gzip, .stored),
    Row("12.5.3 empty: none", ["Accept-Encoding:"], gzip, .decoded),
    Row("12.5.3 identity only", refuses, gzip, .decoded),
    Row("12.5.3 others only", ["Accept-Encoding: br, deflate, zstd"], gzip, .decoded),
    Row("12.5.3 q=0", ["Accept-Encoding: gzip;q=0"], gzip, .decoded),
    Row("12.5.3 q=0.000", ["Accept-Encoding: gzip; q=0.000, br"], gzip, .decoded),
    Row("12.4.2 Q in upper case", ["Accept-Encoding: gzip;Q=0"], gzip, .decoded),
    Row("12.5.3 q=0.001", ["Accept-Encoding: gzip;q=0.001"], gzip, .stored),
    Row("12.5.3 listed", ["Accept-Encoding: gzip"], gzip, .stored),
    Row("12.5.3 case", ["Accept-Encoding: GZip"], gzip, .stored),
    Row("8.4.1.3 x-gzip", ["Accept-Encoding: x-gzip"], gzip, .stored),
    Row("12.5.3 two lines", ["Accept-Encoding: br", "Accept-Encoding: gzip"], gzip, .stored),
    Row("12.5.3 identity preferred", ["Accept-Encoding: identity, gzip;q=0.5"], gzip, .stored),
    Row("12.5.3 star", ["Accept-Encoding: *"], gzip, .stored),
    Row("12.5.3 star q=0", ["Accept-Encoding: identity, *;q=0"], gzip, .decoded),
    Row("12.5.3 star does not reach what is named", ["Accept-Encoding: gzip;q=0, *"], gzip, .decoded),
    Row("12.5.3 named in spite of the star", ["Accept-Encoding: gzip, *;q=0"], gzip, .stored),
    Row("12.5.3 identity refused too", ["Accept-Encoding: br, identity;q=0"], gzip, .stored),
    Row("12.5.3 all refused", ["Accept-Encoding: *;q=0"], gzip, .stored),
    Row("12.4.2 a weight that is none", ["Accept-Encoding: gzip;q=high"], gzip, .decoded),
    Row("8.4.1.3 stored x-gzip", refuses, ["Content-Encoding: X-GZIP"], .decoded),
    Row("8.4 another coding", refuses, ["Content-Encoding: br"], .stored),
    Row("8.4 two codings", refuses, ["Content-Encoding: deflate, gzip"], .stored),
    Row("8.4 two lines", refuses, ["Content-Encoding: gzip", "Content-Encoding: gzip"], .stored),
    Row("8.4 no coding", refuses, plain, .stored),
    Row("9111 4.1", refuses, gzip + ["Vary: Accept-Encoding"], .stored),
    Row("9111 4.1 case", refuses, gzip + ["Vary: accept-encoding"], .stored),
    Row("9111 4.1 list", refuses, gzip + ["Vary: Origin, Accept-Encoding"], .stored),
    Row("9111 4.1 lines", refuses, gzip + ["Vary: Origin", "Vary: Accept-Encoding"], .stored),
    Row("9111 4.1 another field", refuses, gzip + ["Vary: Origin"], .decoded),
    Row("9111 5.2.2.6", refuses, gzip + ["Cache-Control: max-age=60, no-transform"], .stored),
    Row("9111 5.2.2.6 lines", refuses, gzip + ["Cache-Control: max-age=60", "Cache-Control: No-Transform"], .stored),
    Row("9111 5.2.1.6", refuses + ["Cache-Control: no-transform"], gzip, .stored),
    Row("13.1.1 names the stored one", refuses + ["If-Match: \"a\""], gzip, .stored),
    Row("14.2 a range of it", refuses + ["Range: bytes=0-9"], gzip, .decoded),
    Row("9.3.2", refuses, gzip, .decoded).with { $0.method = .head },
    Row("15.5.5", refuses, gzip, .decoded).with { $0.status = 404 },
    Row("15.3.5", refuses, gzip, .stored).with { $0.status = 204 },
    Row("not all of it is here", refuses, gzip, .decoded).with {
      $0.isComplete = false
      $0.length = nil
    },
    Row("a file", refuses, gzip, .stored).with { $0.target = "/ls-lR.gz" },
    Row("a file", refuses, gzip, .stored).with { $0.target = "http://a/b/Packages.TGZ?x=1" },
    Row("no file", refuses, gzip, .decoded).with { $0.target = "/page?file=a.gz" },
    Row("a file's type", refuses, ["Content-Encoding: x-gzip", "Content-Type: application/x-gzip"], .stored),
    Row("a file's type", refuses, ["Content-Encoding: gzip", "Content-Type: Application/X-Tar; a=b"], .stored),
  ]

  static let accepts = ["Accept-Encoding: gzip, deflate, br"]

  static let encoding: [Row] =
    [
      Row("12.5.3 listed", accepts, plain, .encoded),
      Row("12.5.3 star", ["Accept-Encoding: *"], plain, .encoded),
      Row("12.5.3 equal weights", ["Accept-Encoding: gzip, identity"], plain, .encoded),
      Row("12.5.3 preferred", ["Accept-Encoding: identity;q=0.5, gzip;q=0.6"], plain, .encoded),
      Row("12.5.3 identity preferred", ["Accept-Encoding: identity, gzip;q=0.9"], plain, .negotiated),
      Row("12.5.3 q=0", ["Accept-Encoding: gzip;q=0, br"], plain, .negotiated),
      Row("12.5.3 star q=0", ["Accept-Encoding: br, *;q=0"], plain, .negotiated),
      Row("12.5.3 no field", [], plain, .negotiated),
      Row("12.5.3 empty", ["Accept-Encoding:"], plain, .negotiated),
      Row("12.4.2 a weight that is none", ["Accept-Encoding: gzip;q=high"], plain, .negotiated),
      Row("8.4 coded", accepts, ["Content-Type: text/plain", "Content-Encoding: br"], .stored),
      Row("8.3 JSON", accepts, ["Content-Type: application/json; charset=utf-8"], .encoded),
      Row("8.3 SVG", accepts, ["Content-Type: image/svg+xml"], .encoded),
      Row("8.3 JSON of a kind", accepts, ["Content-Type: application/vnd.api+json"], .encoded),
      Row("8.3 script", accepts, ["Content-Type: application/javascript"], .encoded),
      Row("8.3 image", accepts, ["Content-Type: image/png"], .stored),
      Row("8.3 octets", accepts, ["Content-Type: application/octet-stream"], .stored),
      Row("8.3 none", accepts, ["ETag: \"a\""], .stored),
      Row("8.3 two", accepts, ["Content-Type: text/plain", "Content-Type: text/html"], .stored),
      Row("event stream", accepts, ["Content-Type: text/event-stream"], .stored),
      Row("9111 5.2.2.6", accepts, plain + ["Cache-Control: no-transform"], .stored),
      Row("9111 5.2.1.6", accepts + ["Cache-Control: no-transform"], plain, .negotiated),
      Row("14.2 range", accepts + ["Range: bytes=0-9"], plain, .negotiated),
      Row("14.2 range is for GET", accepts + ["Range: bytes=0-9"], plain, .encoded).with { $0.method = .head },
      Row("9.3.2", accepts, plain, .encoded).with { $0.method = .head },
      Row("13.1.1", accepts + ["If-Match: \"a\""], plain, .negotiated),
      Row("13.1.2 has the stored one", accepts + ["If-None-Match: \"a\""], plain, .negotiated),
      Row("13.1.2 has the other", accepts + ["If-None-Match: W/\"a;gzip\""], plain, .encoded),
      Row("13.1.2 star", accepts + ["If-None-Match: *"], plain, .encoded),
      Row("15.5.5", accepts, plain, .stored).with { $0.status = 404 },
      Row("not all of it is here", accepts, plain, .negotiated).with {
        $0.isComplete = false
        $0.length = nil
      },
      Row("small", accepts, plain, .stored).with { $0.length = 999 },
      Row("just large", accepts, plain, .encoded).with { $0.length = 1000 },
      Row("no validator", accepts, ["Content-Type: text/plain"], .encoded),
      Row("nominated", accepts, plain + ["Vary: Accept-Encoding"], .encoded),
    ].map { $0.with { $0.rules = CodingRules(encodes: true, minimum: 1000) } } + [
      Row("off by default", accepts, plain, .stored)
    ]

  @Test(arguments: decoding + encoding) func theFormFollowsFromRequestAndStoredResponse(_ row: Row) throws {
    let target: RequestTarget = row.target.hasPrefix("/") ? .origin(row.target) : .absolute(try .parse(row.target))
    let head = RequestHead(method: row.method, target: target, fields: fields(row.request))
    let form = servedForm(
      of: stored(row.lines, status: row.status), for: head, isComplete: row.isComplete, length: row.length,
      rules: row.rules)
    #expect(form == row.expected, "\(row.section): \(row.request) \(row.lines)")
  }

  private static let coded = [
    "Content-Type: text/plain", "Content-Length: 50", "Content-MD5: x", "Digest: x", "Repr-Digest: x",
    "Content-Digest: x", "Accept-Ranges: bytes", "Last-Modified: {-100}", "Cache-Control: max-age=60",
  ]

  @Test func aTransformedResponseHasATagOfItsOwnAndNothingThatWasOfOtherBytes() {
    let rows: [(ServedForm, [String], tag: String?, coding: String?, vary: String)] = [
      (.decoded, ["ETag: \"a\"", "Content-Encoding: gzip"], "W/\"a;identity\"", nil, "Accept-Encoding"),
      (.decoded, ["ETag: W/\"a\"", "Content-Encoding: gzip"], "W/\"a;identity\"", nil, "Accept-Encoding"),
      (.decoded, ["Content-Encoding: x-gzip", "Vary: Origin"], nil, nil, "Origin, Accept-Encoding"),
      (.decoded, ["Content-Encoding: gzip", "ETag: unquoted"], nil, nil, "Accept-Encoding"),
      (.encoded, ["ETag: \"a\""], "W/\"a;gzip\"", "gzip", "Accept-Encoding"),
      (.encoded, ["ETag: \"\"", "Vary: Accept-Encoding"], "W/\";gzip\"", "gzip", "Accept-Encoding"),
      (.encoded, ["Vary: Origin", "Vary: Cookie"], nil, "gzip", "Origin, Cookie, Accept-Encoding"),
    ]
    for (form, lines, tag, coding, vary) in rows {
      let served = stored(Negotiation.coded + lines).served(as: form).fields
      #expect(served.combined(.etag)?.string == tag)
      #expect(served.combined(.contentEncoding)?.string == coding)
      #expect(served.combined(.vary)?.string == vary)
      #expect(served.combined(.acceptRanges)?.string == "none")
      for name: FieldName in [.contentLength, .contentMD5, .digest, .reprDigest, "Content-Digest"] {
        #expect(!served.contains(name), "\(name)")
      }
      for name: FieldName in [.contentType, .lastModified, .cacheControl] { #expect(served.contains(name), "\(name)") }
    }
  }

  @Test func theStoredFormKeepsItsFieldsAndSaysThatThereIsAnother() {
    let response = stored(Negotiation.coded + ["ETag: \"a\""])
    #expect(response.served(as: .stored) == response)
    var expected = response
    expected.fields.append(.vary, "Accept-Encoding")
    #expect(response.served(as: .negotiated) == expected)
  }

  /// RFC 9110 §13.1.2, §13.1.5: weakly comparable with itself only, and never the condition of a range.
  @Test func aDerivedTagAnswersItsOwnConditionOnly() {
    let served = stored(["ETag: \"a\"", "Content-Encoding: gzip"]).served(as: .decoded)
    let outcome = { (condition: String) in
      evaluateConditionals(of: request([condition]), against: served, now: start)
    }
    #expect(outcome("If-None-Match: W/\"a;identity\"") == .notModified)
    #expect(outcome("If-None-Match: \"x\", W/\"a;identity\"") == .notModified)
    #expect(outcome("If-None-Match: \"a\"") == .serve)
    #expect(outcome("If-Match: W/\"a;identity\"") == .passUntouched)
    let range = request(["Range: bytes=0-1", "If-Range: W/\"a;identity\""])
    #expect(evaluateIfRange(of: range, against: served, now: start) == .mismatch)
    #expect(notModifiedFields(of: served).first(.etag)?.string == "W/\"a;identity\"")
    #expect(notModifiedFields(of: served).first(.vary)?.string == "Accept-Encoding")
  }
}
