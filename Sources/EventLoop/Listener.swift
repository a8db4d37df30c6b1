// Accepts connections on one address, on one loop, beside the listeners of other loops on the same address.

import CLibevent
import Glibc

/// A listening socket. Bound to one loop: made, used and closed there. Letting go of it closes it.
public final class Listener {
  /// The address bound, with the port the system chose where 0 was asked for.
  public let boundAddress: SocketAddress
  private let core: ListenerCore

  /// Listens on `address`, which other listeners of the process may share (SO_REUSEPORT): the system spreads the
  /// connections over them. An IPv6 address takes no IPv4 connections.
  ///
  /// - Parameter admits: is asked on the loop, given the peer, whether to take a connection; it is reset otherwise,
  ///   at a fraction of what a stream costs.
  /// - Parameter accept: is called on the loop with each connection.
  /// - Throws: `StreamError.system` where the address cannot be bound.
  public init(
    address: SocketAddress, on loop: EventLoop, backlog: Int = 1024,
    admits: @escaping (SocketAddress) -> Bool = { _ in true }, accept: @escaping (ByteStream) -> Void
  ) throws {
    let descriptor = try makeSocket(address.family)
    setOption(descriptor, Int(SOL_SOCKET), SO_REUSEADDR, 1)
    setOption(descriptor, Int(SOL_SOCKET), SO_REUSEPORT, 1)
    if address.isIPv6 { setOption(descriptor, Int(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
    // Accepted sockets inherit it.
    setOption(descriptor, IPPROTO_TCP, TCP_NODELAY, 1)
    if address.isLoopback { acceptUnpaced(descriptor) }
    guard address.withSystemAddress({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, Int32(backlog)) == 0,
      let bound = SocketAddress(ofSocket: descriptor)
    else {
      let code = errno
      Glibc.close(descriptor)
      throw StreamError(code: code)
    }
    boundAddress = bound
    core = try ListenerCore(adopting: descriptor, on: loop, admits: admits, accept: accept)
  }

  deinit {
    guard !core.loop.isCurrent else {
      core.close()
      return
    }
    let carried = LoopConfined(core)
    core.loop.perform { carried.value.close() }
  }

  /// Accepts nothing until `resume()`; connections wait in the backlog.
  public func pause() { core.pause() }

  /// Accepts again.
  public func resume() { core.resume() }

  /// Stops listening. Later calls do nothing.
  public func close() { core.close() }
}

/// The listening socket as its loop sees it.
private final class ListenerCore: LoopResource {
  let loop: EventLoop
  private var descriptor: Int32
  private var event: OpaquePointer?
  private let admits: (SocketAddress) -> Bool
  private var accept: ((ByteStream) -> Void)?
  private var isPaused = false
  private var timer: TimerEntry?

  init(
    adopting descriptor: Int32, on loop: EventLoop, admits: @escaping (SocketAddress) -> Bool,
    accept: @escaping (ByteStream) -> Void
  ) throws {
    precondition(loop.isCurrent, "a listener is made on its loop")
    self.loop = loop
    self.descriptor = descriptor
    self.admits = admits
    self.accept = accept
    event = event_new(
      loop.confined.base, descriptor, Int16(EV_READ) | Int16(EV_PERSIST), listenerIsReady,
      Unmanaged.passUnretained(self).toOpaque())
    guard event != nil, event_add(event, nil) == 0 else {
      if let event { event_free(event) }
      Glibc.close(descriptor)
      throw StreamError.system(ENOMEM)
    }
    loop.confined.add(self)
  }

  func pause() {
    guard event != nil else { return }
    isPaused = true
    event_del(event)
  }

  func resume() {
    guard event != nil else { return }
    isPaused = false
    event_add(event, nil)
  }

  func close() {
    guard let event else { return }
    event_free(event)
    self.event = nil
    Glibc.close(descriptor)
    descriptor = -1
    accept = nil
    if let timer { loop.confined.timers.remove(timer) }
    timer = nil
    loop.confined.remove(self)
  }

  /// Accepts what waits, at least one and for a time: the streams already open have their turn too.
  fileprivate func acceptBatch() {
    // The callback may close or pause this listener.
    repeat {
      guard let accept, !isPaused else { return }
      var taken: Int32 = -1
      let peer = SocketAddress.reading { address, size in
        taken = accept_nonblocking(descriptor, address, size)
        return taken >= 0
      }
      guard taken >= 0 else {
        switch errno {
        case EAGAIN: return
        // The connection ended before it was taken, or its network had an error (accept(2)); others may be there.
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return rest()
        default: continue
        }
      }
      guard admits(peer ?? .unspecified) else {
        resetWhenClosed(taken)
        Glibc.close(taken)
        continue
      }
      guard let core = try? StreamCore(adopting: taken, isConnected: true, on: loop) else { return rest() }
      accept(ByteStream(core, peer: peer ?? .unspecified))
    } while !loop.confined.isTurnOver
  }

  /// Out of descriptors or memory: a level-triggered listener would spin, so it looks again a little later.
  private func rest() {
    event_del(event)
    let timer = TimerEntry { [unowned self] in
      if !isPaused, event != nil { event_add(event, nil) }
    }
    self.timer = timer
    loop.confined.timers.schedule(timer, at: .after(seconds: Self.restSeconds))
  }

  private static let restSeconds = 0.1
}

private func listenerIsReady(_: Int32, _: Int16, context: UnsafeMutableRawPointer?) {
  guard let context else { return }
  Unmanaged<ListenerCore>.fromOpaque(context).takeUnretainedValue().acceptBatch()
}
