// Small bodies on the disk: many in one append-only file.
import Glibc
import HTTPMessage

/// Where bytes stand in a pack.
struct PackPlace: Equatable, Sendable {
  var pack: UInt32
  var offset: UInt32
}

/// The pack files; belongs to the index thread, but for reading.
///
/// A pack is a run of items: representation, lower bound, length, checksum, then the bytes. So a pack says itself what
/// is in it, and the index says which of that is still meant.
struct PackStore: ~Copyable {
  /// A pack takes no more items when it has this size.
  static let largest: UInt64 = 64 << 20
  static let headerSize = 28

  private let layout: Layout
  private let calls: SystemCalls
  private let pool: DiskPool
  /// Small stores have small packs: one that is written to cannot be reclaimed.
  private let fullSize: UInt64
  private(set) var packs: [UInt32: PackRecord] = [:]
  private(set) var changed: Set<UInt32> = []
  /// Bytes of all packs that are meant.
  private(set) var liveBytes: UInt64 = 0
  private(set) var current: UInt32 = 0
  /// What the next pack is called; none of this number or a greater one was there at start.
  private(set) var nextNumber: UInt32
  /// The pack that is written to; nil before the first item.
  private(set) var file: OpenFile?
  /// Items that are to be written at `flushed`.
  private var tail: [UInt8] = []
  private var flushed: UInt64 = 0
  /// Packs that could not be read: they are not reclaimed before all of them is dead.
  private var unreadable: Set<UInt32> = []
  /// Bytes of items that could not be written, since last asked.
  private var lost: UInt64 = 0

  init(
    layout: Layout, calls: SystemCalls, pool: DiskPool, packs: [UInt32: PackRecord], nextNumber: UInt32,
    capacity: UInt64
  ) {
    self.layout = layout
    self.calls = calls
    self.pool = pool
    fullSize = min(PackStore.largest, max(256 << 10, capacity / 32))
    self.packs = packs
    self.nextNumber = nextNumber
    liveBytes = packs.values.reduce(0) { $0 + $1.live }
  }

  /// Bytes that are not meant any more.
  var deadBytes: UInt64 { totalSize - min(liveBytes, totalSize) }

  var totalSize: UInt64 { packs.values.reduce(0) { $0 + $1.size } }

  /// Lays an item out for writing. It counts as live at once.
  mutating func append(id: UInt64, lower: UInt64, checksum: UInt64, bytes: ArraySlice<UInt8>) throws(SystemError)
    -> PackPlace
  {
    if file == nil || flushed + UInt64(tail.count) >= fullSize { try beginPack() }
    if tail.count >= 4 << 20 { try writeTail() }
    let offset = flushed + UInt64(tail.count) + UInt64(PackStore.headerSize)
    tail.append(addingCapacity: PackStore.headerSize + bytes.count) { output in
      output.put(id)
      output.put(lower)
      output.put(UInt32(bytes.count))
      output.put(checksum)
      output.append(bytes.span.bytes)
    }
    let size = UInt64(PackStore.headerSize + bytes.count)
    // Read and set: to change it in its place costs three allocations here.
    var record = packs[current] ?? PackRecord(size: 0, live: 0)
    record.size += size
    record.live += size
    packs[current] = record
    liveBytes += size
    changed.insert(current)
    return PackPlace(pack: current, offset: UInt32(offset))
  }

  private mutating func beginPack() throws(SystemError) {
    try writeTail()
    while true {
      let number = nextNumber
      nextNumber += 1
      do throws(SystemError) {
        let descriptor = try calls.open(layout.pack(number), flags: O_RDWR | O_CREAT | O_EXCL)
        file = OpenFile(descriptor: descriptor, pool: pool)
      } catch {
        if error.code == EEXIST { continue }
        // Somebody has removed the directory.
        if error.code == ENOENT, try calls.makeDirectory(layout.packs) { continue }
        throw error
      }
      current = number
      flushed = 0
      return
    }
  }

