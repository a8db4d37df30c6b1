// What all parts of an open store share.
import CachePolicy
import Diagnostics
import Glibc
import HTTPMessage
import Spans
import Synchronization

/// The shared parts of a store. Representations hold it, so that they work as long as anybody has one.
final class Engine: Sendable {
  let options: StoreOptions
  let layout: Layout
  let calls: SystemCalls
  let log: Log
  /// Where a failing disk is told of.
  let faults: FaultLog
  let pool: DiskPool
  /// Carries out commits, one after the other.
  let committer: DiskPool
  let index: Index
  let keys: KeyTable
  let space: Space
  let counters = Counters()
  let throttle = Throttle()
  let registry = Registry()
  let inbox = Inbox()
  let packFiles = PackFiles()
  /// Small bodies in memory, open files, loaded segments.
  let buffers: ClockQueue
  let files: ClockQueue
  let segments: ClockQueue
  /// The last commit that is on the disk.
  let committed: SharedNumber
  /// The round of the index thread: a use is noted once in each.
  let round = SharedNumber(1)
  /// Bytes of index changes that are not durable yet.
  let pendingBytes = SharedNumber(0)
  /// How many representations the index has.
  let representationCount = SharedNumber(0)
  /// 1 while commits fail: nothing more is taken in then.
  let isFailing = SharedNumber(0)
  /// 1 while small bodies cannot be written: memory must not fill with what finds no place on the disk.
  let cannotPack = SharedNumber(0)
  /// 1 once the file system has refused to give blocks before bytes are written, and to take those of a part back.
  let cannotAllocate = SharedNumber(0)
  let cannotPunch = SharedNumber(0)
  /// 1 when the store is being closed: what runs in the background is to end.
  let isEnding = SharedNumber(0)
  /// Directories with files whose names have not been synced.
  let newNames = Mutex<Set<UInt8>>([])
  private let nextID: Atomic<UInt64>

  init(
    options: StoreOptions, layout: Layout, calls: SystemCalls, log: Log, index: Index, incarnation: UInt32,
    generation: UInt64
  ) {
    self.options = options
    self.layout = layout
    self.calls = calls
    self.log = log
    faults = FaultLog(log: log)
    self.index = index
    pool = DiskPool(name: "larder-disk", threads: options.diskThreads)
    committer = DiskPool(name: "larder-commit", threads: 1)
    keys = KeyTable(costLimit: options.memoryBudget / 4)
    space = Space(
      capacity: options.capacity, high: options.highWatermark, low: options.lowWatermark,
      unpackedLimit: UInt64(max(0, options.memoryBudget / 2)))
    // Numbers are never used again: those of a lost journal neither, whose files may still be there.
    nextID = Atomic(UInt64(incarnation) << 32)
    let committed = SharedNumber(generation)
    self.committed = committed
    keys.didCommit(generation)
    buffers = ClockQueue(limit: options.memoryBudget / 2) { representation, _ in representation.dropBuffer() }
    files = ClockQueue(limit: options.openFiles) { representation, _ in representation.dropFile() }
    // An extent takes 40 bytes.
    segments = ClockQueue(limit: max(1024, options.memoryBudget / 4 / 40)) { representation, number in
      representation.dropSegment(number, committed: committed.value)
    }
  }

  func makeID() -> UInt64 { nextID.wrappingAdd(1, ordering: .relaxed).newValue }

  func didCommit(_ generation: UInt64) {
    committed.set(generation)
    keys.didCommit(generation)
  }

  // MARK: Changes of representations

  /// Puts a representation in line for the index thread if it has anything to persist.
  func noteChange(_ representation: Representation) {
    let isNew = representation.state.withLock { state -> Bool in
      guard state.phase == .stored, state.hasChanges, !state.isQueued else { return false }
      state.isQueued = true
      return true
    }
    if isNew { inbox.enqueue(representation) }
  }

  /// Notes written extents, of which the bytes from `start` on are new. `memory`: these bytes, where they are still to be
  /// put into the buffer; false, and nothing happened, if there is no buffer any more because the body has moved to a
  /// file.
  func record(
    _ representation: Representation, _ pieces: [(lower: UInt64, upper: UInt64, checksum: UInt64)],
    from start: UInt64, writer: Int, memory: UnsafeRawBufferPointer?
  ) -> Bool {
    guard let first = pieces.first, let last = pieces.last else { return true }
    var charge: Int64 = 0
    var bufferGrowth = 0
    var unpacked = 0
    var isNew = false
    let isDone = representation.state.withLock { state -> Bool in
      var moment = CoarseMoment.never
      if let memory {
        guard state.body == .memory else { return false }
        bufferGrowth = state.putIntoBuffer(memory, at: start)
        unpacked = memory.count
        state.unpacked += UInt64(unpacked)
      } else {
        moment = .now
      }
      for piece in pieces { charge += state.record(piece.lower, piece.upper, checksum: piece.checksum, at: moment) }
      state.writers[writer] = ByteSpan(first.lower, last.upper)
      if state.phase == .stored, !state.isQueued {
        state.isQueued = true
        isNew = true
      }
      return true
    }
    guard isDone else { return false }
    let (change, growth) = (charge, UInt64(unpacked))
    space.change { account in
      account.files = UInt64(max(0, Int64(account.files) + change))
      account.unpacked += growth
    }
    if bufferGrowth > 0 { buffers.enter(representation, part: 0, size: bufferGrowth) }
    if isNew { inbox.enqueue(representation) }
    if space.isUrgent { inbox.wakeForRoom() }
    return true
  }

