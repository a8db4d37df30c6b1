// Signals arrive as calls, also where threads were started before the source.

import EventLoop
import Glibc
import Testing

@Suite struct SignalTests {
  @Test func aSignalIsDeliveredOffItsHandler() async throws {
    let (arrivals, sink) = AsyncStream.makeStream(of: ProcessSignal.self)
    _ = try SignalSource { sink.yield($0) }
    var signals = arrivals.makeAsyncIterator()
    for (number, expected) in [(SIGHUP, ProcessSignal.hangUp), (SIGTERM, .terminate), (SIGINT, .interrupt)] {
      kill(getpid(), number)
      #expect(await signals.next() == expected)
    }
  }
}