  /// Writes what was laid out. Where it throws, this pack takes no more, and its unwritten items must be released and
  /// laid out again.
  mutating func writeTail() throws(SystemError) {
    guard !tail.isEmpty, let file else { return }
    let calls = self.calls
    let offset = flushed
    let count = UInt64(tail.count)
    let outcome = tail.withUnsafeBytes { pointer -> Result<Void, SystemError> in
      do throws(SystemError) {
        return .success(try calls.write(pointer, to: file.descriptor, at: offset))
      } catch {
        return .failure(error)
      }
    }
    // Its memory is kept: to get and to touch it anew costs more than the copies into it.
    tail.removeAll(keepingCapacity: true)
    switch outcome {
    case .success: flushed += count
    case .failure(let error):
      // A part of it may have been written.
      ftruncate(file.descriptor, off_t(offset))
      packs[current]?.size = offset
      changed.insert(current)
      lost += count
      self.file = nil
      throw error
    }
  }

  /// Whether an item's bytes are in its pack, or are still to be written; not where writing them has failed.
  func has(_ extent: Extent) -> Bool {
    guard let record = packs[extent.pack] else { return true }
    return UInt64(extent.packOffset) + UInt64(extent.length) <= record.size
  }

  /// How many bytes of items could not be written, each told once.
  mutating func takeLost() -> UInt64 {
    defer { lost = 0 }
    return lost
  }

  /// Nothing more goes into the current pack.
  mutating func endPack() { file = nil }

  /// An item is not meant any more.
  mutating func release(_ pack: UInt32, length: UInt32) {
    guard let record = packs[pack] else { return }
    let dead = min(record.live, UInt64(length) + UInt64(PackStore.headerSize))
    packs[pack]?.live = record.live - dead
    liveBytes -= dead
    changed.insert(pack)
  }

  /// The packs whose rows changed since the last call.
  mutating func takeChanged() -> [(pack: UInt32, record: PackRecord)] {
    defer { changed = [] }
    return changed.compactMap { number in packs[number].map { (number, $0) } }
  }

  /// The pack with the largest part of dead bytes, if that is at least `part`; never the one written to, nor one that
  /// has copies the index does not know of (`besides`).
  func mostDead(atLeast part: Double, besides: Set<UInt32>) -> UInt32? {
    func dead(_ record: PackRecord) -> Double { 1 - Double(record.live) / Double(max(record.size, 1)) }
    let candidates = packs.filter { number, record in
      (number != current || file == nil) && !besides.contains(number)
        && (record.live == 0 || !unreadable.contains(number))
    }
    guard let found = candidates.max(by: { dead($0.value) < dead($1.value) }), dead(found.value) >= part else {
      return nil
    }
    return found.key
  }

  /// A pack whose living items cannot be copied now.
  mutating func noteUnreadable(_ pack: UInt32) { unreadable.insert(pack) }

  /// Takes a pack out of the books; its file is the caller's to remove once the index says so too.
  mutating func forget(_ pack: UInt32) {
    liveBytes -= packs[pack]?.live ?? 0
    packs[pack] = nil
    unreadable.remove(pack)
    changed.remove(pack)
  }

  /// An item of a pack.
  struct Item {
    var id: UInt64
    var lower: UInt64
    var checksum: UInt64
    var length: UInt32
    var offset: UInt32
  }

  /// What a pack, open as `descriptor`, says is in it, up to `size`. Throws where it cannot be read.
  func items(of pack: UInt32, _ descriptor: Int32) throws(SystemError) -> [Item] {
    guard let record = packs[pack] else { return [] }
    var items: [Item] = []
    var offset: UInt64 = 0
    var header = [UInt8](repeating: 0, count: PackStore.headerSize)
    while offset + UInt64(PackStore.headerSize) <= record.size {
      let count = try read(into: &header, from: descriptor, at: offset)
      var reader = RecordReader()
      let span = header.span.bytes
      guard count == PackStore.headerSize, let id: UInt64 = try? reader.number(span),
        let lower: UInt64 = try? reader.number(span), let length: UInt32 = try? reader.number(span),
        let sum: UInt64 = try? reader.number(span), length > 0
      else { break }
      offset += UInt64(PackStore.headerSize)
      items.append(
        Item(id: id, lower: lower, checksum: sum, length: length, offset: UInt32(truncatingIfNeeded: offset)))
      offset += UInt64(length)
    }
    return items
  }

  /// Fills `bytes` from a pack; returns how many there were.
  func read(into bytes: inout [UInt8], from descriptor: Int32, at offset: UInt64) throws(SystemError) -> Int {
    try bytes.withUnsafeMutableBytes { buffer -> Result<Int, SystemError> in
      do throws(SystemError) {
        return .success(try calls.read(into: buffer, from: descriptor, at: offset))
      } catch {
        return .failure(error)
      }
    }.get()
  }
}
