// A disk that dies at a chosen call, and remembers what a loss of power would take.
import Glibc
import Synchronization

@testable import Store

/// Lets writes, syncs and commits pass until the chosen one; that one and all later ones fail. A write that is cut is
/// done in part. `losePower` undoes what was written and not synced.
final class FaultyDisk: FaultySystem {
  private struct Undo: Sendable {
    var path: String
    var offset: UInt64
    var bytes: [UInt8]
    var length: Int
  }

  private struct State {
    var calls = 0
    var undo: [Undo] = []
  }

  private let cut: Int
  private let code: Int32
  private let state = Mutex(State())

  init(cutAt cut: Int, code: Int32 = EIO) {
    self.cut = cut
    self.code = code
  }

  /// Whether the cut was reached.
  var isCut: Bool { state.withLock { $0.calls > cut } }

  func fate(of call: SystemCall) -> Fate {
    state.withLock { state in
      switch call {
      case .open, .read, .allocate: return .proceed
      case .unlink, .punch: return state.calls > cut ? .fail(code) : .proceed
      case .write(let descriptor, let offset, let count):
        state.calls += 1
        guard state.calls <= cut + 1 else { return .fail(code) }
        remember(descriptor, offset, count, &state)
        guard state.calls == cut + 1 else { return .proceed }
        return count > 1 ? .shortened(count / 2) : .fail(code)
      case .sync(let descriptor):
        state.calls += 1
        guard state.calls <= cut else { return .fail(code) }
        let path = Self.path(descriptor)
        state.undo.removeAll { $0.path == path }
        return .proceed
      case .commit:
        state.calls += 1
        return state.calls <= cut ? .proceed : .fail(code)
      }
    }
  }

  private func remember(_ descriptor: Int32, _ offset: UInt64, _ count: Int, _ state: inout State) {
    var facts = stat()
    fstat(descriptor, &facts)
    var bytes = [UInt8](repeating: 0, count: count)
    let got = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    bytes.removeLast(count - max(0, got))
    state.undo.append(
      Undo(path: Self.path(descriptor), offset: offset, bytes: bytes, length: Int(facts.st_size)))
  }

  /// The path of what a descriptor refers to.
  static func path(_ descriptor: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
    return String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Undoes the writes that were not synced, the latest first.
  func losePower() {
    for undo in state.withLock({ $0.undo }).reversed() {
      let descriptor = open(undo.path, O_WRONLY)
      guard descriptor >= 0 else { continue }
      _ = undo.bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(undo.offset)) }
      ftruncate(descriptor, undo.length)
      close(descriptor)
    }
  }
}
