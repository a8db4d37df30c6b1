// What the last run left on the disk and no account has: files, blocks of files, ends of packs.
import Glibc
import Spans
import Synchronization

/// Goes once through the files of earlier runs, by their names; of those that are not complete the blocks are looked at
/// as well. On a thread of its own, since a large store takes a while.
struct Sweep {
  let engine: Engine
  /// This run's number.
  let incarnation: UInt32
  /// This run's first pack.
  let firstPack: UInt32

  func run() {
    cutPacks()
    for number in 0...255 {
      for name in engine.calls.names(in: engine.layout.shard(UInt8(number))) {
        // What is damaged may be the row of this one.
        guard engine.isEnding.value == 0, engine.index.damage.count.value == 0 else { return }
        guard let id = UInt64(name, radix: 16), id >> 32 < UInt64(incarnation) else { continue }
        look(id)
      }
    }
  }

  private func look(_ id: UInt64) {
    let row = IndexKey.representation(id)
    // Unreadable is not unknown.
    guard let rows = try? engine.index.read({ ($0.get(.representations, row), $0.get(.usage, row)) }) else { return }
    guard let value = rows.0 else {
      if engine.index.damage.count.value == 0 { try? engine.calls.unlink(engine.layout.body(id)) }
      return
    }
    guard let record = try? RepresentationRecord.decode(value.span.bytes), let other = rows.1,
      let usage = try? UsageRecord.decode(other.span.bytes)
    else { return }
    if record.isPacked {
      // It was being moved to a file, of which nobody knows.
      let representation = engine.representation(id, record, usage, key: usage.key)
      representation.fileGate.withLock { _ in
        let isStray = representation.state.withLock { $0.body == .memory && !$0.hasFile }
        if isStray { try? engine.calls.unlink(engine.layout.body(id)) }
      }
    } else if record.total != record.presentBytes {
      guard let size = engine.calls.size(of: engine.layout.body(id)), engine.hasSurplus(size, usage.allocated) else {
        return
      }
      engine.settle(engine.representation(id, record, usage, key: usage.key))
    }
  }

  /// What was appended to packs and not recorded.
  private func cutPacks() {
    guard engine.index.damage.count.value == 0 else { return }
    var ends: [(pack: UInt32, size: UInt64)] = []
    try? engine.index.read { reader in
      reader.scan(.packs, from: []) { key, value in
        var numbers = RecordReader()
        if let pack: UInt32 = try? numbers.keyNumber(key), pack < firstPack, let record = try? PackRecord.decode(value)
        {
          ends.append((pack, record.size))
        }
        return true
      }
    }
    for (pack, end) in ends {
      let path = engine.layout.pack(pack)
      if let size = engine.calls.size(of: path), size.length > end { truncate(path, off_t(end)) }
    }
  }
}
