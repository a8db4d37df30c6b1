// Listeners: ports chosen by the system, shared by workers, and descriptors running out.

import EventLoop
import Glibc
import Testing

@Suite struct ListenerTests {
  @Test func twoWorkersShareAPortThatTheSystemChose() async throws {
    let loops = (try EventLoop.start(name: "one"), try EventLoop.start(name: "two"))
    defer {
      loops.0.stop()
      loops.1.stop()
    }
    let greeters = (Greeter(loops.0, greeting: 1), Greeter(loops.1, greeting: 2))
    let address = try await greeters.0.listen(on: anyPort)
    #expect(address.port != 0)
    #expect(try await greeters.1.listen(on: address) == address)
    let greetings = try await Bench(loops.0).run { bench in
      var greetings: Set<UInt8> = []
      // The system spreads by the client's port; that 200 of them all hash to one side does not happen.
      for _ in 0..<200 {
        let stream = try await ByteStream.connect(to: address, on: bench.loop, deadline: .after(seconds: patience))
        greetings.formUnion(try await stream.readAll())
      }
      return greetings
    }
    #expect(greetings == [1, 2])
  }

  @Test func anAddressInUseIsAnError() async throws {
    try await withBench { bench in
      // Held without SO_REUSEPORT, as by another program.
      let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(other) }
      try #require(listen(other, 1) == 0)
      var address = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let code = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(other, $0, &size) }
      }
      try #require(code == 0)
      let taken = try #require(SocketAddress(ip: "127.0.0.1", port: UInt16(bigEndian: address.sin_port)))
      #expect(throws: StreamError.system(EADDRINUSE)) { try Listener(address: taken, on: bench.loop) { _ in } }
    }
  }

  @Test func aPausedListenerLeavesConnectionsWaiting() async throws {
    try await withBench { bench in
      let arrivals = Arrivals()
      let listener = try Listener(address: anyPort, on: bench.loop) { arrivals.add($0) }
      listener.pause()
      let client = try await ByteStream.connect(
        to: listener.boundAddress, on: bench.loop, deadline: .after(seconds: patience))
      try await client.send([5])
      listener.resume()
      #expect(try await arrivals.next().readSome() == [5])
    }
  }

  /// Whatever congestion control the machine has: with bbr a large hit within one machine took twice as long.
  @Test func aConnectionWithinTheMachineIsNotPaced() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      let accepted = try #require(
        (0..<4096 as Range<Int32>).first {
          port(of: $0, getsockname) == pair.server.local.port && port(of: $0, getpeername) == pair.client.local.port
        })
      var name = [UInt8](repeating: 0, count: 16)
      var size = socklen_t(name.count)
      try #require(getsockopt(accepted, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &size) == 0)
      #expect(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) == "reno")
    }
  }
}

/// Accepts, says who it is, closes.
private actor Greeter: LoopBound {
  nonisolated let loop: EventLoop
  private let greeting: UInt8
  private var listener: Listener?

  init(_ loop: EventLoop, greeting: UInt8) {
    self.loop = loop
    self.greeting = greeting
  }

  func listen(on address: SocketAddress) throws -> SocketAddress {
    let greeting = greeting
    let listener = try Listener(address: address, on: loop) { [weak self] stream in
      self?.spawn {
        try? await stream.send([greeting])
        stream.close()
      }
    }
    self.listener = listener
    return listener.boundAddress
  }
}

/// The port of one side of an IPv4 socket; nil for what is none.
private func port(
  of descriptor: Int32, _ side: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
) -> UInt16? {
  var address = sockaddr_in()
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let code = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { side(descriptor, $0, &size) }
  }
  return code == 0 && address.sin_family == sa_family_t(AF_INET) ? UInt16(bigEndian: address.sin_port) : nil
}
