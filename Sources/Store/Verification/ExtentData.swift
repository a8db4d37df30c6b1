// Comparing the bytes of extents with their checksums, and what a representation's rows should say of the good ones.
import Glibc
import Spans

/// Reads extents from body and pack files, with few files open at a time.
final class ExtentData {
  enum Verdict: Equatable {
    case good
    /// The checksum that the bytes have, or nil where they are not there or cannot be read.
    case bad(UInt64?)
  }

  private let layout: Layout
  private let calls: SystemCalls
  private var path = ""
  /// Of the file at `path`; -1 when there is none.
  private var descriptor: Int32 = -1
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(Extent.largest), alignment: 4096)

  init(layout: Layout, calls: SystemCalls) {
    self.layout = layout
    self.calls = calls
  }

  deinit {
    buffer.deallocate()
    if descriptor >= 0 { close(descriptor) }
  }

  /// Reads an extent and compares. Extents come in the order of their representations, and those in that of their files.
  func check(_ extent: Extent, of id: UInt64) -> Verdict {
    open(extent.pack == 0 ? layout.body(id) : layout.pack(extent.pack))
    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(extent.length)])
    let offset = extent.pack == 0 ? extent.lower : UInt64(extent.packOffset)
    guard descriptor >= 0, (try? calls.read(into: part, from: descriptor, at: offset)) == part.count else {
      return .bad(nil)
    }
    let found = checksum(UnsafeRawBufferPointer(part))
    return found == extent.checksum ? .good : .bad(found)
  }

  private func open(_ wanted: String) {
    guard wanted != path else { return }
    if descriptor >= 0 { close(descriptor) }
    path = wanted
    descriptor = (try? calls.open(wanted, flags: O_RDONLY)) ?? -1
    if descriptor >= 0 { posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }
  }
}

/// Sums up the good extents of one representation, which come in ascending order.
struct RecordRebuilding {
  let id: UInt64
  private var presentBytes: UInt64 = 0
  /// The bytes of each segment.
  private var segments: [(number: UInt64, bytes: UInt64)] = []
  /// The first block of the file that has not been counted, and how many have been.
  private var nextBlock: UInt64 = 0
  private var blocks: UInt64 = 0

  init(id: UInt64) { self.id = id }

  mutating func add(_ extent: Extent) {
    presentBytes += UInt64(extent.length)
    let number = Segment.number(of: extent.lower)
    if segments.last?.number == number {
      segments[segments.count - 1].bytes += UInt64(extent.length)
    } else {
      segments.append((number, UInt64(extent.length)))
    }
    let first = max(nextBlock, extent.lower / 4096)
    let end = (extent.upper + 4095) / 4096
    if end > first { blocks += end - first }
    nextBlock = max(nextBlock, end)
  }

  /// What a file of it is charged for.
  var allocated: UInt64 { blocks * 4096 }

  /// The record with what is present put right.
  func record(_ record: RepresentationRecord) -> RepresentationRecord {
    var right = record
    right.presentBytes = presentBytes
    right.touched = SpanSet()
    right.complete = SpanSet()
    for (number, bytes) in segments {
      let lower = number * Segment.size
      right.touched.insert(ByteSpan(number, number + 1))
      let size = min(lower + Segment.size, record.total ?? .max) - lower
      if bytes == size { right.complete.insert(ByteSpan(number, number + 1)) }
    }
    return right
  }
}
