// The lock on a store: one process at a time, let go at once, and never in the way of a start.
import Glibc
import Synchronization
import Testing

@testable import Store

@Suite struct LockTests {
  /// A descriptor of what an open descriptor of `path` refers to, as a child has it until it is another program.
  private func duplicate(of path: String) throws -> Int32 {
    for name in SystemCalls().names(in: "/proc/self/fd") {
      var buffer = [CChar](repeating: 0, count: 4096)
      let count = readlink("/proc/self/fd/\(name)", &buffer, buffer.count)
      let found = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if found == path, let number = Int32(name) { return fcntl(number, F_DUPFD_CLOEXEC, 0) }
    }
    throw SystemError(code: ENOENT)
  }

  @Test func aStoreThatWasLetGoCanBeOpenedWhateverOthersInheritedOfIt() async throws {
    let directory = try Directory()
    let settings = options(directory)
    for isClosed in [true, false] {
      let store = try Store.open(settings)
      let inherited = try duplicate(of: settings.directory + "/lock")
      defer { close(inherited) }
      #expect(throws: StoreOpenError.inUse(directory: settings.directory)) { try Store.open(settings) }
      if isClosed { await store.close() } else { store.abandon() }
      #expect(!StoreLock.isTaken(Layout(directory: settings.directory), SystemCalls()))
      try Store.open(settings).abandon()
    }
  }

  /// `larder verify` asks while a server is started.
  @Test func whoAsksWhetherItIsTakenKeepsNobodyOut() throws {
    let directory = try Directory()
    let settings = options(directory)
    let layout = Layout(directory: settings.directory)
    let calls = SystemCalls()
    mkdir(layout.root, 0o755)
    try StoreLock(calls.openNeeded(layout.lock, flags: O_RDWR | O_CREAT), layout).release()
    let isDone = Atomic<Bool>(false)
    let asked = Atomic<Int>(0)
    let asker = startStoreThread("asker") {
      while !isDone.load(ordering: .relaxed) {
        _ = StoreLock.isTaken(layout, calls)
        asked.wrappingAdd(1, ordering: .relaxed)
      }
    }
    defer {
      isDone.store(true, ordering: .relaxed)
      pthread_join(asker, nil)
    }
    while asked.load(ordering: .relaxed) == 0 { sched_yield() }
    for _ in 0..<2000 { try StoreLock(calls.openNeeded(layout.lock, flags: O_RDWR), layout).release() }
  }

  @Test func aDirectoryWithSomebodysFilesIsNotTaken() async throws {
    let directory = try Directory()
    let settings = options(directory)
    mkdir(settings.directory, 0o755)
    for name in [".hidden", "lost+found"] { mkdir(settings.directory + "/" + name, 0o755) }
    let notes = settings.directory + "/notes"
    close(open(notes, O_CREAT | O_WRONLY, 0o644))
    #expect(throws: StoreOpenError.occupied(directory: settings.directory, name: "notes")) { try Store.open(settings) }
    #expect(Set(SystemCalls().names(in: settings.directory)) == [".hidden", "lost+found", "notes"])
    unlink(notes)
    try await Store.open(settings).close()
    // Once it is a cache, it stays one.
    close(open(notes, O_CREAT | O_WRONLY, 0o644))
    try await Store.open(settings).close()
  }
}
