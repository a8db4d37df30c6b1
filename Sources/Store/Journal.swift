// Index changes between two commits, so that a killed process loses next to nothing.
import Glibc

/// An append-only file of batches, written without sync: it survives the process, not the machine. The boot's identifier
/// stands in it, so that after a reboot (when parts of it, or of the data it speaks of, may be missing) it is not used.
///
/// Layout: magic, generation, the counted boot identifier; then frames of length, checksum, operations. A frame that
/// ends early or has another checksum ends the journal.
final class Journal {
  private static let magic: UInt64 = 0x314A_5245_4452_414C

  let path: String
  private let descriptor: Int32
  private let calls: SystemCalls
  private var offset: UInt64

  /// Makes an empty journal, in the place of one that may be there.
  init(path: String, generation: UInt64, boot: String, calls: SystemCalls) throws(SystemError) {
    self.path = path
    self.calls = calls
    descriptor = try calls.open(path, flags: O_RDWR | O_CREAT | O_TRUNC)
    var header: [UInt8] = []
    header.put(Journal.magic)
    header.put(generation)
    header.put(boot)
    offset = UInt64(header.count)
    try Journal.write(header, descriptor, 0, calls)
  }

  deinit { close(descriptor) }

  private static func write(_ bytes: [UInt8], _ descriptor: Int32, _ offset: UInt64, _ calls: SystemCalls)
    throws(SystemError)
  {
    let outcome = bytes.withUnsafeBytes { pointer -> Result<Void, SystemError> in
      do throws(SystemError) {
        return .success(try calls.write(pointer, to: descriptor, at: offset))
      } catch {
        return .failure(error)
      }
    }
    try outcome.get()
  }

  /// Adds one batch: after a kill it is there as a whole or not at all.
  func append(_ operations: Operations) throws(SystemError) {
    let header = [UInt8](capacity: 16) { output in
      output.put(UInt64(operations.bytes.count))
      output.put(operations.bytes.withUnsafeBytes { checksum($0) })
    }
    try Journal.write(header, descriptor, offset, calls)
    try Journal.write(operations.bytes, descriptor, offset + UInt64(header.count), calls)
    offset += UInt64(header.count + operations.bytes.count)
  }

  /// The batches of a journal written since this boot; nil when there is none that may be used.
  static func read(path: String, generation: UInt64, boot: String, calls: SystemCalls) -> [Operations]? {
    guard let descriptor = try? calls.open(path, flags: O_RDONLY) else { return nil }
    defer { close(descriptor) }
    guard let length = calls.length(of: descriptor), length < 1 << 32 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let count = bytes.withUnsafeMutableBytes { try? calls.read(into: $0, from: descriptor, at: 0) }
    guard count == bytes.count else { return nil }
    return decode(bytes.span.bytes, generation: generation, boot: boot)
  }

  /// The batches in the bytes of a journal, up to the first frame that is not whole.
  static func decode(_ bytes: RawSpan, generation: UInt64, boot: String) -> [Operations]? {
    var reader = RecordReader()
    guard let found: UInt64 = try? reader.number(bytes), found == magic,
      let written: UInt64 = try? reader.number(bytes), written == generation,
      let author = try? reader.text(bytes), author == boot
    else { return nil }
    var batches: [Operations] = []
    while let count: UInt64 = try? reader.number(bytes), let sum: UInt64 = try? reader.number(bytes),
      count <= UInt64(bytes.byteCount), let payload = try? reader.take(Int(count), bytes),
      payload.withUnsafeBytes({ checksum($0) }) == sum
    {
      batches.append(Operations(bytes: payload))
    }
    return batches
  }
}

/// What this boot of the kernel is called; empty (and never equal to itself by luck) when it does not say.
func bootIdentifier() -> String {
  guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "unknown-\(getpid())-\(wallSeconds())" }
  defer { fclose(file) }
  var buffer = [CChar](repeating: 0, count: 64)
  guard fgets(&buffer, 64, file) != nil else { return "unknown-\(getpid())-\(wallSeconds())" }
  return String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
