// What loops and disk threads leave for the index thread.
import Threads

/// A representation's data that is to be deleted because nobody can reach it any more.
struct Deletion: Sendable {
  var id: UInt64
  /// Items of packs that are not meant any more.
  var places: [Extent]
  /// Whether the index may have rows of it.
  var isRecorded: Bool
  /// Bytes of its own file.
  var allocated: UInt64
  /// Whether it has one, whatever the index says: a body that has outgrown its pack is still there in it for a while.
  var hasFile: Bool
  /// The address of the object that it had: the registry has its entry until this is done.
  var identity: UInt?
}

/// What somebody waits for.
enum Command: Sendable {
  /// Write a journal batch with all that has changed.
  case flush(@Sendable () -> Void)
  /// Make all that has changed durable.
  case commit(@Sendable () -> Void)
  /// Evict until so many bytes can be promised, and promise them; nil where nothing is left to evict.
  case makeRoom(UInt64, @Sendable (Reservation?) -> Void)
  /// The commit in flight was tried; why it is not durable, or nil.
  case committed(failure: String?)
  case stop
  /// End without writing anything more, as if the process had been killed.
  case abandon
}

/// A box with a lock; putting something in never waits for the disk.
final class Inbox: Sendable {
  struct Content {
    var changed: [Representation] = []
    var used: [UInt64] = []
    var deletions: [Deletion] = []
    var released: [Extent] = []
    var commands: [Command] = []
    var hasKeys = false
    var needsRoom = false

    /// Whether something waits that a flush would persist.
    var hasChanges: Bool { hasKeys || !changed.isEmpty || !deletions.isEmpty || !released.isEmpty || !used.isEmpty }
    fileprivate var isUrgent: Bool { !commands.isEmpty || needsRoom }
  }

  private struct State {
    var content = Content()
    /// Whether the index thread is to be woken by whatever comes, not only by what is urgent.
    var isWaitingForAnything = false
  }

  private let state = Monitor(State())

  private func put(_ body: (inout Content) -> Void) {
    let wakes = state.withLock { state in
      body(&state.content)
      defer { state.isWaitingForAnything = false }
      return state.isWaitingForAnything || state.content.isUrgent
    }
    if wakes { state.signal() }
  }

  func enqueue(_ representation: Representation) { put { $0.changed.append(representation) } }

  func noteUse(_ id: UInt64) { put { $0.used.append(id) } }

  func delete(_ deletion: Deletion) { put { $0.deletions.append(deletion) } }

  func release(_ extents: [Extent]) { put { $0.released += extents } }

  func noteKeys() { put { $0.hasKeys = true } }

  func send(_ command: Command) { put { $0.commands.append(command) } }

  func wakeForRoom() { put { $0.needsRoom = true } }

  /// What has changed, without waiting; commands stay.
  func takeChanges() -> Content {
    state.withLock { state in
      var taken = state.content
      taken.commands = []
      let commands = state.content.commands
      state.content = Content()
      state.content.commands = commands
      return taken
    }
  }

  /// Waits for commands, or until there were changes for `interval` nanoseconds, or until `deadline`; returns what is
  /// there. A deadline of nil is none.
  func take(changesAfter interval: UInt64, deadline: UInt64?) -> Content {
    var changesDue: UInt64?
    return state.wait { state in
      state.isWaitingForAnything = false
      if !state.content.isUrgent {
        let now = monotonicNanoseconds()
        if state.content.hasChanges, changesDue == nil { changesDue = now + interval }
        let due = [changesDue, deadline].compactMap { $0 }.min()
        if due.map({ now < $0 }) ?? true {
          // The first change must be noticed when it comes, whatever else is waited for: its interval begins then.
          state.isWaitingForAnything = !state.content.hasChanges
          return .wait(until: due)
        }
      }
      defer { state.content = Content() }
      return .done(state.content)
    }
  }
}
