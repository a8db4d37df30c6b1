// One line for each request, in the form the settings ask for.

import Configuration
import EventLoop
import HTTPMessage
import Proxy

/// Writes a request's record as a line of text, without its end.
struct AccessLogFormatter: Sendable {
  let format: Settings.AccessLogFormat

  func line(for record: RequestRecord) -> String {
    switch format {
    case .larder: columns(record)
    case .common: common(record)
    case .json: json(record)
    }
  }

  /// Columns separated by spaces; what may hold spaces is quoted.
  private func columns(_ record: RequestRecord) -> String {
    // By octets, since every request has one of these.
    var line: [UInt8] = []
    line.reserveCapacity(320)
    func add(_ text: String) { line.append(contentsOf: text.utf8) }
    func addSeconds(_ value: Double) {
      let thousandths = Int((max(0, value) * 1000).rounded())
      line.append(decimal: thousandths / 1000)
      line.append(UInt8(ascii: "."))
      line.append(padded: thousandths % 1000, 3)
    }
    line.append(instant: record.started)
    add(" ")
    add(record.client)
    add(" ")
    add(record.method)
    add(" ")
    add(record.target)
    add(" ")
    line.append(decimal: record.status)
    add(" ")
    line.append(decimal: record.bytes)
    add(" cache=")
    line.append(decimal: record.bytesFromCache)
    add(" upstream=")
    line.append(decimal: record.bytesFromUpstream)
    add(" ttfb=")
    if let firstByte = record.firstByte { addSeconds(firstByte) } else { add("-") }
    add(" time=")
    addSeconds(record.duration)
    add(" ")
    add(record.ending.rawValue)
    add(" ")
    add(record.identifier.description)
    add(" ")
    add(Self.quoted(record.cacheStatus))
    return String(decoding: line, as: UTF8.self)
  }

  /// The common log format, as web servers write it.
  private func common(_ record: RequestRecord) -> String {
    let request = Self.quoted("\(record.method) \(record.target) \(record.version)")
    return "\(record.client) - - [\(Self.commonDate(record.started))] \(request) \(record.status) \(record.bytes)"
  }

  private func json(_ record: RequestRecord) -> String {
    var members = [
      "\"time\":\(Self.quoted(Self.instant(record.started)))",
      "\"id\":\(Self.quoted(record.identifier.description))",
      "\"client\":\(Self.quoted(record.client))",
      "\"method\":\(Self.quoted(record.method))",
      "\"url\":\(Self.quoted(record.target))",
      "\"version\":\(Self.quoted(record.version))",
      "\"status\":\(record.status)",
      "\"bytes\":\(record.bytes)",
      "\"bytes_from_cache\":\(record.bytesFromCache)",
      "\"bytes_from_upstream\":\(record.bytesFromUpstream)",
      "\"ttfb\":\(record.firstByte.map(Self.seconds) ?? "null")",
      "\"duration\":\(Self.seconds(record.duration))",
      "\"ending\":\(Self.quoted(record.ending.rawValue))",
      "\"cache_status\":\(Self.quoted(record.cacheStatus))",
    ]
    if let agent = record.userAgent { members.append("\"user_agent\":\(Self.quoted(agent))") }
    if let referer = record.referer { members.append("\"referer\":\(Self.quoted(referer))") }
    return "{" + members.joined(separator: ",") + "}"
  }

  /// A JSON string (RFC 8259 §7): nothing a client sends can end it or the line.
  static func quoted(_ text: String) -> String {
    // Most of what is quoted needs no escapes.
    let isPlain = text.utf8.allSatisfy {
      $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    if isPlain { return "\"" + text + "\"" }
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      case _: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// Seconds with three decimals.
  static func seconds(_ value: Double) -> String {
    let thousandths = Int((max(0, value) * 1000).rounded())
    return "\(thousandths / 1000).\(padded(thousandths % 1000, 3))"
  }

  /// RFC 3339 in UTC.
  static func instant(_ time: Timestamp) -> String {
    var bytes: [UInt8] = []
    bytes.append(instant: time)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// `10/Oct/2000:13:55:36 +0000`.
  static func commonDate(_ time: Timestamp) -> String {
    let (date, second) = CalendarTime.split(time)
    var clock: [UInt8] = []
    clock.append(clock: second)
    let text = String(decoding: clock, as: UTF8.self)
    return "\(padded(date.day, 2))/\(CalendarTime.months[date.month - 1])/\(padded(date.year, 4)):\(text) +0000"
  }
}

extension [UInt8] {
  /// Appends a number of at least so many digits, with zeros on the left.
  fileprivate mutating func append(padded number: Int, _ width: Int) {
    var bound = 1
    for _ in 1..<width { bound *= 10 }
    while number < bound, bound > 1 {
      append(UInt8(ascii: "0"))
      bound /= 10
    }
    append(decimal: number)
  }

  /// Appends a second of the day as `13:55:36`.
  fileprivate mutating func append(clock second: Int) {
    append(padded: second / 3600, 2)
    append(UInt8(ascii: ":"))
    append(padded: second / 60 % 60, 2)
    append(UInt8(ascii: ":"))
    append(padded: second % 60, 2)
  }

  /// Appends a moment in the form of RFC 3339, in UTC.
  fileprivate mutating func append(instant time: Timestamp) {
    let (date, second) = CalendarTime.split(time)
    append(padded: date.year, 4)
    append(UInt8(ascii: "-"))
    append(padded: date.month, 2)
    append(UInt8(ascii: "-"))
    append(padded: date.day, 2)
    append(UInt8(ascii: "T"))
    append(clock: second)
    append(UInt8(ascii: "Z"))
  }
}

/// Pads a number with zeros on the left.
func padded(_ number: Int, _ width: Int) -> String {
  let digits = String(number)
  return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}

/// A moment as a date in the Gregorian calendar and a time of day, in UTC.
enum CalendarTime {
  static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// The date, and the second of its day.
  static func split(_ time: Timestamp) -> (date: (year: Int, month: Int, day: Int), second: Int) {
    let day = Int(time.seconds.quotientAndRemainder(dividingBy: 86_400).quotient) - (time.seconds % 86_400 < 0 ? 1 : 0)
    return (date(ofDay: day), Int(time.seconds) - day * 86_400)
  }

  /// Days are counted in eras of 400 years that begin on 1 March, so that the leap day is the last of its year.
  private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}
