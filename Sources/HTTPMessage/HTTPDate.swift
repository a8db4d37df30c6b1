// Dates in fields (RFC 9110 §5.6.7).

/// Reads the three formats of HTTP-date and writes the preferred one. Names are read without regard to case, as
/// RFC 9111 §4.2 asks of caches; a weekday that doesn't fit its date is let pass, everything else must be exact.
public enum HTTPDate {
  /// Nil for anything that is not one of the three formats. `now` decides the century of a two-digit year: one that
  /// seems more than 50 years in the future is in the past.
  public static func parse(_ text: String, now: Timestamp) -> Timestamp? {
    usual(text.utf8Span.span.bytes) ?? parse(text.utf8, now: now)
  }

  /// The same for a field's value.
  public static func parse(_ value: FieldValue, now: Timestamp) -> Timestamp? {
    value.bytes.withBytes(usual) ?? parse(value.bytes, now: now)
  }

  /// The same for octets.
  public static func parse(_ bytes: some Collection<UInt8>, now: Timestamp) -> Timestamp? {
    // The longest is "Wednesday, 09-Nov-94 08:49:37 GMT"; the copy also makes indices begin at 0.
    guard (24...33).contains(bytes.count) else { return nil }
    var scanner = DateScanner(bytes: Array(bytes))
    if scanner.take(oneOf: shortDays) != nil {
      return scanner.take(literal: ", ") ? preferred(&scanner) : unixForm(&scanner)
    }
    guard scanner.take(oneOf: longDays) != nil, scanner.take(literal: ", ") else { return nil }
    return obsolete(&scanner, now: now)
  }

  /// "Sun, 06 Nov 1994 08:49:37 GMT" to the letter, as nearly all dates are; nil for whatever else may be a date.
  private static func usual(_ text: RawSpan) -> Timestamp? {
    guard text.byteCount == 29, dayWords.contains(word(text, 0)), let month = monthWords.firstIndex(of: word(text, 8)),
      text.byte(at: 3) == ASCII.comma, text.byte(at: 4) == ASCII.space, text.byte(at: 7) == ASCII.space,
      text.byte(at: 11) == ASCII.space, text.byte(at: 16) == ASCII.space, text.byte(at: 19) == ASCII.colon,
      text.byte(at: 22) == ASCII.colon, text.byte(at: 25) == ASCII.space, word(text, 26) == zoneWord,
      let day = twoDigits(text, 5), let century = twoDigits(text, 12), let year = twoDigits(text, 14),
      let hour = twoDigits(text, 17), hour < 24, let minute = twoDigits(text, 20), minute < 60,
      let second = twoDigits(text, 23), second <= 60
    else { return nil }
    return timestamp(century * 100 + year, month, day, hour * 3600 + minute * 60 + second)
  }

  private static func twoDigits(_ text: RawSpan, _ place: Int) -> Int? {
    let (tens, ones) = (text.byte(at: place), text.byte(at: place + 1))
    return ASCII.isDigit(tens) && ASCII.isDigit(ones) ? Int(tens - 0x30) * 10 + Int(ones - 0x30) : nil
  }

  /// Three letters as one number.
  private static func word(_ text: RawSpan, _ place: Int) -> UInt32 {
    UInt32(text.byte(at: place)) << 16 | UInt32(text.byte(at: place + 1)) << 8 | UInt32(text.byte(at: place + 2))
  }

