// Names: literals, answers that are kept, look-ups that are shared.

import Glibc
import Synchronization
import Testing
import Threads

@testable import EventLoop

@Suite struct ResolverTests {
  @Test func literalsAreTheirOwnAnswer() async throws {
    let resolver = Resolver(threads: 1, limits: Resolver.Limits()) { _ in fatalError("nothing is to be looked up") }
    #expect(try await resolver.resolve("192.0.2.1", port: 80).map(\.description) == ["192.0.2.1:80"])
    #expect(try await resolver.resolve("2001:db8::1", port: 81).map(\.description) == ["[2001:db8::1]:81"])
    await #expect(throws: ResolveError.notFound) { try await resolver.resolve("", port: 1) }
    await #expect(throws: ResolveError.notFound) { try await resolver.resolve("a\0b", port: 1) }
  }

  @Test func localhostIsOnLoopback() async throws {
    let addresses = try await Resolver(threads: 2).resolve("localhost", port: 8080)
    #expect(!addresses.isEmpty)
    #expect(addresses.allSatisfy { $0.isLoopback && $0.port == 8080 })
  }

  @Test func aNameThatCannotBeIsExplained() async throws {
    let resolver = Resolver(threads: 1)
    do throws(ResolveError) {
      _ = try await resolver.resolve("no such host.invalid", port: 80)
      Issue.record("it has an address")
    } catch {
      #expect(!error.explanation.isEmpty)
    }
    #expect(ResolveError.notFound.explanation == "there is no such host")
  }

  @Test func lookupsOfOneNameAreOneAndTheAnswerIsKept() async throws {
    let gate = Gate()
    let resolver = Resolver(threads: 4, limits: Resolver.Limits()) { gate.pass($0) }
    let answers = await withTaskGroup(of: Int.self) { group in
      for port in 1...20 {
        group.addTask { (try? await resolver.resolve("Shared.example", port: UInt16(port)))?.count ?? -1 }
      }
      gate.open()
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers == Array(repeating: 1, count: 20))
    _ = try await resolver.resolve("shared.EXAMPLE", port: 9)
    #expect(gate.names == ["shared.example"])
  }

  @Test func failuresAreKeptTooAndEndWithTheirTime() async throws {
    let gate = Gate(answer: .failure(.temporary))
    gate.open()
    var limits = Resolver.Limits()
    limits.failedSeconds = 3600
    let keeping = Resolver(threads: 1, limits: limits) { gate.pass($0) }
    for _ in 0..<3 { await #expect(throws: ResolveError.temporary) { try await keeping.resolve("a", port: 1) } }
    #expect(gate.names == ["a"])
    limits.failedSeconds = 0
    let forgetting = Resolver(threads: 1, limits: limits) { gate.pass($0) }
    for _ in 0..<3 { await #expect(throws: ResolveError.temporary) { try await forgetting.resolve("b", port: 1) } }
    #expect(gate.names == ["a", "b", "b", "b"])
  }

  @Test func waitingNamesAreBounded() async throws {
    let gate = Gate()
    var limits = Resolver.Limits()
    limits.waiting = 0
    let resolver = Resolver(threads: 1, limits: limits) { gate.pass($0) }
    await #expect(throws: ResolveError.busy) { try await resolver.resolve("a", port: 1) }
    gate.open()
  }

  @Test func aCancelledWaitEndsWhileTheLookupGoesOn() async throws {
    let gate = Gate()
    let resolver = Resolver(threads: 1, limits: Resolver.Limits()) { gate.pass($0) }
    let waiting = Task { try await resolver.resolve("slow", port: 1) }
    waiting.cancel()
    await #expect(throws: ResolveError.cancelled) { try await waiting.value }
    gate.open()
    #expect(try await resolver.resolve("slow", port: 2).count == 1)
  }
}

/// A look-up that waits until the test lets it go on.
private final class Gate: Sendable {
  private let monitor: Monitor<(isOpen: Bool, names: [String])> = Monitor((false, []))
  private let answer: Resolver.Answer

  init(answer: Resolver.Answer = .success([SocketAddress(bytes: [192, 0, 2, 1], port: 0)])) { self.answer = answer }

  func open() {
    monitor.withLock { $0.isOpen = true }
    monitor.broadcast()
  }

  var names: [String] { monitor.withLock { $0.names } }

  func pass(_ name: String) -> Resolver.Answer {
    monitor.wait { state in
      guard state.isOpen else { return .wait(until: nil) }
      state.names.append(name)
      return .done(answer)
    }
  }
}
