// The one thread that changes the index: journal, commits, eviction, packs.
import CachePolicy
import Diagnostics
import Glibc
import HTTPMessage
import Spans
import Synchronization
import Threads

/// The work of the index thread. Everything here runs on it and may block, but not for long: commits, which wait for the
/// disk to have everything, run on a thread of their own meanwhile.
///
/// What has changed is gathered in *flushes* (some every half second): each becomes one batch, appended to the journal,
/// so that a killed process loses no more than that. *Commits* follow at longer intervals (see `Commit`), one at a time;
/// each has its own journal, which goes when it is durable. So the index never claims bytes that a loss of power could
/// take.
final class IndexThread {
  let engine: Engine
  /// The commit that is being gathered.
  var gathering: Commit
  /// The one that the commit thread has, or that failed and is to be tried again at `retryAt`.
  var inFlight: Commit?
  private var retryAt: UInt64?
  /// Why it failed, as it was logged.
  private var commitFailure: String?
  /// Whether the next commit is to follow at once.
  private var wantsCommit = false
  /// Who waits for room, and how much.
  var roomWaiters: [(bytes: UInt64, done: @Sendable (Reservation?) -> Void)] = []
  var packs: PackStore
  /// Small bodies that found no place on the disk, and when they are tried again.
  var unplaced: [Representation] = []
  var placeAgainAt: UInt64?
  var usage = UsageTable()
  private let boot: String
  private var lastBatchBytes = 0
  private var round: UInt64 = 1

  init(engine: Engine, generation: UInt64, boot: String, packs: consuming PackStore) {
    self.engine = engine
    self.boot = boot
    self.packs = packs
    gathering = Commit(generation: generation)
    engine.space.change { $0.packs = self.packs.totalSize }
  }

  /// Serves until told to stop.
  func run() {
    warmUp()
    // The store may have become smaller since it was written.
    makeRoom()
    let flushInterval = UInt64(engine.options.journalInterval * 1e9)
    let syncInterval = UInt64(engine.options.syncInterval * 1e9)
    var isStopping = false
    while true {
      let content = engine.inbox.take(changesAfter: flushInterval, deadline: nextDeadline(syncInterval))
      flush(content)
      for command in content.commands {
        switch command {
        case .flush(let done): done()
        case .commit(let done):
          gathering.waiters.append(done)
          seal(retries: true)
        case .makeRoom(let bytes, let done): roomWaiters.append((bytes, done))
        case .committed(let failure): didTry(failure, syncInterval)
        case .stop:
          isStopping = true
          placeAgainAt = placeAgainAt.map { _ in 0 }
        case .abandon: return
        }
      }
      lookAtDevice()
      makeRoom()
      if let retryAt, monotonicNanoseconds() >= retryAt { seal(retries: true) }
      let isDue = gathering.firstChange.map { monotonicNanoseconds() >= $0 + ($0 == 0 ? 0 : syncInterval) } ?? false
      if isDue || gathering.pendingBytes > 16 << 20 { seal() }
      if isStopping, inFlight == nil || retryAt != nil {
        // A commit that cannot be made would not be the next time either.
        flush(engine.inbox.takeChanges())
        if gathering.isEmpty || retryAt != nil { return }
        seal()
      }
      if inFlight == nil { reclaimPacks(atLeast: 0.5) }
    }
  }

  private func nextDeadline(_ syncInterval: UInt64) -> UInt64? {
    let commit = inFlight == nil ? gathering.firstChange.map { $0 + ($0 == 0 ? 0 : syncInterval) } : retryAt
    return [commit, placeAgainAt].compactMap { $0 }.min()
  }

  // MARK: Commits

  /// Hands the gathered commit to the commit thread; if that has one already, right after that one.
  ///
  /// - Parameter retries: whether one that has failed is tried again before its time.
  func seal(retries: Bool = false) {
    if let failed = inFlight, retryAt != nil {
      guard retries else {
        wantsCommit = true
        return
      }
      retryAt = nil
      wantsCommit = wantsCommit || !gathering.waiters.isEmpty
      return submit(failed)
    }
    guard inFlight == nil else {
      wantsCommit = true
      return
    }
    wantsCommit = false
    guard !gathering.isEmpty else {
      tell(gathering)
      return
    }
    let sealed = gathering
    gathering = Commit(generation: sealed.generation + 1)
    inFlight = sealed
    submit(sealed)
  }

  private func submit(_ commit: Commit) {
    let engine = engine
    engine.committer.submit { engine.inbox.send(.committed(failure: commit.perform(engine))) }
  }

  private func tell(_ commit: Commit) {
    let waiters = commit.waiters
    commit.waiters = []
    for done in waiters { done() }
  }

