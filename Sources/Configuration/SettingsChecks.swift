// Settings that are each right and wrong together.

/// Two settings that contradict each other.
struct Contradiction {
  /// The setting to name in the error, and those that it contradicts.
  let setting: String?
  let others: [String]
  let found: String
  let expected: String

  func error(source: String, line: Int?) -> SettingsError {
    SettingsError(source: source, line: line, setting: setting, found: found, expected: expected)
  }
}

extension Settings {
  /// Checks what concerns several settings at once; each alone was checked when it was set.
  ///
  /// - Throws: `SettingsError` with `source` in place of a file, for the first contradiction.
  public func validate(source: String = "settings") throws(SettingsError) {
    if let contradiction { throw contradiction.error(source: source, line: nil) }
  }

  /// The first contradiction.
  var contradiction: Contradiction? {
    if listen.isEmpty {
      return Contradiction(setting: "listen", others: [], found: "an empty list", expected: "at least one address")
    }
    for (index, address) in listen.enumerated() where address.port != 0 && listen[..<index].contains(address) {
      return Contradiction(setting: "listen", others: [], found: "\(address) twice", expected: "each address once")
    }
    if let admin, let same = listen.first(where: { admin.collides(with: $0) }) {
      return Contradiction(
        setting: "admin", others: ["listen"], found: "\(admin)", expected: "an address other than listen's \(same)")
    }
    return exceeding("cache.low_watermark", "cache.high_watermark", cache.lowWatermark > cache.highWatermark)
      ?? exceeding("cache.small_body", "cache.memory", cache.memory != 0 && cache.smallBody > cache.memory)
      ?? exceeding("fills.window", "fills.window_max", fills.window > fills.windowMax)
      ?? exceeding("fills.backoff", "fills.backoff_max", fills.backoff > fills.backoffMax)
      ?? exceeding(
        "upstream.idle_per_host", "upstream.connections_per_host",
        upstream.idlePerHost > upstream.connectionsPerHost)
      ?? exceeding("limits.target_bytes", "limits.head_bytes", limits.targetBytes > limits.headBytes)
  }

  /// The contradiction of `lesser` being more than `greater`, if it is.
  private func exceeding(_ lesser: String, _ greater: String, _ isSo: Bool) -> Contradiction? {
    guard isSo else { return nil }
    func text(_ name: String) -> String { SettingsTable.setting(named: name)?.values(self).first ?? "" }
    return Contradiction(
      setting: lesser, others: [greater], found: text(lesser), expected: "at most \(greater), which is \(text(greater))"
    )
  }
}

extension ListenAddress {
  /// Whether only one of two listeners could bind.
  fileprivate func collides(with other: ListenAddress) -> Bool {
    guard port != 0, port == other.port, addressBytes.count == other.addressBytes.count else { return false }
    return addressBytes == other.addressBytes || isUnspecified || other.isUnspecified
  }
}