  private static func words(_ texts: [StaticString]) -> [UInt32] {
    texts.map { text in text.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } } }
  }

  private static let dayWords = words(shortDays)
  private static let monthWords = words(months)
  private static let zoneWord = words(["GMT"])[0]

  /// "Sun, 06 Nov 1994 08:49:37 GMT" after the comma.
  private static func preferred(_ scanner: inout DateScanner) -> Timestamp? {
    guard let day = scanner.takeNumber(digits: 2), scanner.take(literal: " "),
      let month = scanner.take(oneOf: months), scanner.take(literal: " "),
      let year = scanner.takeNumber(digits: 4), scanner.take(literal: " "),
      let time = scanner.takeTime(), scanner.take(literal: " GMT"), scanner.isAtEnd
    else { return nil }
    return timestamp(year, month, day, time)
  }

  /// "Sunday, 06-Nov-94 08:49:37 GMT" after the comma.
  private static func obsolete(_ scanner: inout DateScanner, now: Timestamp) -> Timestamp? {
    guard let day = scanner.takeNumber(digits: 2), scanner.take(literal: "-"),
      let month = scanner.take(oneOf: months), scanner.take(literal: "-"),
      let short = scanner.takeNumber(digits: 2), scanner.take(literal: " "),
      let time = scanner.takeTime(), scanner.take(literal: " GMT"), scanner.isAtEnd
    else { return nil }
    let today = civil(fromDays: now.seconds.floorDivided(by: 86400))
    var year = today.year - (today.year % 100) + short
    // Candidates of this century and the next; the latest that is at most 50 years ahead is meant.
    while year + 100 <= today.year + 50 { year += 100 }
    while let candidate = timestamp(year, month, day, time), candidate > now + fiftyYears {
      year -= 100
    }
    return timestamp(year, month, day, time)
  }

  /// In seconds, a year being 365.2425 days.
  private static let fiftyYears: Int64 = 1_577_847_600

  /// "Sun Nov  6 08:49:37 1994" after the weekday.
  private static func unixForm(_ scanner: inout DateScanner) -> Timestamp? {
    guard scanner.take(literal: " "), let month = scanner.take(oneOf: months), scanner.take(literal: " ") else {
      return nil
    }
    let day = scanner.take(literal: " ") ? scanner.takeNumber(digits: 1) : scanner.takeNumber(digits: 2)
    guard let day, scanner.take(literal: " "), let time = scanner.takeTime(), scanner.take(literal: " "),
      let year = scanner.takeNumber(digits: 4), scanner.isAtEnd
    else { return nil }
    return timestamp(year, month, day, time)
  }

  /// The date in IMF-fixdate form. Years are held within 0000–9999, the only ones it can spell.
  public static func format(_ moment: Timestamp) -> FieldValue {
    let seconds = min(max(moment.seconds, -62_167_219_200), 253_402_300_799)
    let days = seconds.floorDivided(by: 86400)
    let time = Int(seconds - days * 86400)
    let date = civil(fromDays: days)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(29)
    // 1970-01-01 was a Thursday, and 4 in a week that begins on Sunday.
    let weekday = Int(((days + 4) % 7 + 7) % 7)
    append(shortDays[weekday], to: &bytes)
    bytes.append(", ")
    appendTwoDigits(date.day, to: &bytes)
    bytes.append(ASCII.space)
    append(months[date.month - 1], to: &bytes)
    bytes.append(ASCII.space)
    appendTwoDigits(date.year / 100, to: &bytes)
    appendTwoDigits(date.year % 100, to: &bytes)
    bytes.append(ASCII.space)
    appendTwoDigits(time / 3600, to: &bytes)
    bytes.append(ASCII.colon)
    appendTwoDigits(time / 60 % 60, to: &bytes)
    bytes.append(ASCII.colon)
    appendTwoDigits(time % 60, to: &bytes)
    bytes.append(" GMT")
    return FieldValue(checked: bytes[...])
  }

  private static func append(_ word: StaticString, to bytes: inout [UInt8]) {
    word.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  private static func appendTwoDigits(_ number: Int, to bytes: inout [UInt8]) {
    bytes.append(UInt8(truncatingIfNeeded: number / 10) + 0x30)
    bytes.append(UInt8(truncatingIfNeeded: number % 10) + 0x30)
  }

  private static let shortDays: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let longDays: [StaticString] = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]
  private static let months: [StaticString] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Nil where the month has no such day. `month` counts from 0.
  private static func timestamp(_ year: Int, _ month: Int, _ day: Int, _ time: Int) -> Timestamp? {
    let isLeap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
    let length =
      switch month {
      case 1: isLeap ? 29 : 28
      case 3, 5, 8, 10: 30
      default: 31
      }
    guard (1...length).contains(day) else { return nil }
    return Timestamp(seconds: daysFromCivil(year, month + 1, day) * 86400 + Int64(time))
  }

  /// Days since 1970-01-01 in the Gregorian calendar; years are counted from March so that the leap day comes last.
  private static func daysFromCivil(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
    let shifted = Int64(month <= 2 ? year - 1 : year)
    let era = shifted.floorDivided(by: 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(fromDays days: Int64) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = shifted.floorDivided(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    let month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
    return (Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0), month, day)
  }
}

extension Int64 {
  /// Division that rounds towards minus infinity.
  fileprivate func floorDivided(by divisor: Int64) -> Int64 {
    self >= 0 ? self / divisor : (self + 1) / divisor - 1
  }
}

/// Takes the parts of a date off the front.
private struct DateScanner {
  let bytes: [UInt8]
  var offset = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }

  mutating func take(literal: StaticString) -> Bool {
    let end = offset + literal.utf8CodeUnitCount
    guard end <= bytes.count, literal.withUTF8Buffer({ ASCII.equalIgnoringCase(bytes[offset..<end], $0) }) else {
      return false
    }
    offset = end
    return true
  }

  /// The place of the word found. A word that goes on with a letter is not taken ("Sun" in "Sunday").
  mutating func take(oneOf words: [StaticString]) -> Int? {
    for (index, word) in words.enumerated() {
      let end = offset + word.utf8CodeUnitCount
      guard end < bytes.count, !ASCII.isLetter(bytes[end]), take(literal: word) else { continue }
      return index
    }
    return nil
  }

  mutating func takeNumber(digits: Int) -> Int? {
    guard offset + digits <= bytes.count, let number = ASCII.decimal(bytes[offset..<offset + digits]) else {
      return nil
    }
    offset += digits
    return Int(number)
  }

  /// "08:49:37" as seconds of the day; 60 is a leap second and counts as the next one.
  mutating func takeTime() -> Int? {
    guard let hour = takeNumber(digits: 2), hour < 24, take(literal: ":"),
      let minute = takeNumber(digits: 2), minute < 60, take(literal: ":"),
      let second = takeNumber(digits: 2), second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }
}