  /// The commit thread has tried the commit in flight.
  private func didTry(_ failure: String?, _ syncInterval: UInt64) {
    guard let tried = inFlight else { return }
    defer { notePending() }
    if let failure {
      // Once for each reason: it is tried again and again.
      if failure != commitFailure {
        engine.log.error("cache: committing the index failed: \(failure); nothing more is stored until it succeeds")
      }
      commitFailure = failure
      engine.isFailing.set(1)
      retryAt = monotonicNanoseconds() + syncInterval
      tell(tried)
      tell(gathering)
      return
    }
    if engine.isFailing.value != 0 {
      engine.isFailing.set(0)
      commitFailure = nil
      engine.log.info("cache: committing the index succeeds again")
    }
    engine.didCommit(tried.generation)
    inFlight = nil
    let (freed, kept) = (tried.freeing, tried.keptBytes)
    engine.space.change { account in
      account.files -= min(account.files, freed.files - min(kept, freed.files))
      account.packs -= min(account.packs, freed.packs)
    }
    var done = Operations()
    for case .body(let id, _, isRecorded: true) in tried.doomed {
      done.delete(.doomed, IndexKey.doomed(id, segment: nil))
    }
    add(done)
    tell(tried)
    if wantsCommit { seal() }
  }

  private func notePending() {
    engine.pendingBytes.set(UInt64(gathering.pendingBytes + (inFlight?.pendingBytes ?? 0)))
    engine.representationCount.set(UInt64(usage.count))
  }

  /// Removes what earlier runs had doomed.
  func finish(_ ids: [UInt64]) {
    var batch = Operations()
    for id in ids {
      let row = IndexKey.representation(id)
      batch.delete(.extents, prefix: row)
      batch.delete(.representations, row)
      batch.delete(.usage, row)
      gathering.doomed.append(.body(id, allocated: 0, isRecorded: true))
    }
    add(batch)
  }

  /// Reads the small rows: what there is, its size, its last use, its key. In the background of the first requests.
  func warmUp() {
    var rows: [(id: UInt64, allocated: UInt64, lastUse: UInt64)] = []
    var files: UInt64 = 0
    do throws(IndexError) {
      try engine.index.read { reader in
        reader.scan(.usage, from: []) { key, value in
          guard let id = IndexKey.number(key), let record = try? UsageRecord.decode(value) else { return true }
          rows.append((id, record.allocated, record.lastUse))
          files += record.allocated
          engine.keys.note(record.key)
          return true
        }
      }
    } catch {
      engine.faults.note(.indexRead, "reading the index failed: \(error.explanation)")
    }
    engine.keys.isWarm.store(true, ordering: .releasing)
    usage.load(rows)
    engine.representationCount.set(UInt64(usage.count))
    engine.space.change { $0.files += files }
    lookAtDevice()
  }

  /// Asks the file system how much it would still take.
  func lookAtDevice() {
    guard let free = engine.calls.freeBytes(at: engine.layout.root) else { return }
    let kept = min(engine.options.keepFree, engine.options.capacity / 100)
    engine.space.change { $0.deviceFree = free > kept ? free - kept : 0 }
  }

  // MARK: Flush

  /// Makes one batch of all changes and appends it to the journal.
  func flush(_ content: Inbox.Content) {
    round += 1
    engine.round.set(round)
    // As many as the last time, or a few more: a batch that grows step by step is copied again and again.
    var batch = Operations(capacity: lastBatchBytes + lastBatchBytes / 8)
    defer { lastBatchBytes = batch.bytes.count }
    for extent in content.released where extent.pack != 0 { packs.release(extent.pack, length: extent.length) }
    for deletion in content.deletions {
      delete(deletion, &batch)
      if let identity = deletion.identity { engine.registry.forget(deletion.id, identity) }
    }
    // Representations before keys: what is lost between the two is then a body without response, which eviction finds.
    flush(content.changed, &batch)
    // Behind what was stored in this round: a use is noted once in each, and may have been repeated since.
    noteUses(content.used, &batch)
    if content.hasKeys { flushKeys(&batch) }
    for (number, record) in packs.takeChanged() { batch.put(.packs, IndexKey.pack(number), record.encoded()) }
    add(batch)
  }

  /// Adds a batch to the journal and to the next commit.
  func add(_ batch: Operations) {
    defer { notePending() }
    guard !batch.isEmpty else { return }
    if gathering.firstChange == nil { gathering.firstChange = monotonicNanoseconds() }
    gathering.batches.append(batch)
    guard !gathering.journalHasHole else { return }
    do throws(SystemError) {
      if gathering.journal == nil {
        let generation = gathering.generation
        gathering.journal = try Journal(
          path: engine.layout.journal(generation), generation: generation, boot: boot, calls: engine.calls)
      }
      try gathering.journal?.append(batch)
    } catch {
      // The commit will have it, and is to come at once; a journal with a hole must not go on.
      engine.counters.writeErrors.add(1)
      engine.faults.note(.journal, "writing the journal failed: \(error.explanation)")
      gathering.journalHasHole = true
      gathering.firstChange = 0
    }
  }

  private func noteUses(_ used: [UInt64], _ batch: inout Operations) {
    let now = wallSeconds()
    for id in used where usage.contains(id) {
      _ = usage.use(id, allocated: nil)
      // Coarse on record: an hour's error in the order of eviction after a restart costs little, a row for every use
      // would cost much.
      guard usage.isRecordStale(id, now: now, seconds: 600), let representation = engine.registry.find(id) else {
        continue
      }
      representation.state.withLock { state in
        guard let key = state.key, state.phase == .stored else { return }
        let record = UsageRecord(lastUse: now, allocated: state.allocated, key: key)
        batch.put(.usage, IndexKey.representation(id), record.encoded())
      }
    }
  }
}
