// One durable commit: what it brings to the disk, and what may go once it is there.
import Diagnostics
import Glibc
import Spans
import Synchronization

/// Gathered by the index thread, then carried out by the commit thread, which has it to itself until it is done.
///
/// The order is what keeps the index honest: first the data files that the batches speak of are synced, then all batches
/// go into the index in one durable transaction, and only then is data removed that the index no longer has.
///
/// Unchecked, for it goes from thread to thread: the index thread fills it, hands it to the commit thread through the lock
/// of that one's queue (`IndexThread.submit`), and gets it back through the lock of the inbox (`Command.committed`).
/// In between the commit thread alone has `files`, `packs`, `amendments`, `keptBytes` and `journal`, and the index
/// thread alone `waiters`; `batches`, `copied`, `held` and `doomed` are read by both, and changed by neither. The rest
/// is the index thread's.
final class Commit: @unchecked Sendable {
  /// Data to be removed.
  enum Doom {
    case body(UInt64, allocated: UInt64, isRecorded: Bool)
    case segments(Representation, [UInt64], allocated: UInt64)
    case pack(UInt32, size: UInt64)
  }

  /// Its number, which the journal of its batches has as well.
  let generation: UInt64
  var batches: [Operations] = []
  /// Files with data that the batches claim.
  var files: [UInt64: OpenFile] = [:]
  var packs: [UInt32: OpenFile] = [:]
  /// Representations that were copied into a pack by reclaiming another.
  var copied: [UInt32: Set<UInt64>] = [:]
  /// Whoever has changes here stays in memory until they are durable.
  var held: [Representation] = []
  var doomed: [Doom] = []
  /// Of what `doomed` says is freed, the bytes that the file system did not take back.
  private(set) var keptBytes: UInt64 = 0
  /// Told when it has been tried.
  var waiters: [@Sendable () -> Void] = []
  /// When the first change came, in nanoseconds of the monotonic clock; 0 when it must not wait.
  var firstChange: UInt64?
  var journal: Journal?
  /// Whether a batch could not be appended to the journal, so that later ones must not be either.
  var journalHasHole = false

  init(generation: UInt64) { self.generation = generation }

  /// What the commit thread adds. Apart from the batches, whose size the index thread looks at meanwhile; kept, because
  /// what one attempt could not sync must not be claimed by the next.
  private var amendments = Operations()

  var isEmpty: Bool { batches.isEmpty && doomed.isEmpty }

  var pendingBytes: Int { batches.reduce(0) { $0 + $1.bytes.count } }

  /// Bytes that it will free.
  var freeing: (files: UInt64, packs: UInt64) {
    doomed.reduce((0, 0)) { sum, doom in
      switch doom {
      case .body(_, let allocated, _), .segments(_, _, let allocated): (sum.0 + allocated, sum.1)
      case .pack(_, let size): (sum.0, sum.1 + size)
      }
    }
  }

  /// Carries it out; where the index could not be written nothing is durable, and it says why. On the commit thread.
  func perform(_ engine: Engine) -> String? {
    syncFiles(engine, &amendments)
    var number: [UInt8] = []
    number.put(generation)
    amendments.put(.meta, IndexKey.journal, number)
    do {
      try engine.index.apply(batches + [amendments]) { engine.calls.allowsCommit() }
    } catch {
      engine.counters.writeErrors.add(1)
      return (error as? IndexError)?.explanation ?? "\(error)"
    }
    engine.counters.commits.add(1)
    engine.calls.keepRoom(behind: engine.layout.indexData)
    journal = nil
    try? engine.calls.unlink(engine.layout.journal(generation))
    removeDoomed(engine)
    return nil
  }

  /// Brings the data to the disk. What cannot be synced is not claimed.
  private func syncFiles(_ engine: Engine, _ amendments: inout Operations) {
    for (id, file) in files {
      do throws(SystemError) {
        try engine.calls.sync(file.descriptor)
      } catch {
        syncFailed(engine, engine.layout.body(id), error)
        lose(id, engine, &amendments)
      }
    }
    for (number, file) in packs {
      do throws(SystemError) {
        try engine.calls.sync(file.descriptor)
      } catch {
        syncFailed(engine, engine.layout.pack(number), error)
        let inPack = held.filter { $0.state.withLock { $0.packedExtents.contains { $0.pack == number } } }
        for id in copied[number, default: []].union(inPack.map(\.id)) { lose(id, engine, &amendments) }
      }
    }
    if !packs.isEmpty { try? engine.calls.syncDirectory(engine.layout.packs) }
    let shards = engine.newNames.withLock { names in
      defer { names = [] }
      return names
    }
    for shard in shards { try? engine.calls.syncDirectory(engine.layout.shard(shard)) }
    files = [:]
    packs = [:]
  }

  private func syncFailed(_ engine: Engine, _ path: String, _ error: SystemError) {
    engine.counters.writeErrors.add(1)
    engine.faults.note(.sync, "syncing \(path) failed: \(error.explanation); what was in it is fetched again")
  }

  /// After a failed sync nobody knows what is on the disk (the kernel may have dropped it): the representation goes.
  private func lose(_ id: UInt64, _ engine: Engine, _ amendments: inout Operations) {
    if let representation = engine.registry.find(id) { engine.discard(representation) }
    let row = IndexKey.representation(id)
    amendments.delete(.extents, prefix: row)
    amendments.delete(.representations, row)
    amendments.put(.doomed, IndexKey.doomed(id, segment: nil), [1])
  }

  private func removeDoomed(_ engine: Engine) {
    for doom in doomed {
      switch doom {
      case .body(let id, _, _): remove(engine.layout.body(id), engine)
      case .pack(let number, _):
        engine.packFiles.forget(number)
        remove(engine.layout.pack(number), engine)
      case .segments(let representation, let numbers, let allocated):
        do throws(SystemError) {
          let file = try engine.openFile(of: representation, makes: false)
          for number in numbers {
            try engine.punch(file, ByteSpan(number * Segment.size, (number + 1) * Segment.size))
          }
        } catch {
          engine.counters.writeErrors.add(1)
          engine.faults.note(
            .removal, "freeing a part of \(engine.layout.body(representation.id)) failed: \(error.explanation)")
          // They stay charged, until the file goes as a whole.
          keptBytes += allocated
          representation.state.withLock { state in
            state.allocated += allocated
            state.isRecordDirty = true
          }
          engine.noteChange(representation)
        }
        representation.state.withLock { $0.punching.subtract(numbers) }
      }
    }
  }

  private func remove(_ path: String, _ engine: Engine) {
    do throws(SystemError) {
      try engine.calls.unlink(path)
    } catch {
      engine.counters.writeErrors.add(1)
      engine.faults.note(.removal, "removing \(path) failed: \(error.explanation)")
    }
  }
}