  /// Whether the disk takes what is to be stored, as far as is known.
  var takesIn: Bool { isFailing.value == 0 && cannotPack.value == 0 }

  /// Whether bytes may be written: promised ones while the disk takes them, others while there is room as well.
  func mayWrite(_ reservation: Reservation?, _ bytes: UInt64) -> Bool {
    guard takesIn else { return false }
    if let reservation, reservation.remaining >= bytes { return true }
    return space.hasRoom
  }

  func noteWriteError(_ error: StoreError, _ representation: Representation) {
    counters.writeErrors.add(1)
    faults.note(.bodyWrite, "writing \(layout.body(representation.id)) failed: \(error.explanation)")
  }

  /// No response refers to it any more: it serves those that have it, then its data goes.
  func supersede(_ representation: Representation) {
    representation.state.withLock { if $0.phase == .stored || $0.phase == .unreferenced { $0.phase = .superseded } }
  }

  /// The same for one that responses may still refer to: they are forgotten. In this order: one that is put in meanwhile
  /// either sees that it is superseded, or is found here.
  func withdraw(_ representation: Representation) {
    supersede(representation)
    if let key = representation.state.withLock({ $0.key }) {
      _ = keys.remove(key) { $0.representation === representation }
      inbox.noteKeys()
    }
  }

  func discard(_ representation: Representation) {
    let key = representation.state.withLock { state -> KeyHash? in
      if state.phase == .gone { return nil }
      state.phase = .gone
      return state.key
    }
    guard let key else { return }
    _ = keys.remove(key) { $0.representation === representation }
    inbox.noteKeys()
  }

  /// A representation object is gone: what of its data must go too?
  func didForget(_ id: UInt64, _ last: Representation.Remains, _ places: [Extent], identity: UInt) {
    buffers.count(-last.bufferBytes)
    segments.count(-last.loadedSegments)
    if last.hasOpenFile { files.count(-1) }
    space.change { $0.unpacked -= min($0.unpacked, last.unpacked) }
    switch last.phase {
    case .stored: break
    case .unreferenced, .superseded, .gone:
      if last.isRecorded || last.hasFile {
        return inbox.delete(
          Deletion(
            id: id, places: places, isRecorded: last.isRecorded, allocated: last.allocated, hasFile: last.hasFile,
            identity: identity))
      }
    }
    registry.forget(id, identity)
  }
}

/// A number that one thread sets and others read.
final class SharedNumber: Sendable {
  private let number: Atomic<UInt64>

  init(_ number: UInt64) { self.number = Atomic(number) }

  var value: UInt64 { number.load(ordering: .relaxed) }

  func set(_ value: UInt64) { number.store(value, ordering: .relaxed) }
}

/// The representations that somebody holds, so that each has one object.
final class Registry: Sendable {
  private struct Reference {
    weak var representation: Representation?
    /// The object's address. Not an `ObjectIdentifier`: an optional of a structure of one and a weak reference takes the
    /// absence from the bits of the identifier, and reads the reference although there is none (Swift 6.3).
    let identity: UInt
  }

  /// In parts, so that none is so large that its growth would hold a loop up.
  private final class Lane: Sendable {
    let references = Mutex<[UInt64: Reference]>([:])
  }

  private let lanes: [Lane] = (0..<64).map { _ in Lane() }

  private func lane(_ id: UInt64) -> Lane { lanes[Int(id % UInt64(lanes.count))] }

  func find(_ id: UInt64) -> Representation? { lane(id).references.withLock { $0[id]?.representation } }

  /// The object of this number, made if there is none.
  func find(_ id: UInt64, orMake make: () -> Representation) -> Representation {
    lane(id).references.withLock { references in
      if let found = references[id]?.representation { return found }
      let made = make()
      references[id] = Reference(representation: made, identity: UInt(bitPattern: ObjectIdentifier(made)))
      return made
    }
  }

  /// Whether the object of this number has gone and what becomes of its data is still to be seen to: it knew that better
  /// than the index does.
  func isDeparting(_ id: UInt64) -> Bool {
    let (isKnown, object) = lane(id).references.withLock { ($0[id] != nil, $0[id]?.representation) }
    return isKnown && object == nil
  }

  /// Drops the entry of an object that is about to go, but not that of another one made since. Looks at no object: the
  /// last reference to one must not be dropped in here.
  func forget(_ id: UInt64, _ identity: UInt) {
    lane(id).references.withLock { references in
      if let reference = references[id], reference.identity == identity { references[id] = nil }
    }
  }

  /// Those that are in use, for eviction.
  func all() -> [Representation] {
    lanes.flatMap { lane in lane.references.withLock { $0.values.compactMap(\.representation) } }
  }
}

/// Open pack files, for reading.
final class PackFiles: Sendable {
  private let files = Mutex<[UInt32: OpenFile]>([:])

  func find(_ pack: UInt32, orOpen open: () throws(SystemError) -> OpenFile) throws(SystemError) -> OpenFile {
    if let file = files.withLock({ $0[pack] }) { return file }
    let file = try open()
    return files.withLock { files in
      if let other = files[pack] { return other }
      // Packs are few (64 MiB each), but a cache may be large.
      if files.count >= 256, let other = files.keys.first { files[other] = nil }
      files[pack] = file
      return file
    }
  }

  func forget(_ pack: UInt32) { files.withLock { $0[pack] = nil } }

  func forgetAll() { files.withLock { $0 = [:] } }
}
