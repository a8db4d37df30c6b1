// Request fields that list preferences, in the one spelling that all spellings of the same preferences share.
internal import HTTPMessage

/// A field of preferences with weights (RFC 9110 §12.5), and which of its spellings mean the same.
enum PreferenceList {
  /// Order says nothing and names have no case (RFC 9110 §12.5.2, §12.5.3).
  case unordered
  /// The same, but what follows the media range may have case (RFC 9110 §12.5.1, §8.3.1).
  case mediaRanges
  /// Between equal weights some servers prefer the first (RFC 9110 §12.5.4), so that their order is kept.
  case languages

  /// Nil for fields that are not of this kind.
  init?(_ name: FieldName) {
    switch name {
    case .acceptEncoding, PreferenceList.acceptCharset: self = .unordered
    case .accept: self = .mediaRanges
    case .acceptLanguage: self = .languages
    default: return nil
    }
  }

  private static let acceptCharset: FieldName = "Accept-Charset"

  /// One member: where its text stands in the scratch buffer, and its weight in thousandths.
  private struct Preference {
    var text: Range<Int>
    var weight = 1000
  }

  /// The members without whitespace around ";", without weights of 1, with other weights in their shortest spelling,
  /// in an order that says no more than theirs does.
  func normalised(_ members: [ArraySlice<UInt8>]) -> [UInt8] {
    var scratch: [UInt8] = []
    scratch.reserveCapacity(members.reduce(0) { $0 + $1.count })
    var preferences: [Preference] = []
    preferences.reserveCapacity(members.count)
    for member in members { preferences.append(append(member, to: &scratch)) }
    switch self {
    case .unordered, .mediaRanges:
      preferences.sort { scratch[$0.text].lexicographicallyPrecedes(scratch[$1.text]) }
    case .languages:
      // The sort is stable: members of equal weight keep their order.
      preferences.sort { $0.weight > $1.weight }
    }
    var result: [UInt8] = []
    result.reserveCapacity(scratch.count + preferences.count)
    for (index, preference) in preferences.enumerated() {
      if index > 0 { result.append(ASCII.comma) }
      result += scratch[preference.text]
    }
    return result
  }

  private func append(_ member: ArraySlice<UInt8>, to scratch: inout [UInt8]) -> Preference {
    let start = scratch.count
    var weight = 1000
    var rest = member
    var isFirst = true
    while true {
      let end = rest.firstIndex(of: PreferenceList.semicolon) ?? rest.endIndex
      let part = ASCII.trimmed(rest[..<end])
      if !isFirst, let found = PreferenceList.weight(part) {
        weight = found
      } else {
        if !isFirst { scratch.append(PreferenceList.semicolon) }
        if isFirst || self != .mediaRanges {
          for byte in part { scratch.append(ASCII.lowercased(byte)) }
        } else {
          scratch += part
        }
      }
      guard end < rest.endIndex else { break }
      rest = rest[(end + 1)...]
      isFirst = false
    }
    if weight < 1000 {
      scratch += ";q=".utf8
      scratch.append(decimal: weight)
    }
    return Preference(text: start..<scratch.count, weight: weight)
  }

  private static let semicolon = UInt8(ascii: ";")

  /// `q=0.5` in thousandths (RFC 9110 §12.4.2); nil for any other parameter and for what is no weight.
  static func weight(_ parameter: ArraySlice<UInt8>) -> Int? {
    guard parameter.count >= 3, ASCII.lowercased(parameter[parameter.startIndex]) == UInt8(ascii: "q"),
      parameter[parameter.startIndex + 1] == UInt8(ascii: "=")
    else { return nil }
    let number = parameter.dropFirst(2)
    let fraction = number.dropFirst(2)
    guard number.count <= 5, fraction.allSatisfy(ASCII.isDigit),
      number.count == 1 || number[number.startIndex + 1] == UInt8(ascii: ".")
    else { return nil }
    var thousandths = 0
    for place in 0..<3 {
      let digit = place < fraction.count ? Int(fraction[fraction.startIndex + place] - UInt8(ascii: "0")) : 0
      thousandths = thousandths * 10 + digit
    }
    switch number.first {
    case UInt8(ascii: "0"): return thousandths
    case UInt8(ascii: "1"): return thousandths == 0 ? 1000 : nil
    default: return nil
    }
  }
}
