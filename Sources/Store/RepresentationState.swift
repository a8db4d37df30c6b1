// What is known in memory of one representation; changed under its lock only.
import CachePolicy
import Spans

/// Where a representation stands in its life: made, then referred to by a response, then replaced or removed.
enum Phase {
  /// No response refers to it: nothing of it is persisted.
  case unreferenced
  /// A response refers to it.
  case stored
  /// Another one took its place: it serves those that have it until they let go.
  case superseded
  /// Its data is gone or bad.
  case gone
}

/// Where the bytes are.
enum Body {
  /// In a buffer and, once persisted, in a pack file.
  case memory
  /// In a file of its own.
  case file
}

/// The state behind a representation's lock.
struct RepresentationState {
  var phase: Phase
  var body: Body
  var total: UInt64?
  var presentBytes: UInt64 = 0
  /// Bytes of its own file charged against the capacity.
  var allocated: UInt64 = 0
  /// The key of the response that refers to it.
  var key: KeyHash?

  /// The extents by segment, as far as they are loaded; the numbers of segments that have any byte, and all bytes.
  var segments = SegmentTable()
  var touched = SpanSet()
  var complete = SpanSet()
  /// By the number of a segment, the stretches of it that were checked or written since the store was opened.
  var checked: [UInt64: UInt64] = [:]
  /// How many reads of its file have failed since the last that did not.
  var failedReads = 0
  /// How often what had been checked was to be checked again: a writer's open extent ends there.
  var distrusts = 0

  /// A small body's bytes from byte 0 on; nil when they are only on the disk.
  var buffer: [UInt8]?
  var bufferWasUsed = false
  /// Items of packs whose extent has grown since: they are not meant any more.
  var outgrown: [Extent] = []
  /// Bytes that are in the buffer and in no pack yet.
  var unpacked: UInt64 = 0
  var file: OpenFile?
  var fileWasUsed = false
  var ahead = AllocationAhead()
  /// What was taken out because it could not be read, or not by all: somebody may be sending it still.
  var dropped = SpanSet()
  /// Whether there is (or may be) a file of its own on the disk.
  var hasFile: Bool

  /// Lower bounds of extents whose rows are to be written, and to be deleted.
  var dirty = ExtentBounds()
  var removed = ExtentBounds()
  var isRecordDirty = false
  /// Whether it stands in line for the index thread.
  var isQueued = false
  /// Whether the index has, or will have, rows of it.
  var isRecorded = false
  /// Segments whose data is being removed from the file: nobody may write there until it is done.
  var punching: Set<UInt64> = []

  /// What readers still have to send, and what writers are at.
  var pins: [Int: ByteSpan] = [:]
  var writers: [Int: ByteSpan] = [:]
  var nextToken = 0

  init(phase: Phase, body: Body, total: UInt64?, hasFile: Bool) {
    self.phase = phase
    self.body = body
    self.total = total
    self.hasFile = hasFile
  }

  var isInUse: Bool { !pins.isEmpty || !writers.isEmpty }

  /// Notes that a response of this key refers to it; false, and nothing changes, where none may any more.
  mutating func refer(from key: KeyHash) -> Bool {
    switch phase {
    case .unreferenced, .stored:
      phase = .stored
      self.key = key
      isRecordDirty = true
      return true
    case .superseded, .gone: return false
    }
  }

  var hasChanges: Bool { isRecordDirty || !dirty.isEmpty || !removed.isEmpty }

  mutating func token() -> Int {
    nextToken += 1
    return nextToken
  }

  // MARK: What is present

  /// An answer, or what must be loaded before there is one.
  enum Answer<Value> {
    case known(Value)
    case needs(segment: UInt64)
  }

  private func end(ofSegment number: UInt64) -> UInt64 {
    let (end, overflow) = (number + 1).multipliedReportingOverflow(by: Segment.size)
    return overflow ? .max : end
  }

  /// Makes sure an untouched segment counts as loaded: the index has nothing of it.
  private mutating func isLoaded(_ number: UInt64) -> Bool {
    let isLoaded = segments.change(number) { segment in
      segment.wasUsed = true
      return segment.isLoaded
    }
    return isLoaded ?? false
  }

