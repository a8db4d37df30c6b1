import Spans
import Testing

@testable import Fill

/// Several fills of one object share what is missing, and nothing is claimed twice.
@Suite struct ClaimSharingTests {
  private let grain = Splitting.grain

  private func traffic(missing: UInt64 = 1_000, share: Double = 0, readAhead: UInt64 = 100) -> Traffic {
    Traffic(limits: FillLimits(readAhead: readAhead, finishIfMissing: 50, finishIfDone: 0.8)) { _, _ in (missing, share)
    }
  }

  private func lead(
    _ traffic: Traffic, at position: UInt64, upTo upper: UInt64, isResumable: Bool = true
  ) throws -> Claim {
    guard case .lead(let claim) = traffic.claim(at: position, upTo: upper, isResumable: isResumable) else {
      throw NotALead()
    }
    return claim
  }

  private struct NotALead: Error {}

  @Test func piecesAreClaimedFromTheFrontAroundWhatOthersHave() throws {
    let traffic = traffic()
    let other = try lead(traffic, at: 10, upTo: 20)
    let gaps = [ByteSpan(0, 15), ByteSpan(18, 40)]
    let take = { traffic.claimFirst(of: gaps, limit: nil) { $0.prefix(8) } }
    let taken = [take(), take(), take()]
    #expect(taken.map { $0?.span } == [ByteSpan(0, 8), ByteSpan(8, 10), ByteSpan(20, 28)])
    withExtendedLifetime(other) {}
  }

  @Test func thereAreNoMoreClaimsThanAllowed() throws {
    let traffic = traffic()
    let first = try lead(traffic, at: 0, upTo: 10)
    let second = traffic.claimFirst(of: [ByteSpan(0, 100)], limit: 2) { $0.prefix(5) }
    #expect(second?.span == ByteSpan(10, 15))
    #expect(traffic.claimFirst(of: [ByteSpan(0, 100)], limit: 2) { $0.prefix(5) } == nil)
    withExtendedLifetime(first) {}
  }

  @Test func theSlowestClaimIsHalvedAndWhoWaitsBehindTheCutLooksAgain() async throws {
    let traffic = traffic()
    let slow = try lead(traffic, at: 0, upTo: 16 * grain)
    let quick = try lead(traffic, at: 16 * grain, upTo: 32 * grain)
    #expect(traffic.claimHalf(longerThan: 1) == nil, "no rate is known")
    slow.note(rate: Double(grain))
    quick.note(rate: Double(grain) * 100)
    let waiting = Task { await traffic.wait(for: slow.followed, past: 15 * grain) }
    while !traffic.isAwaited { await Task.yield() }
    let half = try #require(traffic.claimHalf(longerThan: 1))
    #expect(half.span.upper == 16 * grain && slow.upper == half.span.lower)
    #expect(half.span.lower % grain == 0 && half.span.count >= 7 * grain)
    guard case .ended(.complete) = await waiting.value else {
      Issue.record("byte 15 is another claim's now")
      return
    }
    #expect(traffic.claimHalf(longerThan: 100) == nil, "what is done soon is left alone")
    withExtendedLifetime(quick) {}
  }

  @Test func aClaimIsExtendedUpToTheNextOne() throws {
    let traffic = traffic()
    let claim = try lead(traffic, at: 0, upTo: 10)
    let next = try lead(traffic, at: 30, upTo: 40)
    claim.extend(to: 20)
    #expect(claim.upper == 20)
    claim.extend(to: 100)
    #expect(claim.upper == 30)
    claim.extend(to: 5)
    #expect(claim.upper == 30, "it is never shortened that way")
    next.end(.complete)
    claim.extend(to: 100)
    #expect(claim.upper == 100)
  }

  @Test func fillsRunNoFurtherThanTheReadAheadOfEachReader() {
    let traffic = traffic()
    #expect(traffic.wanted(from: 0, upTo: 1_000).isEmpty, "nobody reads, and much is missing")
    let first = traffic.enter(ByteSpan(50, 1_000))
    let second = traffic.enter(ByteSpan(500, 550))
    #expect(traffic.wanted(from: 0, upTo: 1_000) == [ByteSpan(50, 150), ByteSpan(500, 550)])
    #expect(traffic.wanted(from: 100, upTo: 1_000) == [ByteSpan(100, 150), ByteSpan(500, 550)])
    first.advance(to: 200)
    #expect(traffic.wanted(from: 0, upTo: 1_000) == [ByteSpan(200, 300), ByteSpan(500, 550)])
    withExtendedLifetime((first, second)) {}
  }

  @Test(arguments: [(UInt64(50), 0.1, true), (51, 0.1, false), (51, 0.8, true), (0, 1, false)])
  func withoutReadersTheRestIsBroughtIfItIsWorthItsEnd(missing: UInt64, share: Double, isWanted: Bool) {
    let traffic = traffic(missing: missing, share: share)
    #expect(traffic.wanted(from: 10, upTo: 90) == (isWanted ? [ByteSpan(10, 90)] : []))
  }

  @Test func aReaderAsksForItselfWhereAFillWillNotBeThereSoon() throws {
    let traffic = traffic()
    let reader = traffic.enter(ByteSpan(0, 1_000))
    let claim = try lead(traffic, at: 0, upTo: 1_000)
    #expect(!traffic.isFar(claim.followed, from: 900, patience: 0.5), "its pace is not known, and its reader comes by")
    claim.note(rate: 100)
    #expect(traffic.isFar(claim.followed, from: 60, patience: 0.5))
    #expect(!traffic.isFar(claim.followed, from: 50, patience: 0.5))
    claim.note(rate: 10_000)
    #expect(!traffic.isFar(claim.followed, from: 900, patience: 0.5))
    withExtendedLifetime(reader) {}
  }

  @Test func nobodyFollowsAFillThroughWhatNobodyWants() throws {
    let traffic = traffic()
    let seeker = traffic.enter(ByteSpan(500, 1_000))
    let claim = try lead(traffic, at: 0, upTo: 1_000)
    #expect(traffic.isFar(claim.followed, from: 500, patience: 0.5), "beyond the read-ahead")
    #expect(!traffic.isFar(claim.followed, from: 100, patience: 0.5), "within it")
    claim.note(rate: 100)
    #expect(traffic.isFar(claim.followed, from: 13, patience: 0.5), "a quarter of the patience is enough")
    #expect(!traffic.isFar(claim.followed, from: 12, patience: 0.5))
    withExtendedLifetime(seeker) {}
  }

  @Test func aFillThatCannotBeResumedIsAlwaysFollowed() throws {
    let traffic = traffic()
    let claim = try lead(traffic, at: 0, upTo: 1_000, isResumable: false)
    claim.note(rate: 1)
    #expect(!traffic.isFar(claim.followed, from: 900, patience: 0.5))
  }

  @Test func takingOverReleasesWhoWaitedBehindTheCut() async throws {
    let traffic = traffic()
    let whole = try lead(traffic, at: 0, upTo: 1_000)
    let waiting = Task { await traffic.wait(for: whole.followed, past: 800) }
    while !traffic.isAwaited { await Task.yield() }
    let seek = traffic.claim(at: 700, upTo: 900, isResumable: true, takingOver: true)
    guard case .ended(.complete) = await waiting.value else {
      Issue.record("byte 800 is the new claim's")
      return
    }
    withExtendedLifetime(seek) {}
  }
}
