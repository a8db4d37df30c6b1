// Judges the answer to an upstream request that carried a Range.
public import HTTPMessage

/// What one upstream exchange was asked for, and what is known of the representation it must continue.
public struct PartialExpectation: Sendable {
  /// What the bytes must fit to be combined with what is stored.
  public struct Stored: Sendable {
    /// The validator the request was made under (`If-Match` or `If-Unmodified-Since`).
    public var validator: Validator
    /// The representation's length, nil while unknown.
    public var total: UInt64?
    /// The `Content-Encoding` of the stored response, nil where it has none.
    public var coding: FieldValue?

    /// The facts of one stored representation.
    public init(validator: Validator, total: UInt64?, coding: FieldValue?) {
      self.validator = validator
      self.total = total
      self.coding = coding
    }
  }

  /// The bytes the Range field named; `upper` is `UInt64.max` where it had no end ("a-").
  public var asked: ByteSpan
  /// What the answer continues; nil when nothing is stored, so that any version is as good.
  public var stored: Stored?

  /// An exchange that asked for `asked` to continue `stored`.
  public init(asked: ByteSpan, stored: Stored?) {
    self.asked = asked
    self.stored = stored
  }
}

/// What to do with the answer.
public enum PartialVerdict: Equatable, Sendable {
  /// A good 206: its body is exactly these bytes.
  case proceed(ByteSpan, total: UInt64?)
  /// A good 206 that ends before what was asked does: store it and ask for the rest.
  case shorter(ByteSpan, total: UInt64?)
  /// A 200 of the same representation: its body is the whole, from byte 0.
  case wholeFromZero(total: UInt64?)
  /// There is another version by now: what is stored is superseded.
  case changed(ChangeReason)
  /// A 416 that does not contradict what is known; `total` as it says.
  case unsatisfied(total: UInt64?)
  /// A 206 that must not be stored.
  case wrong(PartialFault)
  /// The origin overloaded or broken for the moment (408, 425, 429, 5xx): to be asked again later.
  case retryLater(status: Int)
  /// Any other status: an answer to the request, but no bytes of this representation.
  case refused(status: Int)
}

/// Why the stored representation is not the current one.
public enum ChangeReason: String, Equatable, Sendable {
  /// The origin answered 412.
  case preconditionFailed = "precondition-failed"
  /// The answer carries another validator, or a 200 none.
  case validator
  /// The answer states another total length.
  case total
  /// The whole came in another content coding.
  case coding
}

/// Why a 206 is refused (design rule 5).
public enum PartialFault: String, Equatable, Sendable {
  /// No Content-Range, several, or one that cannot be read.
  case badContentRange = "bad-content-range"
  /// Several parts although one range was asked.
  case multipart
  /// Begins elsewhere than asked.
  case wrongStart = "wrong-start"
  /// Ends later than asked.
  case wrongEnd = "wrong-end"
  /// No total although bytes are to be combined.
  case unknownTotal = "unknown-total"
  /// Content-Length does not fit Content-Range.
  case lengthMismatch = "length-mismatch"
  /// No strong validator although bytes are to be combined.
  case missingValidator = "missing-validator"
  /// Another Content-Encoding than the stored bytes have.
  case coding
}

/// Judges the head of an answer to a Range request, before its body is read.
public enum PartialCheck {
  /// What `head` means for an exchange that expected `expectation`; `now` is the time the head came (dates need it).
  public static func judge(
    _ head: ResponseHead, expected expectation: PartialExpectation, now: Timestamp
  ) -> PartialVerdict {
    switch head.status {
    case 206: judgePartial(head.fields, expectation, now)
    case 200: judgeWhole(head.fields, expectation, now)
    case 412: expectation.stored == nil ? .refused(status: 412) : .changed(.preconditionFailed)
    case 416: judgeUnsatisfied(head.fields, expectation, now)
    case 408, 425, 429, 500...599: .retryLater(status: head.status)
    default: .refused(status: head.status)
    }
  }