  /// Whether `position` is present, and how far at least that holds. Looks at one loaded segment and at whole runs of
  /// complete or untouched ones.
  mutating func presence(at position: UInt64, upTo upper: UInt64) -> Answer<Presence> {
    // Of what is gone nothing can be read, whatever was there.
    if phase == .gone { return .known(.absent(upTo: upper)) }
    // Nothing is present behind the end, although the last segment counts as complete.
    if let total, position >= total { return .known(.absent(upTo: upper)) }
    let upper = min(upper, total ?? upper)
    let number = Segment.number(of: position)
    if let run = complete.present(at: number) {
      return .known(.present(upTo: min(upper, run.upper == .max ? .max : end(ofSegment: run.upper - 1))))
    }
    guard touched.present(at: number) != nil else {
      let beyond = ByteSpan(number, max(number + 1, Segment.number(of: upper) + 1))
      let next = touched.firstGap(in: beyond)?.upper ?? beyond.upper
      return .known(.absent(upTo: min(upper, end(ofSegment: next - 1))))
    }
    guard isLoaded(number), let segment = segments[number] else { return .needs(segment: number) }
    let limit = min(upper, end(ofSegment: number))
    if let end = segment.presentEnd(from: position, limit: limit) { return .known(.present(upTo: end)) }
    return .known(.absent(upTo: min(limit, segment.nextLower(after: position) ?? limit)))
  }

  /// The first gaps of `span`; walks over complete and untouched segments by runs.
  mutating func gaps(in span: ByteSpan, limit: Int) -> (gaps: [ByteSpan], needs: UInt64?) {
    var found: [ByteSpan] = []
    var start: UInt64?
    var position = span.lower
    let upper = min(span.upper, total ?? span.upper)
    while position < upper, found.count < limit {
      switch presence(at: position, upTo: upper) {
      case .needs(let number):
        // What is known so far is a right answer, only shorter.
        if let start { found.append(ByteSpan(start, position)) }
        return (found, number)
      case .known(.present(let upper)):
        if let open = start { found.append(ByteSpan(open, position)) }
        start = nil
        position = upper
      case .known(.absent(let upper)):
        start = start ?? position
        position = upper
      }
    }
    if let start, found.count < limit { found.append(ByteSpan(start, position)) }
    return (found, nil)
  }

  // MARK: Changes

  /// Notes that `[lower, upper)` has been written: a new extent or the growth of the one that begins at `lower`.
  /// Returns the change of the bytes charged.
  mutating func record(
    _ lower: UInt64, _ upper: UInt64, checksum: UInt64, at moment: CoarseMoment = .never
  ) -> Int64 {
    let number = Segment.number(of: lower)
    if segments[number] == nil { segments[number] = Segment(isLoaded: touched.present(at: number) == nil) }
    let extent = Extent(lower: lower, checksum: checksum, length: UInt32(upper - lower), isChecked: true, seen: moment)
    if body == .memory, let before = segments[number]?.extent(beginningAt: lower), before.pack != 0 {
      outgrown.append(before)
    }
    let charge = changeSegment(number, near: lower) { segment in
      segment.put(extent)
      segment.wasUsed = true
    }
    // A small body's segment is never forgotten without its buffer.
    if body == .file { checked[number, default: 0] |= Self.stretch(lower) }
    touched.insert(ByteSpan(number, number + 1))
    dirty.insert(lower)
    removed.remove(lower)
    isRecordDirty = true
    noteCompleteness(number)
    return charge
  }

  /// Takes the extents of a segment out for which it is true. Returns them and the change of the bytes charged.
  mutating func remove(from number: UInt64, where isRemoved: (Extent) -> Bool) -> (extents: [Extent], charge: Int64) {
    guard let segment = segments[number] else { return ([], 0) }
    let gone = segment.extents.filter(isRemoved)
    guard !gone.isEmpty else { return ([], 0) }
    var charge: Int64 = 0
    for extent in gone {
      charge += changeSegment(number, near: extent.lower) { segment in
        _ = segment.remove { $0.lower == extent.lower }
      }
      dirty.remove(extent.lower)
      removed.insert(extent.lower)
    }
    complete.remove(ByteSpan(number, number + 1))
    if let segment = segments[number], segment.isLoaded, segment.extents.isEmpty {
      touched.remove(ByteSpan(number, number + 1))
    }
    isRecordDirty = true
    return (gone, charge)
  }

