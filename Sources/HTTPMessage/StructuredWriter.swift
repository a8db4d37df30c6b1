// The serialising algorithms of RFC 8941 §4.1.

/// Collects the text of a structured field; one value that can't be spelled spoils the whole.
struct StructuredWriter {
  var text = ""
  private var isSpoiled = false

  var result: FieldValue? { isSpoiled || text.isEmpty ? nil : FieldValue(text) }

  mutating func write(_ member: StructuredMember) {
    switch member {
    case .item(let item): write(item)
    case .innerList(let items, let parameters):
      text += "("
      for (index, item) in items.enumerated() {
        if index > 0 { text += " " }
        write(item)
      }
      text += ")"
      write(parameters)
    }
  }

  mutating func write(_ item: StructuredItem) {
    write(item.value)
    write(item.parameters)
  }

  mutating func write(_ parameters: [StructuredParameter]) {
    for parameter in parameters {
      text += ";"
      write(key: parameter.key)
      guard parameter.value != .boolean(true) else { continue }
      text += "="
      write(parameter.value)
    }
  }

  mutating func write(key: String) {
    let first = key.utf8.first ?? 0
    require(first &- 0x61 < 26 || first == UInt8(ascii: "*"))
    require(key.utf8.allSatisfy(StructuredReader.isKeyByte))
    text += key
  }

  private mutating func write(_ value: StructuredValue) {
    switch value {
    case .integer(let number):
      require(number.magnitude < 1_000_000_000_000_000)
      text += String(number)
    case .decimal(let thousandths):
      require(thousandths.magnitude < 1_000_000_000_000_000)
      write(thousandths: thousandths)
    case .string(let content):
      require(content.utf8.allSatisfy { $0 >= ASCII.space && $0 < 0x7F })
      text += "\""
      for character in content.unicodeScalars {
        if character == "\"" || character == "\\" { text += "\\" }
        text.unicodeScalars.append(character)
      }
      text += "\""
    case .token(let token):
      let first = token.utf8.first ?? 0
      require(ASCII.isLetter(first) || first == UInt8(ascii: "*"))
      require(token.utf8.allSatisfy(StructuredReader.isTokenByte))
      text += token
    case .bytes(let bytes): text += ":" + Base64.encode(bytes) + ":"
    case .boolean(let isTrue): text += isTrue ? "?1" : "?0"
    }
  }

  /// At least one digit after the point, and no zeros at the end beyond it.
  private mutating func write(thousandths: Int64) {
    let magnitude = thousandths.magnitude
    var fraction = String(magnitude % 1000 + 1000).dropFirst()
    while fraction.count > 1, fraction.last == "0" { fraction.removeLast() }
    text += "\(thousandths < 0 ? "-" : "")\(magnitude / 1000).\(fraction)"
  }

  private mutating func require(_ condition: Bool) {
    if !condition { isSpoiled = true }
  }
}