  private static func judgePartial(
    _ fields: Fields, _ expectation: PartialExpectation, _ now: Timestamp
  ) -> PartialVerdict {
    // RFC 9110 §15.3.7.2: a server must not send multipart in answer to a request for a single range, nor state a
    // Content-Range with it; where both are there, the bytes may be those of the frame.
    if let type = fields.first(.contentType), isMultipart(type) {
      return .wrong(.multipart)
    }
    guard fields.count(of: .contentRange) == 1, let value = fields.first(.contentRange),
      case .satisfied(let first, let last, let total) = ContentRange.parse(value)
    else { return .wrong(.badContentRange) }
    if let stored = expectation.stored {
      if let known = stored.total, let total, known != total { return .changed(.total) }
      switch compare(fields, stored.validator, now) {
      case .same: break
      case .other: return .changed(.validator)
      case .missing: return .wrong(.missingValidator)
      }
      guard total != nil else { return .wrong(.unknownTotal) }
      // §15.3.7: under If-Match every representation field comes along, so a missing coding is another coding.
      guard fields.combined(.contentEncoding) == stored.coding else { return .wrong(.coding) }
    }
    let span = ByteSpan(first, last + 1)
    guard span.lower == expectation.asked.lower else { return .wrong(.wrongStart) }
    guard span.upper <= expectation.asked.upper else { return .wrong(.wrongEnd) }
    if let length = fields.first(.contentLength), length.decimal != span.count { return .wrong(.lengthMismatch) }
    // An open end, or one beyond the last byte, is met by the last byte there is.
    let end = min(expectation.asked.upper, total ?? .max)
    return span.upper < end && end != .max ? .shorter(span, total: total) : .proceed(span, total: total)
  }

  private static func judgeWhole(
    _ fields: Fields, _ expectation: PartialExpectation, _ now: Timestamp
  ) -> PartialVerdict {
    let total = fields.first(.contentLength)?.decimal
    guard let stored = expectation.stored else { return .wholeFromZero(total: total) }
    if let known = stored.total, let total, known != total { return .changed(.total) }
    guard compare(fields, stored.validator, now) == .same else { return .changed(.validator) }
    guard fields.combined(.contentEncoding) == stored.coding else { return .changed(.coding) }
    return .wholeFromZero(total: total)
  }

  private static func judgeUnsatisfied(
    _ fields: Fields, _ expectation: PartialExpectation, _ now: Timestamp
  ) -> PartialVerdict {
    // RFC 9110 §8.8: the validator it may have is the current one. That the condition was looked at before the range (§14.2)
    // is what the rest of it rests on, but caches on the way may ignore If-Match (§13.1.1).
    if let stored = expectation.stored, compare(fields, stored.validator, now) == .other { return .changed(.validator) }
    guard let value = fields.first(.contentRange), case .unsatisfied(let total) = ContentRange.parse(value) else {
      return .unsatisfied(total: nil)
    }
    if let known = expectation.stored?.total, known != total { return .changed(.total) }
    return .unsatisfied(total: total)
  }

  private enum Comparison { case same, other, missing }

  /// Whether the answer's fields carry the same strong validator; only a strong one ever says "same".
  private static func compare(_ fields: Fields, _ stored: Validator, _ now: Timestamp) -> Comparison {
    switch stored {
    case .strongTag(let tag):
      guard let value = fields.first(.etag) else { return .missing }
      guard let answered = EntityTag.parse(value) else { return .other }
      return answered.strongMatches(tag) ? .same : .other
    case .strongDate(let date):
      guard let value = fields.first(.lastModified) else { return .missing }
      return HTTPDate.parse(value, now: now) == date ? .same : .other
    case .weakTag, .weakDate, .none:
      return .missing
    }
  }

  private static func isMultipart(_ type: FieldValue) -> Bool {
    type.string.lowercased().hasPrefix("multipart/byteranges")
  }
}
