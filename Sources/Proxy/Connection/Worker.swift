// One worker: a loop, its client connections, its listeners and its upstream connections.

import Configuration
import Diagnostics
import EventLoop
import Fill
import Synchronization
import Upstream

/// The actor whose executor is one loop; everything of a connection runs on it.
actor Worker: LoopBound {
  nonisolated let loop: EventLoop
  private let context: ProxyContext
  private var listeners: [Listener] = []
  private var parts: WorkerParts?
  private let table: ClientTable
  private var sweep: LoopTimer?
  private var drained: [UnsafeContinuation<Void, Never>] = []

  init(loop: EventLoop, context: ProxyContext) {
    self.loop = loop
    self.context = context
    table = ClientTable(limitPerAddress: context.settings.clients.connectionsPerAddress)
  }

  /// Listens on `address`, beside the other workers (SO_REUSEPORT).
  ///
  /// - Returns: the address bound, for a port of 0.
  func listen(on address: SocketAddress) throws -> SocketAddress {
    prepare()
    // The listener calls on this worker's loop, where the parts are made.
    let listener = try Listener(
      address: address, on: loop, backlog: 1024,
      admits: { [weak self] peer in self?.assumeIsolated { $0.admits(peer) } ?? false },
      accept: { [weak self] stream in
        let stream = LoopConfined(stream)
        self?.assumeIsolated { $0.accept(stream) }
      })
    listeners.append(listener)
    return listener.boundAddress
  }

  /// Makes what requests share, once.
  private func prepare() {
    guard parts == nil else { return }
    let access = context.access
    let pool = ConnectionPool(
      loop: loop, resolver: context.resolver, settings: context.settings, counters: context.upstreamCounters,
      check: { access.refusal(ofDestination: $0) })
    parts = WorkerParts(context: context, loop: loop, pool: pool) { [unowned self] body in spawn(body) }
    scheduleSweep()
  }

  /// Whether a connection has a prospect of being served. One that has none is not looked at any further: those of a
  /// client beyond its limits may come by the thousand.
  private func admits(_ peer: SocketAddress) -> Bool {
    context.counters.connections.add()
    guard !context.isDraining, hasRoom(for: peer.addressBytes) else {
      context.counters.shedConnections.add()
      return false
    }
    return true
  }

  private func hasRoom(for address: [UInt8]) -> Bool {
    let clients = context.settings.clients
    if context.clients.count(of: address) >= clients.connectionsPerAddress,
      table.address(address).replaceable == nil
    {
      context.counters.limits.add(.connectionsPerAddress)
      return false
    }
    return true
  }

  private func accept(_ stream: LoopConfined<ByteStream>) {
    guard let parts else { return stream.value.abort() }
    guard makeRoom(for: stream.value.peer.addressBytes) else {
      context.counters.shedConnections.add()
      stream.value.abort()
      return
    }
    let connection = ClientConnection(
      stream: stream.value, address: table.address(stream.value.peer.addressBytes), parts: parts)
    table.add(connection)
    // A cycle of references until the connection has ended.
    let carried = LoopConfined(connection)
    connection.resume = { [weak self] in self?.assumeIsolated { $0.serve(carried) } }
    serve(carried)
    // The peer's leaving is noticed while the request waits for something else.
    stream.value.onPeerGone { end in
      switch end {
      case .reset: connection.task?.cancel()
      case .finished: connection.clientHasFinished()
      }
    }
  }

  private func serve(_ carried: LoopConfined<ClientConnection>) {
    carried.value.task = spawn { [self] in
      if case .ended = await carried.value.serve() { ended(carried.value) }
    }
  }

  /// Counts one more connection of this address. Where that is one too many, the one that has waited longest for a
  /// request goes for it: so a client that holds many slow ones gets the better of itself only.
  ///
  /// - Returns: false where all have a request under way, or all clients together have too many; nothing is counted then.
  private func makeRoom(for address: [UInt8]) -> Bool {
    let clients = context.settings.clients
    if context.clients.add(address) > clients.connectionsPerAddress {
      context.counters.limits.add(.connectionsPerAddress)
      guard replaceOne(of: table.address(address)) else {
        context.clients.remove(address)
        return false
      }
    }
    if context.counters.openConnections.wrappingAdd(1, ordering: .relaxed).newValue > clients.connections {
      context.counters.limits.add(.connections)
      context.clients.remove(address)
      context.counters.openConnections.wrappingSubtract(1, ordering: .relaxed)
      return false
    }
    return true
  }

  private func replaceOne(of address: ClientAddress) -> Bool {
    guard let connection = address.replaceable else { return false }
    address.countReplacement()
    context.counters.shedConnections.add()
    connection.makeWay()
    forget(connection)
    return true
  }

  private func forget(_ connection: ClientConnection) {
    guard table.remove(connection) else { return }
    context.clients.remove(connection.address.bytes)
    context.counters.openConnections.wrappingSubtract(1, ordering: .relaxed)
  }

  private func ended(_ connection: ClientConnection) {
    connection.resume = {}
    forget(connection)
    guard table.isEmpty else { return }
    for continuation in drained { continuation.resume() }
    drained = []
  }

  /// Idle upstream connections are looked through every few seconds.
  private func scheduleSweep() {
    sweep = loop.timer(at: .after(seconds: 5)) { [weak self] in
      self?.assumeIsolated { worker in
        worker.parts?.pool.closeIdle()
        worker.scheduleSweep()
      }
    }
  }

  /// No new connections; idle ones are closed, the others after their current response.
  func drain() async {
    for listener in listeners { listener.close() }
    listeners = []
    for connection in table.all { connection.closeIfIdle() }
    // Looked at inside: the last connection may end while this task is on its way to wait.
    await withUnsafeContinuation { continuation in
      if table.isEmpty { continuation.resume() } else { drained.append(continuation) }
    }
  }

  /// Ends everything at once.
  func stop() {
    for listener in listeners { listener.close() }
    listeners = []
    sweep?.cancel()
    for connection in table.all { connection.abort() }
    for continuation in drained { continuation.resume() }
    drained = []
    parts?.pool.closeIdle(all: true)
  }
}

/// What the requests of one worker share. Bound to that worker's loop.
final class WorkerParts {
  let context: ProxyContext
  let loop: EventLoop
  let pool: ConnectionPool
  let codingTurns: CodingTurns
  /// Begins a task on this worker's loop that outlives the request that began it.
  let spawn: (@escaping () async -> Void) -> Task<Void, Never>

  init(
    context: ProxyContext, loop: EventLoop, pool: ConnectionPool,
    spawn: @escaping (@escaping () async -> Void) -> Task<Void, Never>
  ) {
    self.context = context
    self.loop = loop
    self.pool = pool
    codingTurns = CodingTurns(loop: loop)
    self.spawn = spawn
  }
}