  private mutating func changeSegment(_ number: UInt64, near position: UInt64, _ body: (inout Segment) -> Void) -> Int64
  {
    let growth = segments.change(number) { segment in
      let (before, blocksBefore) = (segment.presentBytes, segment.blocks(around: position).nonzeroBitCount)
      body(&segment)
      segment.dirtyGeneration = .max
      return (
        bytes: Int64(segment.presentBytes) - Int64(before),
        blocks: segment.blocks(around: position).nonzeroBitCount - blocksBefore
      )
    }
    guard let growth else { return 0 }
    presentBytes = UInt64(Int64(presentBytes) + growth.bytes)
    guard self.body == .file else { return 0 }
    let charge = Int64(growth.blocks) * 4096
    allocated = UInt64(max(0, Int64(allocated) + charge))
    return charge
  }

  /// Takes in a segment's rows from the index.
  mutating func load(_ number: UInt64, _ rows: [Extent]) {
    var segment = segments[number] ?? Segment(isLoaded: false)
    guard !segment.isLoaded else { return }
    let mask = checked[number] ?? 0
    let known = rows.filter { !removed.contains($0.lower) }.map { row in
      var row = row
      row.isChecked = mask & Self.stretch(row.lower) != 0
      return row
    }
    for refused in segment.load(known) {
      // Written anew since: the row must go, and its bytes are counted no more.
      removed.insert(refused.lower)
      presentBytes -= min(presentBytes, UInt64(refused.length))
      isRecordDirty = true
    }
    segment.wasUsed = true
    segments[number] = segment
    if complete.present(at: number) != nil {
      // Rows that were damaged are not here: what they stood for is a gap.
      let size = min(end(ofSegment: number), total ?? .max) - number * Segment.size
      let found = rows.reduce(0) { $0 + UInt64($1.length) }
      if found < size {
        presentBytes -= min(presentBytes, size - found)
        complete.remove(ByteSpan(number, number + 1))
        isRecordDirty = true
      }
    }
    if segment.extents.isEmpty, touched.remove(ByteSpan(number, number + 1)) > 0 {
      complete.remove(ByteSpan(number, number + 1))
      isRecordDirty = true
    }
    noteCompleteness(number)
  }

  /// Somebody else has changed the file: every extent's checksum is to be compared again before it is sent.
  mutating func distrust() {
    checked = [:]
    distrusts += 1
    segments.changeAll { $0.uncheck() }
  }

  /// Notes that the bytes of a span that lies in one segment are in the page cache.
  mutating func noteResident(_ span: ByteSpan, at moment: CoarseMoment) {
    segments.change(Segment.number(of: span.lower)) { $0.noteResident(span, at: moment) }
  }

  /// Marks the segment of a checked extent's stretch, when all of the stretch's extents are checked.
  mutating func noteChecked(_ lower: UInt64, checksum: UInt64) {
    let number = Segment.number(of: lower)
    let isStretchChecked = segments.change(number) { segment in
      segment.change(lower) { extent in
        if extent.checksum == checksum { extent.isChecked = true }
      }
      return segment.isStretchChecked(around: lower)
    }
    if isStretchChecked == true { checked[number, default: 0] |= Self.stretch(lower) }
  }

  mutating func noteCompleteness(_ number: UInt64) {
    guard let segment = segments[number], segment.isLoaded else { return }
    let lower = number * Segment.size
    let upper = min(end(ofSegment: number), total ?? .max)
    guard upper > lower, segment.presentBytes == upper - lower else { return }
    // The last segment of a representation of unknown length may be full and still not the last.
    if complete.insert(ByteSpan(number, number + 1)) > 0 { isRecordDirty = true }
  }

  /// The bit of the stretch of `Extent.largest` that holds `position`, in its segment.
  private static func stretch(_ position: UInt64) -> UInt64 {
    1 << (position % Segment.size / Extent.largest)
  }
}
