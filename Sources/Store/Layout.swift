// Where things stand in the store's directory.

/// Paths in the store's directory.
struct Layout: Sendable {
  let root: String

  init(directory: String) {
    var directory = directory
    while directory.utf8.count > 1, directory.hasSuffix("/") { directory.removeLast() }
    root = directory
  }

  /// Locked by the process that has the store open.
  var lock: String { root + "/lock" }
  var index: String { root + "/index" }
  var indexData: String { index + "/data.mdb" }
  var indexLock: String { index + "/lock.mdb" }
  var bodies: String { root + "/bodies" }
  var packs: String { root + "/packs" }

  /// Whether a name in the store's directory is one that a store gives.
  func isOwn(_ name: String) -> Bool {
    [lock, index, bodies, packs].contains(root + "/" + name) || Layout.journalGeneration(name) != nil
  }

  /// Bodies are spread over 256 directories.
  func shard(_ number: UInt8) -> String { bodies + "/" + hexadecimal(UInt64(number), digits: 2) }

  func body(_ id: UInt64) -> String {
    // The low bits differ from one to the next.
    shard(UInt8(truncatingIfNeeded: id)) + "/" + hexadecimal(id, digits: 16)
  }

  func pack(_ number: UInt32) -> String { packs + "/" + hexadecimal(UInt64(number), digits: 8) }

  func journal(_ generation: UInt64) -> String { root + "/journal-" + hexadecimal(generation, digits: 16) }

  /// The number in a journal's name, or nil when it is no journal.
  static func journalGeneration(_ name: String) -> UInt64? {
    guard name.hasPrefix("journal-") else { return nil }
    return UInt64(name.dropFirst("journal-".count), radix: 16)
  }

  private func hexadecimal(_ number: UInt64, digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}
