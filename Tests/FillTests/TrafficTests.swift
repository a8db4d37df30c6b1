import Spans
import Testing

@testable import Fill

/// Claims never overlap, and fills run, pause or stop by who reads them.
@Suite struct TrafficTests {
  private func traffic(missing: UInt64 = 1_000, share: Double = 0) -> Traffic {
    Traffic(limits: FillLimits(readAhead: 100, finishIfMissing: 50, finishIfDone: 0.8)) { _, _ in (missing, share) }
  }

  private func lead(_ answer: ClaimAnswer) throws -> Claim {
    guard case .lead(let claim) = answer else { throw NotALead() }
    return claim
  }

  private struct NotALead: Error {}

  @Test func aClaimEndsWhereAnotherBegins() throws {
    let traffic = traffic()
    let later = try lead(traffic.claim(at: 500, upTo: 600, isResumable: true))
    let first = try lead(traffic.claim(at: 0, upTo: 1_000, isResumable: true))
    #expect(first.span == ByteSpan(0, 500))
    guard case .follow = traffic.claim(at: 550, upTo: 1_000, isResumable: true) else {
      Issue.record("a claimed position is followed")
      return
    }
    #expect(later.upper == 600)
  }

  @Test func claimsOfRandomGapsNeverOverlap() throws {
    var generator = SystemRandomNumberGenerator()
    let traffic = traffic()
    var claims: [Claim] = []
    for _ in 0..<500 {
      let position = UInt64.random(in: 0..<1_000, using: &generator)
      let upper = position + UInt64.random(in: 1...100, using: &generator)
      if case .lead(let claim) = traffic.claim(at: position, upTo: upper, isResumable: true) { claims.append(claim) }
      if claims.count > 5 { claims.remove(at: Int.random(in: 0..<5, using: &generator)).end(.complete) }
      let spans = claims.map(\.span).sorted { $0.lower < $1.lower }
      for (one, next) in zip(spans, spans.dropFirst()) { #expect(one.upper <= next.lower, "\(one) and \(next)") }
    }
  }

  @Test func takingOverCutsAClaimThatIsStillFarAway() throws {
    let traffic = traffic()
    let whole = try lead(traffic.claim(at: 0, upTo: .max, isResumable: true))
    let seek = try lead(traffic.claim(at: 700, upTo: 900, isResumable: true, takingOver: true))
    #expect(seek.span == ByteSpan(700, 900))
    #expect(whole.upper == 700)
  }

  @Test func whatIsBeingWrittenIsNotTakenOver() throws {
    let traffic = traffic()
    let whole = try lead(traffic.claim(at: 0, upTo: 1_000, isResumable: true))
    #expect(whole.hold(upTo: 800) == 800)
    guard case .follow = traffic.claim(at: 700, upTo: 900, isResumable: true, takingOver: true) else {
      Issue.record("two fills write byte 700")
      return
    }
    let seek = try lead(traffic.claim(at: 800, upTo: 900, isResumable: true, takingOver: true))
    #expect(seek.span == ByteSpan(800, 900))
    #expect(whole.hold(upTo: 850) == 800, "the end that it has now")
    whole.end(.cancelled)
    #expect(whole.hold(upTo: 850) == 0, "nothing is its own any more")
  }

  @Test func aClaimThatCannotBeAskedForAgainIsNotTakenOver() throws {
    let traffic = traffic()
    let whole = try lead(traffic.claim(at: 0, upTo: .max, isResumable: false))
    guard case .follow = traffic.claim(at: 700, upTo: 900, isResumable: false, takingOver: true) else {
      Issue.record("its bytes come by one exchange only")
      return
    }
    #expect(whole.upper == .max)
  }

  /// It may have been evicted since.
  @Test func whatAFillHasBroughtIsAnybodysToBringAgain() throws {
    let traffic = traffic()
    let first = try lead(traffic.claim(at: 0, upTo: 1_000, isResumable: true))
    _ = first.advance(to: 600)
    #expect(traffic.running(at: 599) == nil && traffic.hasPassed(599))
    #expect(traffic.running(at: 600) != nil && !traffic.hasPassed(600))
    let again = try lead(traffic.claim(at: 0, upTo: 1_000, isResumable: true))
    #expect(again.span == ByteSpan(0, 600), "up to what the first is still to bring")
    again.extend(to: 900)
    #expect(again.upper == 600)
    first.extend(to: 1_100)
    #expect(first.upper == 1_100, "nobody else is behind it")
  }

  @Test func aFillPausesBeyondTheReadAheadAndOnlyThen() throws {
    let traffic = traffic()
    let reader = traffic.enter(ByteSpan(0, 1_000))
    let claim = try lead(traffic.claim(at: 0, upTo: 1_000, isResumable: true))
    #expect(claim.advance(to: 99) == .run)
    #expect(claim.advance(to: 100) == .pause)
    reader.advance(to: 1)
    #expect(claim.advance(to: 100) == .run)
  }

  @Test func aFillThatCannotBeResumedNeverPauses() throws {
    let traffic = traffic()
    let reader = traffic.enter(ByteSpan(0, 1_000))
    let claim = try lead(traffic.claim(at: 0, upTo: 1_000, isResumable: false))
    #expect(claim.advance(to: 900) == .run)
    withExtendedLifetime(reader) {}
  }

  @Test(arguments: [(UInt64(51), 0.1, false), (50, 0.1, true), (1_000, 0.8, true), (1_000, 0.79, false)])
  func withoutReadersAFillGoesOnOnlyIfLittleIsMissing(missing: UInt64, share: Double, goesOn: Bool) throws {
    let traffic = traffic(missing: missing, share: share)
    let claim = try lead(traffic.claim(at: 0, upTo: 1_000, isResumable: true))
    #expect(claim.advance(to: 10) == (goesOn ? .run : .stop))
  }

  @Test func oneThatIsBeyondAClaimWantsNothingOfWhatComesRightBehindIt() throws {
    let traffic = traffic()
    let claim = try lead(traffic.claim(at: 0, upTo: 100, isResumable: true))
    let beyond = traffic.enter(ByteSpan(500, 1_000))
    #expect(claim.wantedBeyondEnd() == nil)
    let near = traffic.enter(ByteSpan(50, 300))
    #expect(claim.wantedBeyondEnd() == 300)
    withExtendedLifetime((beyond, near)) {}
  }

  @Test func whoWaitsIsWokenWhenTheFillHasPassedOrEnded() async throws {
    let traffic = traffic()
    let claim = try lead(traffic.claim(at: 0, upTo: 100, isResumable: true))
    let passed = Task { await traffic.wait(for: claim.followed, past: 10) }
    let ended = Task { await traffic.wait(for: claim.followed, past: 90) }
    _ = claim.advance(to: 11)
    guard case .moved = await passed.value else {
      Issue.record("byte 10 is there")
      return
    }
    claim.end(.refused(status: 404))
    guard case .ended(.refused(404)) = await ended.value else {
      Issue.record("the outcome reaches who waits")
      return
    }
  }

  @Test func aWaitEndsWithItsTask() async throws {
    let traffic = traffic()
    let claim = try lead(traffic.claim(at: 0, upTo: 100, isResumable: true))
    let waiting = Task { await traffic.wait(for: claim.followed, past: 10) }
    waiting.cancel()
    guard case .cancelled = await waiting.value else {
      Issue.record("a cancelled task does not wait on")
      return
    }
    claim.end(.complete)
  }

  @Test func aShortenedClaimReleasesWhoWaitsBeyondIt() async throws {
    let traffic = traffic()
    let claim = try lead(traffic.claim(at: 0, upTo: .max, isResumable: true))
    let waiting = Task { await traffic.wait(for: claim.followed, past: 200) }
    claim.shorten(to: 150)
    guard case .ended(.complete) = await waiting.value else {
      Issue.record("there is nothing at byte 200")
      return
    }
  }
}
