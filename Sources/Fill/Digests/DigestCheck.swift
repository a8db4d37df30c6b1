// Compares completed representations with the digests that their origins stated.

public import CachePolicy
import Configuration
public import Diagnostics
import Digests
import HTTPMessage
public import Store

/// Counters of comparisons, shared by all workers.
public final class DigestCounters: Sendable {
  /// Representations whose digest was what the origin had stated.
  public let verified = Counter()
  /// Representations whose digest was another.
  public let mismatches = Counter()
  /// Of those, the ones that were fetched anew by themselves.
  public let refetches = Counter()
  /// Comparisons that were given up: evicted meanwhile, too many at a time, or a stop.
  public let abandoned = Counter()

  public init() {}
}

/// The comparison of completed representations with stated digests, for all workers.
///
/// A representation is compared once, when a fill ends and it is complete, however many fills, ranges and runs of the
/// program have brought it. Nobody's delivery waits for that. One that was complete when the program ended is not
/// compared afterwards: what the store gives is then checked by the store's own checksums.
public final class DigestCheck: Sendable {
  public let counters = DigestCounters()
  private let store: Store
  private let log: Log
  private let rules: StatementRules
  private let thread = DigestThread()
  private let memory = DigestMemory(seconds: 3600)

  init(store: Store, settings: Settings, log: Log) {
    self.store = store
    self.log = log
    rules = StatementRules(
      contentMD5: settings.integrity.contentMD5, objectStores: settings.integrity.objectStoreChecksums)
  }

  /// What became of a representation that a fill has completed.
  public enum Finding {
    /// It is right, or nothing can be said; it stays.
    case fine
    /// It is bad: the entry is to be removed and, where so said, fetched anew without waiting for a request.
    case bad(StoredEntry, isFetchedAnew: Bool)
  }

  /// The head of an answer that continues a fill may state what the first one did not.
  func hear(_ head: ResponseHead, of representation: Representation) {
    let stated = Statements.all(in: head.fields, content: head.status == 206 ? .part : .whole, rules: rules)
    if !stated.isEmpty { memory.hear(stated, of: representation.id) }
  }

  /// Whether anything is stated that a representation with this response could be compared with.
  public func concerns(_ response: StoredResponse, _ representation: Representation) -> Bool {
    !Statements.all(in: response.fields, rules: rules).isEmpty || !memory.heard(of: representation.id).isEmpty
  }

  /// Compares a representation whose fill has ended, if it is complete, a digest is known, and it was not done before.
  ///
  /// - Parameter key: the key that it is stored under.
  public func compare(_ representation: Representation, under key: CacheKey) async -> Finding {
    guard representation.isComplete, let entry = await entry(of: representation, key) else { return .fine }
    let stated = Statements.all(in: entry.response.fields, rules: rules) + memory.heard(of: representation.id)
    guard let wanted = Statements.strongest(of: stated), memory.begin(representation.id) else { return .fine }
    guard let found = await thread.digest(of: representation, wanted.algorithm) else {
      memory.withdraw(representation.id)
      counters.abandoned.add()
      return .fine
    }
    guard found != wanted.value else {
      counters.verified.add()
      memory.succeeded(key)
      return .fine
    }
    counters.mismatches.add()
    let consequence = memory.failed(key, wanted, found: found)
    report(key, wanted, found: found, consequence)
    // It may have been replaced while it was read.
    guard let entry = await self.entry(of: representation, key) else { return .fine }
    switch consequence {
    case .keep: return .fine
    case .fetchAnew: return .bad(entry, isFetchedAnew: true)
    case .drop: return .bad(entry, isFetchedAnew: false)
    }
  }

  /// Ends what is under way; nothing is compared afterwards. To be called before the store is closed.
  public func stop() async { await thread.stop() }

  private func entry(of representation: Representation, _ key: CacheKey) async -> StoredEntry? {
    guard !representation.isSuperseded else { return nil }
    return await store.entries(for: key).first { $0.representation === representation }
  }

  private func report(
    _ key: CacheKey, _ wanted: StatedDigest, found: [UInt8], _ consequence: DigestMemory.Consequence
  ) {
    let outcome =
      switch consequence {
      case .fetchAnew: "dropped, and fetched anew"
      case .keep: "the same as before it was fetched anew, so that the origin states a wrong digest; kept"
      case .drop: "fetched anew already, and different again; dropped"
      }
    log.warning(
      "\(key.text): its \(wanted.algorithm.rawValue) is \(Self.hexadecimal(found)) instead of "
        + "\(Self.hexadecimal(wanted.value)), as \(wanted.field) states: \(outcome)")
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
