// Turns host names into addresses, off the loops.

import CLibevent
import Glibc
import Threads

/// Looks names up with `getaddrinfo` in threads of its own and remembers the answers. Used by all loops.
///
/// Look-ups of one name at a time are one look-up. An IP address is its own answer, at once.
public final class Resolver: Sendable {
  typealias Answer = Result<[SocketAddress], ResolveError>

  /// How long and how many answers are kept, and how many names may wait.
  struct Limits {
    var foundSeconds = 60.0
    var failedSeconds = 5.0
    var names = 4096
    var waiting = 1024
    var addresses = 16
  }

  private struct Waiter {
    let id: UInt64
    let continuation: UnsafeContinuation<Answer, Never>
  }

  private struct State {
    var answers: [String: (answer: Answer, until: Deadline)] = [:]
    var lookups: [String: [Waiter]] = [:]
    /// Names that no thread has begun with.
    var queue: [String] = []
    var nextID: UInt64 = 0
    var isStopped = false
  }

  private let monitor: Monitor<State>
  private let limits: Limits

  /// Starts `count` threads, which end with the resolver.
  public convenience init(threads count: Int = 4) {
    self.init(threads: count, limits: Limits(), lookup: systemLookup)
  }

  init(threads count: Int, limits: Limits, lookup: @escaping @Sendable (String) -> Answer) {
    let monitor = Monitor(State())
    self.monitor = monitor
    self.limits = limits
    for index in 0..<max(1, count) {
      // A thread that cannot be had makes look-ups slower; with none they are refused as busy.
      if let thread = try? startThread("larder-dns-\(index)", { Self.serve(monitor, limits, lookup) }) {
        pthread_detach(thread)
      }
    }
  }

  deinit {
    monitor.withLock { $0.isStopped = true }
    monitor.broadcast()
  }

  /// The addresses of `host` with `port`, in the order to try them, at least one. May be called on any thread.
  ///
  /// - Parameter host: a name, or an address without brackets.
  public func resolve(_ host: String, port: UInt16) async throws(ResolveError) -> [SocketAddress] {
    if let literal = SocketAddress(ip: host, port: port) { return [literal] }
    // A NUL would end the name early, and look up another one.
    guard !host.isEmpty, host.utf8.count <= 255, !host.utf8.contains(0) else { throw .notFound }
    return try await answer(for: host.lowercased()).get().map { $0.with(port: port) }
  }

  private func answer(for name: String) async -> Answer {
    let id = monitor.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let known = monitor.withLock { begin(name, Waiter(id: id, continuation: continuation), in: &$0) }
        if let known { continuation.resume(returning: known) } else { monitor.signal() }
      }
    } onCancel: {
      let waiter = monitor.withLock { state -> Waiter? in
        guard let index = state.lookups[name]?.firstIndex(where: { $0.id == id }) else { return nil }
        return state.lookups[name]?.remove(at: index)
      }
      waiter?.continuation.resume(returning: .failure(.cancelled))
    }
  }

  /// The answer where it is known; else the waiter stands in line for it.
  private func begin(_ name: String, _ waiter: Waiter, in state: inout State) -> Answer? {
    if let known = state.answers[name] {
      if known.until > .now { return known.answer }
      state.answers[name] = nil
    }
    if Task.isCancelled { return .failure(.cancelled) }
    if state.lookups[name] != nil {
      state.lookups[name]?.append(waiter)
      return nil
    }
    guard state.queue.count < limits.waiting else { return .failure(.busy) }
    state.lookups[name] = [waiter]
    state.queue.append(name)
    return nil
  }

  /// One thread: takes names until the resolver has gone.
  private static func serve(_ monitor: Monitor<State>, _ limits: Limits, _ lookup: (String) -> Answer) {
    while let name = monitor.wait(nextName) {
      let answer = lookup(name).map { Array($0.prefix(limits.addresses)) }
      let waiters = monitor.withLock { state in
        remember(answer, for: name, limits, in: &state)
        return state.lookups.removeValue(forKey: name) ?? []
      }
      for waiter in waiters { waiter.continuation.resume(returning: answer) }
    }
  }

  /// The next name to look up; nil when there will be none.
  private static func nextName(_ state: inout State) -> Monitor<State>.Look<String?> {
    if state.isStopped { return .done(nil) }
    return state.queue.isEmpty ? .wait(until: nil) : .done(state.queue.removeFirst())
  }

  private static func remember(_ answer: Answer, for name: String, _ limits: Limits, in state: inout State) {
    let seconds: Double
    switch answer {
    case .success: seconds = limits.foundSeconds
    case .failure: seconds = limits.failedSeconds
    }
    if state.answers.count >= limits.names {
      let now = Deadline.now
      state.answers = state.answers.filter { $0.value.until > now }
      if state.answers.count >= limits.names, let victim = state.answers.keys.first { state.answers[victim] = nil }
    }
    state.answers[name] = (answer, .after(seconds: seconds))
  }
}

/// Asks the system, which may take its time.
private func systemLookup(_ name: String) -> Resolver.Answer {
  var hints = addrinfo()
  hints.ai_family = AF_UNSPEC
  hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
  var first: UnsafeMutablePointer<addrinfo>?
  let code = getaddrinfo(name, nil, &hints, &first)
  guard code == 0 else { return .failure(ResolveError(code: code)) }
  defer { freeaddrinfo(first) }
  var found: [SocketAddress] = []
  var next = first
  while let entry = next {
    if let raw = entry.pointee.ai_addr, let address = SocketAddress(system: raw), !found.contains(address) {
      found.append(address)
    }
    next = entry.pointee.ai_next
  }
  return found.isEmpty ? .failure(.notFound) : .success(found)
}
