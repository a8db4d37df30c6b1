// Removing body files that no row speaks of.
import Glibc

/// Looks for body files that the index knows nothing of (of fills whose record was lost), by their names alone.
struct Sweep {
  let engine: Engine
  let incarnation: UInt32

  func run() {
    for number in 0...255 {
      let directory = engine.layout.shard(UInt8(number))
      for name in engine.calls.names(in: directory) {
        guard let id = UInt64(name, radix: 16), id >> 32 < UInt64(incarnation) else { continue }
        // Unreadable is not unknown.
        guard let isKnown = try? engine.index.read({ $0.get(.representations, IndexKey.representation(id)) != nil }),
          !isKnown
        else { continue }
        // What is damaged may be the row of this one.
        guard engine.index.damage.count.value == 0 else { return }
        try? engine.calls.unlink(engine.layout.body(id))
      }
    }
  }
}
