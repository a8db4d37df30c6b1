// What the store's tests share: directories that vanish, contents that can be told apart, responses.
import CachePolicy
import Diagnostics
import Glibc
import HTTPMessage
import Spans

@testable import Store

/// A directory for one test.
final class Directory: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/larder-store-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw SystemError(code: errno) }
    path = String(cString: made)
  }

  deinit { Directory.remove(path) }

  static func remove(_ path: String) {
    for name in SystemCalls().names(in: path) {
      let inner = path + "/" + name
      if unlink(inner) != 0 { remove(inner) }
    }
    rmdir(path)
  }

  /// All files below, with their contents.
  func snapshot(_ path: String? = nil) -> [String: [UInt8]] {
    let path = path ?? self.path
    var files: [String: [UInt8]] = [:]
    for name in SystemCalls().names(in: path) {
      let inner = path + "/" + name
      if let bytes = readFile(inner) { files[inner] = bytes } else { files.merge(snapshot(inner)) { $1 } }
    }
    return files
  }

  /// The files that bodies have.
  var bodies: [String] { snapshot().keys.filter { $0.contains("/bodies/") } }
}

func readFile(_ path: String) -> [UInt8]? {
  let descriptor = open(path, O_RDONLY)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var facts = stat()
  guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
  var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
  let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
  return count == bytes.count ? bytes : nil
}

/// Content by whose bytes one can tell where they belong: random, with a period that no boundary shares.
func content(_ span: ByteSpan, seed: UInt64 = 1) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(Int(span.count))
  var position = span.lower + seed * 7919
  var left = Int(span.count)
  while left > 0 {
    let start = Int(position % UInt64(pattern.count))
    let count = min(left, pattern.count - start)
    bytes += pattern[start..<start + count]
    position += UInt64(count)
    left -= count
  }
  return bytes
}

/// As many bytes as a prime.
private let pattern: [UInt8] = {
  var random = Generator(state: 42)
  return (0..<1_000_003).map { _ in UInt8(truncatingIfNeeded: random.next()) }
}()

/// A small generator of repeatable numbers (SplitMix64).
struct Generator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

func key(_ name: String) -> CacheKey { CacheKey(stored: "http://origin.example/\(name)") }

func response(_ note: String = "", nominated: [NominatedField] = []) -> StoredResponse {
  var fields: Fields = ["Content-Type": "text/plain", "ETag": "\"a\""]
  if let value = FieldValue(note), !note.isEmpty { fields.append("X-Note", value) }
  return StoredResponse(
    status: 200, reason: "OK", fields: fields, requestTime: Timestamp(seconds: 1_700_000_000),
    responseTime: Timestamp(seconds: 1_700_000_001), nominated: nominated)
}

let validator: Validator = EntityTag(opaque: "a").map { .strongTag($0) } ?? .none

/// Options with long intervals, so that flushes and commits come only when a test asks for them.
func options(_ directory: Directory, capacity: UInt64 = 1 << 30) -> StoreOptions {
  StoreOptions(
    directory: directory.path + "/cache", capacity: capacity, syncInterval: 3600, journalInterval: 3600, diskThreads: 2,
    keepFree: 0)
}

extension Store {
  static func open(_ options: StoreOptions, boot: String = "boot", calls: SystemCalls = SystemCalls()) throws -> Store {
    try open(options, log: .silent, calls: calls, boot: boot)
  }

  /// Writes the journal, as happens every half second.
  func flush() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      engine.inbox.send(.flush { continuation.resume() })
    }
  }

  /// Looks for what the last runs left, here and now; the store's own thread may be at it as well.
  func sweep() { Sweep(engine: engine, incarnation: UInt32(engine.makeID() >> 32), firstPack: .max).run() }

  /// Ends as if the process had been killed.
  func abandon() { opened.end(.abandon) }

  /// Stores `spans` of an object's content.
  @discardableResult
  func fill(_ name: String, total: UInt64?, _ spans: [ByteSpan], seed: UInt64 = 1) async throws -> StoredEntry {
    let representation = makeRepresentation(validator: validator, total: total)
    let entry = add(response(name), for: key(name), representation: representation)
    for span in spans { try await representation.fill(span, seed: seed) }
    return entry
  }
}

extension Representation {
  /// Writes the content of `span`, in pieces of a size that fits no boundary.
  func fill(_ span: ByteSpan, seed: UInt64 = 1, piece: UInt64 = 50_000) async throws {
    let writer = writer(at: span.lower)
    var position = span.lower
    while position < span.upper {
      let part = ByteSpan(position, min(span.upper, position + piece))
      try writer.write(content(part, seed: seed).span.bytes)
      if writer.needsDrain { try await writer.drain() }
      position = part.upper
    }
    writer.finish()
  }

  /// All that is present of `span`, checked against the content; what is not there is left out.
  func verified(_ span: ByteSpan, seed: UInt64 = 1) async throws -> SpanSet {
    var present = SpanSet()
    var position = span.lower
    var failedAt: UInt64?
    while position < span.upper {
      switch await presence(at: position, upTo: span.upper) {
      case .absent(let upper): position = upper
      case .present(let upper):
        let part = ByteSpan(position, upper)
        let bytes: StoredBytes
        do throws(StoreError) {
          bytes = try await self.bytes(in: part)
        } catch {
          // Once reading has failed, presence must say so as well.
          guard error == .absent || error == .corrupted, failedAt != position else { throw error }
          failedAt = position
          continue
        }
        let got = ByteSpan(position, position + UInt64(bytes.count))
        guard bytes.copied() == content(got, seed: seed) else { throw WrongBytes(span: got) }
        present.insert(got)
        position = got.upper
      }
    }
    return present
  }
}

struct WrongBytes: Error { let span: ByteSpan }
