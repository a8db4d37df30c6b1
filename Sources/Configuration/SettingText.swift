// Texts of sizes, times, shares and ports, read and written.

/// Reads and writes the texts that settings and command line flags are made of.
public enum SettingText {
  /// Bytes from `20G`: a whole number, and K, M, G or T for powers of 1024 (`KiB` and so on mean the same).
  ///
  /// `20GB` is refused, because it may mean either.
  public static func parseSize(_ text: String) -> UInt64? {
    guard let (number, unit) = numberAndUnit(text) else { return nil }
    let shift: Int
    switch unit.uppercased() {
    case "": shift = 0
    case "K", "KIB": shift = 10
    case "M", "MIB": shift = 20
    case "G", "GIB": shift = 30
    case "T", "TIB": shift = 40
    default: return nil
    }
    let (product, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
    return overflow ? nil : product
  }

  /// The shortest text that `parseSize` reads as `bytes`.
  public static func formatSize(_ bytes: UInt64) -> String {
    for (unit, shift) in [("T", 40), ("G", 30), ("M", 20), ("K", 10)] where bytes != 0 {
      if bytes.trailingZeroBitCount >= shift { return "\(bytes >> UInt64(shift))\(unit)" }
    }
    return "\(bytes)"
  }

  /// A time from `250ms`, `90s`, `5m`, `1h` or `2d`; `0` needs no unit.
  public static func parseDuration(_ text: String) -> Duration? {
    guard let (number, unit) = numberAndUnit(text) else { return nil }
    let milliseconds: UInt64
    switch unit {
    case "ms": milliseconds = 1
    case "s": milliseconds = 1_000
    case "m": milliseconds = 60_000
    case "h": milliseconds = 3_600_000
    case "d": milliseconds = 86_400_000
    case "" where number == 0: milliseconds = 0
    default: return nil
    }
    let (product, overflow) = number.multipliedReportingOverflow(by: milliseconds)
    // A hundred years is more than any setting means, and far from where arithmetic on times overflows.
    guard !overflow, product <= 36_525 * 86_400_000 else { return nil }
    return .milliseconds(Int64(product))
  }

  /// The shortest text that `parseDuration` reads as `duration`, which is rounded to milliseconds.
  public static func formatDuration(_ duration: Duration) -> String {
    let milliseconds = duration / .milliseconds(1)
    let whole = Int64(milliseconds.rounded())
    for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] as [(String, Int64)] {
      // 60s rather than 1m: people compare short times in seconds.
      let isPlain = unit == "s" || whole >= 5 * size || (unit != "m" && whole >= size)
      if whole % size == 0, isPlain { return "\(whole / size)\(unit)" }
    }
    return "\(whole)ms"
  }

  /// A share from 0 to 1 from `98%` or `12.5%`.
  public static func parseFraction(_ text: String) -> Double? {
    guard text.hasSuffix("%") else { return nil }
    let number = text.dropLast()
    let isDecimal = number.utf8.allSatisfy {
      ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")) || $0 == UInt8(ascii: ".")
    }
    guard isDecimal, number.utf8.count <= 8, let percent = Double(number), percent <= 100 else { return nil }
    return percent / 100
  }

  /// The text that `parseFraction` reads as `fraction`, to a ten-thousandth of a percent.
  public static func formatFraction(_ fraction: Double) -> String {
    let percent = (fraction * 1_000_000).rounded() / 10_000
    return percent == percent.rounded() ? "\(Int(percent))%" : "\(percent)%"
  }

  /// `yes` or `no`, with YAML's other spellings.
  public static func parseFlag(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "on": true
    case "no", "false", "off": false
    default: nil
    }
  }

  /// A number in decimal digits only; nil when it is too large.
  static func digits(_ text: some StringProtocol) -> UInt64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
      return nil
    }
    return UInt64(text)
  }

  /// A port number.
  static func port(_ text: some StringProtocol) -> UInt16? {
    digits(text).flatMap { UInt16(exactly: $0) }
  }

  private static func numberAndUnit(_ text: String) -> (UInt64, Substring)? {
    let number = text.prefix { $0.isASCII && $0.isNumber }
    guard let value = digits(number) else { return nil }
    return (value, text[number.endIndex...])
  }
}

extension Duration {
  /// The duration in seconds, as deadlines take it.
  public var inSeconds: Double {
    // Division of durations goes by 128-bit numbers, and every request takes a few of these.
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
