// How the value of one kind of setting is read, written and described.

/// The form of a setting's value: what is expected, in words, and both directions of its text.
struct SettingForm<Value: Sendable>: Sendable {
  /// What a wrong value's error says was expected; reads on from "expected".
  let expected: String
  let parse: @Sendable (String) -> Value?
  let format: @Sendable (Value) -> String
}

extension SettingForm where Value: FixedWidthInteger {
  /// A size in bytes.
  static func size(_ least: Value = 0, through most: Value = .max) -> Self {
    let bounds = bounds(least, most) { SettingText.formatSize(UInt64($0)) }
    return SettingForm(
      expected: "a size such as 20G (K, M, G and T are powers of 1024)\(bounds)",
      parse: { text in
        SettingText.parseSize(text).flatMap { Value(exactly: $0) }.flatMap { (least...most).contains($0) ? $0 : nil }
      },
      format: { SettingText.formatSize(UInt64($0)) })
  }

  /// A whole number.
  static func count(_ least: Value = 0, through most: Value = .max) -> Self {
    SettingForm(
      expected: "a whole number\(bounds(least, most) { "\($0)" })",
      parse: { text in
        SettingText.digits(text).flatMap { Value(exactly: $0) }.flatMap { (least...most).contains($0) ? $0 : nil }
      },
      format: { "\($0)" })
  }

  private static func bounds(_ least: Value, _ most: Value, _ format: (Value) -> String) -> String {
    switch (least > 0, most < .max) {
    case (false, false): ""
    case (true, false): ", at least \(format(least))"
    case (false, true): ", at most \(format(most))"
    case (true, true): ", from \(format(least)) to \(format(most))"
    }
  }
}

extension SettingForm<Duration> {
  /// A time of at least `least`.
  static func time(_ least: Duration = .zero) -> Self {
    let bound = least > .zero ? ", at least \(SettingText.formatDuration(least))" : ""
    return SettingForm(
      expected: "a time such as 250ms, 90s, 5m, 1h or 2d\(bound)",
      parse: { text in SettingText.parseDuration(text).flatMap { $0 >= least ? $0 : nil } },
      format: SettingText.formatDuration)
  }
}

extension SettingForm<Double> {
  static var fraction: Self {
    SettingForm(
      expected: "a share from 0% to 100%", parse: SettingText.parseFraction, format: SettingText.formatFraction)
  }
}

extension SettingForm<Bool> {
  static var flag: Self {
    SettingForm(expected: "yes or no", parse: SettingText.parseFlag, format: { $0 ? "yes" : "no" })
  }
}

extension SettingForm where Value: CaseIterable & RawRepresentable<String> {
  /// One of the names of an enumeration.
  static var choice: Self {
    SettingForm(
      expected: alternatives(Value.allCases.map(\.rawValue)), parse: { Value(rawValue: $0) }, format: \.rawValue)
  }
}

extension SettingForm<ListenAddress> {
  static var address: Self {
    SettingForm(
      expected: "HOST:PORT with an IP address, such as 127.0.0.1:3128, [::1]:3128 or 0.0.0.0:3128",
      parse: { ListenAddress($0) }, format: \.description)
  }
}

extension SettingForm<ListenAddress?> {
  static var addressOrOff: Self {
    let address = SettingForm<ListenAddress>.address
    return SettingForm(
      expected: "off, or \(address.expected)",
      parse: { text in text == "off" ? .some(nil) : address.parse(text).map(Optional.some) },
      format: { $0.map(address.format) ?? "off" })
  }
}

extension SettingForm<AddressBlock> {
  static var block: Self {
    SettingForm(
      expected: "a network such as 192.168.0.0/16 or fc00::/7 (with no bits set after the prefix), or one address",
      parse: { AddressBlock($0) }, format: \.description)
  }
}

extension SettingForm<String> {
  /// A path, or `auto`, which is the empty string.
  static var pathOrAuto: Self {
    SettingForm(
      expected: "a path, or auto",
      parse: { text in text == "auto" ? "" : path(text) },
      format: { $0.isEmpty ? "auto" : $0 })
  }

  /// A token that names a field (RFC 9110 §5.1).
  static var fieldName: Self {
    SettingForm(expected: "a field name such as CDN-Cache-Control", parse: token, format: { $0 })
  }

  /// A token (RFC 9110 §5.6.2), or `auto`, which is the empty string.
  static var tokenOrAuto: Self {
    SettingForm(
      expected: "a name of letters, digits and !#$%&'*+-.^_`|~ that begins with a letter, or auto",
      parse: { text in text == "auto" ? "" : token(text) },
      format: { $0.isEmpty ? "auto" : $0 })
  }
}

extension SettingForm<Settings.LogDestination> {
  static var logDestination: Self {
    SettingForm(
      expected: "stderr, or a path such as /var/log/larder.log",
      parse: { text in text == "stderr" ? .stderr : logPath(text).map { .file($0) } },
      format: { destination in
        switch destination {
        case .stderr: "stderr"
        case .file(let path): path
        }
      })
  }
}

extension SettingForm<Settings.AccessLogDestination> {
  static var accessLogDestination: Self {
    SettingForm(
      expected: "off, - for standard output, or a path such as /var/log/larder-access.log",
      parse: { text in
        switch text {
        case "off", "no", "false": .off
        case "-": .stdout
        default: logPath(text).map { .file($0) }
        }
      },
      format: { destination in
        switch destination {
        case .off: "off"
        case .stdout: "-"
        case .file(let path): path
        }
      })
  }
}

private func path(_ text: String) -> String? {
  // A NUL would silently shorten the path where it reaches the system.
  text.isEmpty || text.utf8.contains(0) ? nil : text
}

/// A bare word is none: `yes` and `stdout` were meant otherwise, and a file of such a name is `./yes`.
private func logPath(_ text: String) -> String? {
  text.contains { $0 == "/" || $0 == "." } ? path(text) : nil
}

private func token(_ text: String) -> String? {
  let marks = Set("!#$%&'*+-.^_`|~".utf8)
  // RFC 8941 §3.3.4: beginning with a letter, it is also a token of structured fields, which Cache-Status needs.
  let isToken = text.utf8.allSatisfy { byte in
    isLetter(byte) || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")) || marks.contains(byte)
  }
  return isToken && text.utf8.first.map(isLetter) == true ? text : nil
}

private func isLetter(_ byte: UInt8) -> Bool {
  (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
}

/// `a, b or c`.
private func alternatives(_ names: [String]) -> String {
  guard let last = names.last, names.count > 1 else { return names.first ?? "" }
  return names.dropLast().joined(separator: ", ") + " or " + last
}
