// The threads that a store cannot do without.
import Glibc
import Threads

/// Runs `body` on a new thread of this name; it must be joined or detached.
///
/// Where the system gives none, the process ends and says so: a store without these threads could neither write nor close,
/// and what is on its disk stands a sudden end at any point.
func startStoreThread(_ name: String, _ body: @escaping @Sendable () -> Void) -> pthread_t {
  do {
    return try startThread(name, body)
  } catch {
    fatalError(error.description)
  }
}
