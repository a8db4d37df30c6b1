// Store: partial representations on disk and in memory, with an index that survives whatever stops the process.
public import CachePolicy
public import Diagnostics
import Glibc
public import HTTPMessage
import Synchronization

/// Stored responses and the bytes of their representations.
///
/// Everything may be called from any thread. Functions that are not `async` never wait for the disk, but for `open`;
/// those that are go to the store's own threads when they have to.
///
/// What it guarantees: a byte is given only if it was written and, after a restart, its checksum was right; a killed
/// process loses at most `journalInterval` of work; a loss of power at most `syncInterval`, and what is claimed
/// afterwards is there; a store that cannot be read is never wiped.
public final class Store: Sendable {
  let engine: Engine
  let opened: OpenedStore
  private let isClosed = Atomic<Bool>(false)

  init(_ opened: OpenedStore) {
    engine = opened.engine
    self.opened = opened
  }

  /// Opens the store in `options.directory`, or makes one there. Blocks, at start only; reads no data and no more of the
  /// index than a few rows. Throws why it cannot be; what it had made by then is removed.
  public static func open(_ options: StoreOptions, log: Log) throws(StoreOpenError) -> Store {
    try open(options, log: log, calls: SystemCalls(), boot: bootIdentifier())
  }

  static func open(_ options: StoreOptions, log: Log, calls: SystemCalls, boot: String) throws(StoreOpenError) -> Store
  {
    var opening = Opening(options: options, log: log, calls: calls, boot: boot)
    return Store(try opening.open())
  }

