// The parsing algorithms of RFC 8941 §4.2.

/// Takes the parts of a structured field off the front.
struct StructuredReader {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    offset += 1
    return true
  }

  private mutating func take(while isTaken: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let start = offset
    while let byte = next, isTaken(byte) { offset += 1 }
    return bytes[start..<offset]
  }

  /// What `part` gives when it takes everything but spaces at the ends.
  mutating func whole<Part>(_ part: (inout StructuredReader) -> Part?) -> Part? {
    _ = take { $0 == ASCII.space }
    guard let result = part(&self) else { return nil }
    _ = take { $0 == ASCII.space }
    return offset == bytes.count ? result : nil
  }

  mutating func list() -> [StructuredMember]? {
    var members: [StructuredMember] = []
    while next != nil {
      guard let member = member() else { return nil }
      members.append(member)
      guard continues() else { return nil }
    }
    return members
  }

  mutating func dictionary() -> [StructuredEntry]? {
    var entries: [StructuredEntry] = []
    while next != nil {
      guard let key = key() else { return nil }
      let member: StructuredMember
      if take(UInt8(ascii: "=")) {
        guard let found = self.member() else { return nil }
        member = found
      } else {
        guard let parameters = parameters() else { return nil }
        member = .item(StructuredItem(.boolean(true), parameters))
      }
      let entry = StructuredEntry(key, member)
      if let earlier = entries.firstIndex(where: { $0.key == key }) {
        entries[earlier] = entry
      } else {
        entries.append(entry)
      }
      guard continues() else { return nil }
    }
    return entries
  }

  /// Between members: a comma that another member follows, or the end.
  private mutating func continues() -> Bool {
    _ = take(while: ASCII.isBlank)
    guard next != nil else { return true }
    guard take(ASCII.comma) else { return false }
    _ = take(while: ASCII.isBlank)
    return next != nil
  }

  private mutating func member() -> StructuredMember? {
    guard next == UInt8(ascii: "(") else { return item().map { .item($0) } }
    offset += 1
    var items: [StructuredItem] = []
    while true {
      _ = take { $0 == ASCII.space }
      if take(UInt8(ascii: ")")) { return parameters().map { .innerList(items, $0) } }
      guard let item = item(), next == ASCII.space || next == UInt8(ascii: ")") else { return nil }
      items.append(item)
    }
  }

  mutating func item() -> StructuredItem? {
    guard let value = bareItem(), let parameters = parameters() else { return nil }
    return StructuredItem(value, parameters)
  }

  private mutating func parameters() -> [StructuredParameter]? {
    var parameters: [StructuredParameter] = []
    while take(UInt8(ascii: ";")) {
      _ = take { $0 == ASCII.space }
      guard let key = key() else { return nil }
      var value = StructuredValue.boolean(true)
      if take(UInt8(ascii: "=")) {
        guard let found = bareItem() else { return nil }
        value = found
      }
      let parameter = StructuredParameter(key, value)
      if let earlier = parameters.firstIndex(where: { $0.key == key }) {
        parameters[earlier] = parameter
      } else {
        parameters.append(parameter)
      }
    }
    return parameters
  }

  private mutating func key() -> String? {
    guard let first = next, StructuredReader.isLower(first) || first == UInt8(ascii: "*") else { return nil }
    return String(decoding: take(while: StructuredReader.isKeyByte), as: UTF8.self)
  }

  private static func isLower(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 }

  static func isKeyByte(_ byte: UInt8) -> Bool {
    isLower(byte) || ASCII.isDigit(byte) || "_-.*".utf8.contains(byte)
  }

  static func isTokenByte(_ byte: UInt8) -> Bool {
    ASCII.isToken(byte) || byte == ASCII.colon || byte == UInt8(ascii: "/")
  }

  private mutating func bareItem() -> StructuredValue? {
    guard let first = next else { return nil }
    if first == UInt8(ascii: "-") || ASCII.isDigit(first) { return number() }
    if first == ASCII.quote { return string() }
    if first == ASCII.colon { return byteSequence() }
    if first == UInt8(ascii: "?") { return boolean() }
    guard ASCII.isLetter(first) || first == UInt8(ascii: "*") else { return nil }
    return .token(String(decoding: take(while: StructuredReader.isTokenByte), as: UTF8.self))
  }

  private mutating func number() -> StructuredValue? {
    let sign: Int64 = take(UInt8(ascii: "-")) ? -1 : 1
    let whole = take(while: ASCII.isDigit)
    guard (1...15).contains(whole.count), let number = ASCII.decimal(whole) else { return nil }
    guard take(UInt8(ascii: ".")) else { return .integer(sign * Int64(number)) }
    let fraction = take(while: ASCII.isDigit)
    guard whole.count <= 12, (1...3).contains(fraction.count), var thousandths = ASCII.decimal(fraction) else {
      return nil
    }
    for _ in fraction.count..<3 { thousandths *= 10 }
    return .decimal(thousandths: sign * Int64(number * 1000 + thousandths))
  }

  private mutating func string() -> StructuredValue? {
    offset += 1
    var content: [UInt8] = []
    while let byte = next {
      offset += 1
      if byte == ASCII.quote { return .string(String(decoding: content, as: UTF8.self)) }
      guard byte >= ASCII.space, byte < 0x7F else { return nil }
      guard byte == ASCII.backslash else {
        content.append(byte)
        continue
      }
      guard let escaped = next, escaped == ASCII.quote || escaped == ASCII.backslash else { return nil }
      offset += 1
      content.append(escaped)
    }
    return nil
  }

  private mutating func byteSequence() -> StructuredValue? {
    offset += 1
    let encoded = take { $0 != ASCII.colon }
    guard take(ASCII.colon) else { return nil }
    return Base64.decode(encoded).map { .bytes($0) }
  }

  private mutating func boolean() -> StructuredValue? {
    offset += 1
    if take(UInt8(ascii: "1")) { return .boolean(true) }
    return take(UInt8(ascii: "0")) ? .boolean(false) : nil
  }
}
