// The index thread of a store that could not be written when it was opened.

import Synchronization

extension IndexThread {
  /// The first commit could not be made: it is tried again with the first of this run, and nothing is taken in before.
  func begin(with beginning: Operations) {
    add(beginning)
    gathering.firstChange = 0
  }

  /// Serves a store on a read-only file system until told to stop: what changes is known in memory, as long as that
  /// pays, and is lost at the end.
  func runReadOnly() {
    warmUp()
    while true {
      let content = engine.inbox.take(changesAfter: UInt64(engine.options.journalInterval * 1e9), deadline: nil)
      for representation in content.changed { representation.state.withLock { $0.isQueued = false } }
      // They count as made durable, so that they may be forgotten.
      if content.hasKeys { _ = engine.keys.takeChanges(generation: 0) }
      for command in content.commands {
        switch command {
        case .flush(let done), .commit(let done): done()
        case .makeRoom(_, let done): done(nil)
        case .committed: break
        case .stop, .abandon: return
        }
      }
    }
  }
}