  /// Makes everything durable and lets go of the directory. Reading and writing must have ended.
  public func close() async {
    guard !isClosed.exchange(true, ordering: .relaxed) else { return }
    let opened = opened
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      // It waits for the threads that everything else runs on.
      let thread = startStoreThread("larder-close") {
        opened.end(.stop)
        continuation.resume()
      }
      pthread_detach(thread)
    }
  }

  /// Makes all that has changed durable, and returns when it is.
  public func sync() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      engine.inbox.send(.commit { continuation.resume() })
    }
  }

  // MARK: Responses

  /// All stored responses of a key, in no order. Suspends only for a key that is on the disk and not in memory.
  public func entries(for key: CacheKey) async -> [StoredEntry] {
    if let entries = entriesAtOnce(for: key) { return entries }
    let engine = engine
    return await engine.pool.run { engine.loadEntries(key) }
  }

  /// The same for a key that is in memory; nil for one that the disk has to be asked for.
  public func entriesAtOnce(for key: CacheKey) -> [StoredEntry]? {
    switch engine.keys.lookup(key) {
    case .known(let entries): entries
    case .onDisk: nil
    }
  }

  /// A new representation without bytes. Nothing of it is persisted until a response refers to it.
  public func makeRepresentation(validator: Validator, total: UInt64?) -> Representation {
    let small = UInt64(engine.options.smallBody)
    let body: Body = (total ?? 0) <= small ? .memory : .file
    let id = engine.makeID()
    return engine.registry.find(id) {
      Representation(
        id: id, validator: validator,
        state: RepresentationState(phase: .unreferenced, body: body, total: total, hasFile: false), engine: engine)
    }
  }

  /// Stores a response under a key. It replaces the one with the same nominated fields and values; if that has another
  /// representation, which no other response has, it is superseded.
  ///
  /// A representation belongs to one key, and may have several responses under it. One that is superseded or gone gets
  /// none any more: the entry is the caller's alone then, and what is stored stays as it is.
  ///
  /// - Parameter terms: what the response says of its reuse, where that has been read already.
  @discardableResult
  public func add(
    _ response: StoredResponse, for key: CacheKey, representation: Representation, terms: ReuseTerms? = nil
  ) -> StoredEntry {
    let entry = StoredEntry(key: key, response: response, representation: representation, terms: terms)
    let hash = key.hash
    guard representation.state.withLock({ $0.refer(from: hash) }) else { return entry }
    let replaced = engine.keys.put(entry)
    for old in replaced.entries where !engine.keys.refers(hash, to: old.representation) {
      engine.withdraw(old.representation)
    }
    // It may have gone before the entry was there to go with it.
    if representation.isSuperseded { _ = engine.keys.remove(hash) { $0 === entry } }
    engine.noteChange(representation)
    engine.inbox.noteKeys()
    return entry
  }

  /// Stores a response that a 304 has updated: the same representation, in the place of `entry`. Nothing is stored where
  /// that has been replaced or evicted meanwhile.
  @discardableResult
  public func update(_ entry: StoredEntry, _ response: StoredResponse) -> StoredEntry {
    let updated = add(response, for: entry.key, representation: entry.representation)
    // Other nominated values would make another variant of it: the old one goes, its bytes stay.
    if updated.variant != entry.variant {
      _ = engine.keys.remove(entry.key.hash) { $0 === entry }
    }
    return updated
  }

  /// Removes a response and others with the same representation; its bytes go after the last reader has left. Nothing if it has been replaced.
  public func remove(_ entry: StoredEntry) {
    let hash = entry.key.hash
    let removed = engine.keys.remove(hash) { $0.representation === entry.representation }
    for old in removed.entries { engine.withdraw(old.representation) }
    engine.inbox.noteKeys()
  }

  /// Removes one response and no other; its bytes go if none has them then, after the last reader has left.
  public func removeVariant(_ entry: StoredEntry) {
    let hash = entry.key.hash
    let removed = engine.keys.remove(hash) {
      $0.variant == entry.variant && $0.representation === entry.representation
    }
    for old in removed.entries where !engine.keys.refers(hash, to: old.representation) {
      engine.withdraw(old.representation)
    }
    engine.inbox.noteKeys()
  }

  /// Removes all responses of a key, also those that are only on the disk.
  public func removeAll(for key: CacheKey) {
    // What is stored after this call has a larger number, unless its representation was made before.
    let (removed, mustLoad) = engine.keys.removeAll(key, below: engine.makeID())
    for old in removed.entries { engine.withdraw(old.representation) }
    engine.inbox.noteKeys()
    guard mustLoad else { return }
    let engine = engine
    engine.pool.submit { _ = engine.loadEntries(key) }
  }

  /// Notes that a response was used, for the order of eviction. Costs next to nothing when called often.
  public func touch(_ entry: StoredEntry) {
    let round = engine.round.value
    let before = entry.representation.touchedRound.exchange(round, ordering: .relaxed)
    if before != round { engine.inbox.noteUse(entry.representation.id) }
  }

  // MARK: Space

  /// Promises space for bytes about to be written, or nil when there is no room now.
  ///
  /// Eviction keeps some room ahead; where that is too little, `makeRoom(for:)` waits for more.
  public func reserve(_ bytes: UInt64) -> Reservation? {
    guard engine.takesIn else { return nil }
    let isPromised = engine.space.reserve(bytes)
    if !isPromised || engine.space.isAboveHigh { engine.inbox.wakeForRoom() }
    return isPromised ? Reservation(space: engine.space, bytes: bytes) : nil
  }

  /// Promises space, evicting for it if need be. Nil when what could go is not enough (the rest is pinned or being
  /// written), when the file system is full, or while the index cannot be written.
  public func makeRoom(for bytes: UInt64) async -> Reservation? {
    if let reservation = reserve(bytes) { return reservation }
    guard bytes <= engine.space.capacity, engine.takesIn else { return nil }
    let reservation = await withCheckedContinuation { continuation in
      engine.inbox.send(.makeRoom(bytes) { continuation.resume(returning: $0) })
    }
    if let reservation { return reservation }
    engine.faults.note(.room, "\(StoreError.noSpace.explanation): what comes is passed on and not stored")
    return nil
  }

  /// Figures of now.
  public var statistics: StoreStatistics {
    let account = engine.space.current
    let counters = engine.counters
    var figures = StoreStatistics()
    figures.bytesStored = account.used
    figures.capacity = engine.space.capacity
    figures.bytesReserved = account.reserved
    figures.representations = Int(engine.representationCount.value)
    figures.objects = engine.keys.count
    figures.memoryTierBytes = engine.buffers.total
    figures.openFiles = engine.files.total
    figures.evictions = counters.evictions.value
    figures.evictedBytes = counters.evictedBytes.value
    figures.bytesWritten = counters.bytesWritten.value
    figures.writeErrors = counters.writeErrors.value
    figures.readErrors = counters.readErrors.value
    figures.checksumErrors = counters.checksumErrors.value
    figures.missingData = counters.missingData.value
    figures.indexErrors = engine.index.damage.count.value
    figures.commits = counters.commits.value
    figures.pendingCommitBytes = Int(engine.pendingBytes.value)
    figures.throttledWrites = counters.throttledWrites.value
    figures.packsReclaimed = counters.packsReclaimed.value
    figures.indexRowsRead = counters.indexRowsRead.value
    figures.diskReads = counters.poolReads.value
    return figures
  }
}
