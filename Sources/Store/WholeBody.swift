// Storing a small body that is all there at once.
import Spans
import Synchronization

extension Representation {
  /// Takes all bytes of a small body, before a response refers to it: what a writer would do in many steps.
  ///
  /// - Returns: false, and nothing has changed, where the body is not a small one of this length, something of it is
  ///   there already, or there is no room for it.
  public func takeWhole(_ bytes: [UInt8], reservation: Reservation) -> Bool {
    let count = UInt64(bytes.count)
    guard count > 0, count <= min(UInt64(engine.options.smallBody), Extent.largest),
      engine.mayWrite(reservation, count)
    else { return false }
    let sum = bytes.withUnsafeBytes(checksum)
    guard state.withLock({ $0.takeWhole(bytes, checksum: sum) }) else { return false }
    engine.space.change { $0.unpacked += count }
    engine.buffers.enter(self, part: 0, size: bytes.count)
    engine.counters.bytesWritten.add(bytes.count)
    reservation.consume(count)
    if engine.space.isUrgent { engine.inbox.wakeForRoom() }
    return true
  }
}

extension RepresentationState {
  fileprivate mutating func takeWhole(_ bytes: [UInt8], checksum: UInt64) -> Bool {
    guard phase == .unreferenced, body == .memory, total == UInt64(bytes.count), presentBytes == 0, buffer == nil,
      segments.isEmpty, writers.isEmpty
    else { return false }
    var segment = Segment(isLoaded: true)
    segment.put(Extent(lower: 0, checksum: checksum, length: UInt32(bytes.count), isChecked: true))
    segment.dirtyGeneration = .max
    segments[0] = segment
    touched.insert(ByteSpan(0, 1))
    complete.insert(ByteSpan(0, 1))
    dirty.insert(0)
    isRecordDirty = true
    presentBytes = UInt64(bytes.count)
    buffer = bytes
    unpacked = presentBytes
    return true
  }
}
