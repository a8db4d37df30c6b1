// Loops: what runs where, wake-ups from other threads, timers and the orderly end.

import Glibc
import Synchronization
import Testing

@testable import EventLoop

@Suite struct LoopTests {
  @Test func tasksStayOnTheirLoopThroughEveryWait() async throws {
    try await withBench { bench in
      let pair = try await bench.pair()
      #expect(bench.loop.isCurrent)
      let task = bench.spawn {
        #expect(bench.loop.isCurrent)
        _ = try? await pair.server.readSome()
        #expect(bench.loop.isCurrent)
        await bench.loop.sleep(until: .after(seconds: 0.01))
        #expect(bench.loop.isCurrent)
      }
      try await pair.client.send([1])
      await task.value
      #expect(bench.loop.isCurrent)
    }
  }

  @Test func callbacksOfTheLoopAreIsolatedToItsActor() async throws {
    let loop = try EventLoop.start(name: "test")
    defer { loop.stop() }
    let bench = Bench(loop)
    await withCheckedContinuation { continuation in
      // Set from outside the loop.
      _ = loop.timer(at: .now) {
        #expect(loop.isCurrent)
        bench.assumeIsolated { _ = $0.increment(1) }
        continuation.resume()
      }
    }
    #expect(await bench.calls == 1)
    #expect(!loop.isCurrent)
  }

  @Test func thousandTasksPlayPingPongOverTwoLoops() async throws {
    let loops = (try EventLoop.start(name: "one"), try EventLoop.start(name: "two"))
    defer {
      loops.0.stop()
      loops.1.stop()
    }
    let left = Bench(loops.0)
    let right = Bench(loops.1)
    let sum = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<1000 {
        group.addTask {
          var number = 0
          for _ in 0..<10 {
            number = await left.increment(number)
            number = await right.increment(number)
          }
          return number
        }
      }
      return await group.reduce(0, +)
    }
    #expect(sum == 20_000)
    #expect(await left.calls == 10_000)
    #expect(await right.calls == 10_000)
  }

  @Test func theEndOfATurnComesBehindAllThatHaveTheirTurn() async throws {
    try await withBench { bench in
      var order: [String] = []
      let tasks = (0..<4).map { number in
        bench.spawn {
          order.append("work \(number)")
          await bench.loop.turnEnd()
          order.append("send \(number)")
        }
      }
      for task in tasks { await task.value }
      // The last has nobody to wait for.
      #expect(order == ["work 0", "work 1", "work 2", "work 3", "send 3", "send 0", "send 1", "send 2"])
    }
  }

  @Test func theEndOfATurnDoesNotWaitForAllThatIsReady() async throws {
    try await withBench { bench in
      var order: [Int] = []
      let first = bench.spawn {
        await bench.loop.turnEnd()
        order.append(-1)
      }
      let others = (0..<64).map { number in
        bench.spawn {
          let end = Deadline.after(seconds: 0.001)
          while Deadline.now < end {}
          order.append(number)
        }
      }
      await first.value
      for task in others { await task.value }
      #expect(order.filter { $0 >= 0 } == Array(0..<64), "in the order in which they came")
      let place = try #require(order.firstIndex(of: -1))
      #expect(place < 32)
    }
  }

  @Test func aSleepingLoopIsWokenFromAnotherThread() async throws {
    let loop = try EventLoop.start(name: "test")
    defer { loop.stop() }
    for _ in 0..<200 {
      await withCheckedContinuation { continuation in loop.perform { continuation.resume() } }
    }
  }

  @Test func timersFireInOrderAndCancelledOnesNever() async throws {
    try await withBench { bench in
      let fired = Mutex<[Int]>([])
      var timers: [LoopTimer] = []
      await withCheckedContinuation { continuation in
        for (number, seconds) in [(3, 0.09), (1, 0.03), (2, 0.06), (9, 0.05)] {
          timers.append(
            bench.loop.timer(at: .after(seconds: seconds)) {
              fired.withLock { $0.append(number) }
              if number == 3 { continuation.resume() }
            })
        }
        timers[3].cancel()
        timers[3].cancel()
      }
      #expect(fired.withLock { $0 } == [1, 2, 3])
    }
  }

  @Test func timersCancelledOnAnotherThreadDoNotFire() async throws {
    let loop = try EventLoop.start(name: "test")
    let hasFired = ClosedFlag()
    let timer = loop.timer(at: .after(seconds: 0.2)) { hasFired.set() }
    timer.cancel()
    await Bench(loop).run { await $0.loop.sleep(until: .after(seconds: 0.3)) }
    loop.stop()
    #expect(!hasFired.isSet)
  }

  @Test func sleepEndsWhenItsTaskIsCancelled() async throws {
    try await withBench { bench in
      let sleeper = bench.spawn { await bench.loop.sleep(until: .never) }
      sleeper.cancel()
      await sleeper.value
    }
  }

  @Test func stoppingEndsWhatWaits() async throws {
    let loop = try EventLoop.start(name: "test")
    let bench = Bench(loop)
    let (sleeper, reader) = try await bench.run { bench in
      let pair = try await bench.pair()
      let reader = bench.spawn { #expect(await failure { _ = try await pair.client.readSome() } == .closed) }
      return (bench.spawn { await bench.loop.sleep(until: .after(seconds: 3600)) }, reader)
    }
    loop.stop()
    loop.stop()
    await sleeper.value
    await reader.value
  }

  @Test func theHeapGivesTimersInTheOrderOfTheirTime() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<50 {
      var heap = TimerHeap()
      let entries = (0..<100).map { _ in TimerEntry {} }
      for _ in 0..<400 {
        let entry = entries[Int.random(in: 0..<100, using: &random)]
        if Bool.random(using: &random) {
          heap.schedule(entry, at: Deadline(nanoseconds: .random(in: 0..<1_000_000_000, using: &random)))
        } else {
          heap.remove(entry)
        }
      }
      let expected = entries.filter(\.isScheduled).map(\.due).sorted()
      var popped: [Deadline] = []
      while let entry = heap.popDue(Deadline(nanoseconds: 2_000_000_000)) { popped.append(entry.due) }
      #expect(popped == expected)
      #expect(heap.earliest == .never)
      #expect(entries.allSatisfy { !$0.isScheduled })
    }
  }

  @Test func deadlinesSaturate() {
    #expect(Deadline.after(seconds: .infinity) == .never)
    #expect(Deadline.after(.seconds(Int64.max)) == .never)
    #expect(Deadline.after(seconds: -5) <= .now)
    #expect(Deadline.after(.milliseconds(500)) < .after(seconds: 1000))
    #expect(Duration.milliseconds(1500).inSeconds == 1.5)
  }
}
