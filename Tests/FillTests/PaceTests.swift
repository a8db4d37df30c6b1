import Testing

@testable import Fill

/// How many connections an object is worth, by what arrives when.
@Suite struct PaceTests {
  /// A pace and the time, moved on by arrivals every 50 ms.
  private struct Run {
    var pace: Pace
    var now = 0.0

    init(most: Int = 8) { pace = Pace(most: most) }

    /// So many bytes per second for so long; the first step that is not to stay.
    mutating func arrivals(_ rate: Double, seconds: Double, isSteady: Bool = true) -> Pace.Step {
      let end = now + seconds
      while now < end {
        now += 0.05
        let step = pace.received(UInt64(rate * 0.05), at: now, isSteady: isSteady)
        if step != .stay { return step }
      }
      return .stay
    }
  }

  private let slow = 2e6

  @Test func aFastOriginKeepsItsOneConnection() {
    var run = Run()
    #expect(run.arrivals(500e6, seconds: 10) == .stay)
    #expect(run.pace.connections == 1)
  }

  @Test func aSlowOneIsGivenMoreStepByStepWhileTheTotalGrows() {
    var run = Run()
    #expect(run.arrivals(slow, seconds: 1) == .grow(to: 2))
    #expect(run.now < 0.6, "before a user has begun to wait")
    for count in [2, 4] {
      run.pace.grew(to: count)
      #expect(run.arrivals(slow * Double(count), seconds: 1) == .grow(to: count * 2))
    }
    run.pace.grew(to: 8)
    #expect(run.now < 1.4)
    #expect(run.arrivals(slow * 8, seconds: 10) == .stay)
    #expect(run.pace.connections == 8)
  }

  @Test func thereAreNeverMoreThanTheMost() {
    var run = Run(most: 3)
    #expect(run.arrivals(slow, seconds: 1) == .grow(to: 2))
    run.pace.grew(to: 2)
    #expect(run.arrivals(slow * 2, seconds: 1) == .grow(to: 3))
    run.pace.grew(to: 3)
    #expect(run.arrivals(slow * 3, seconds: 10) == .stay)
  }

  @Test func aStepThatDoesNotPayIsTakenBackAndWasTheLast() {
    var run = Run()
    #expect(run.arrivals(slow, seconds: 1) == .grow(to: 2))
    run.pace.grew(to: 2)
    #expect(run.arrivals(slow * 1.1, seconds: 3) == .shrink(to: 1))
    #expect(run.pace.connections == 1)
    #expect(run.arrivals(slow, seconds: 10) == .stay)
  }

  @Test func oneBadIntervalDoesNotTakeAStepBack() {
    var run = Run()
    _ = run.arrivals(slow, seconds: 1)
    run.pace.grew(to: 2)
    #expect(run.arrivals(slow, seconds: 0.25) == .stay)
    #expect(run.arrivals(slow * 2.2, seconds: 1) == .grow(to: 4))
  }

  /// An origin that sends a burst first seems quick until the burst is over.
  @Test func whatWasMeasuredInABurstIsNoMeasure() {
    var run = Run()
    #expect(run.arrivals(slow * 5, seconds: 3) == .grow(to: 2))
    run.pace.grew(to: 2)
    #expect(run.arrivals(slow * 2, seconds: 3) == .grow(to: 4))
    run.pace.grew(to: 4)
    #expect(run.arrivals(slow * 4, seconds: 3) == .grow(to: 8))
  }

  @Test func whatBecomesSlowerAndStaysSoGoesBackToOne() {
    var run = Run()
    _ = run.arrivals(slow, seconds: 3)
    run.pace.grew(to: 2)
    #expect(run.arrivals(slow / 2, seconds: 3) == .grow(to: 4), "that may have been a burst")
    run.pace.grew(to: 4)
    #expect(run.arrivals(slow / 3, seconds: 3) == .shrink(to: 1))
  }

  @Test func whatIsNotDoneIsProposedAgain() {
    var run = Run()
    #expect(run.arrivals(slow, seconds: 1) == .grow(to: 2))
    #expect(run.arrivals(slow, seconds: 1) == .grow(to: 2))
  }

  /// A body that stands still and then comes quickly is not slow: one interval is no proof.
  @Test func aPauseBeforeAFastBodyIsNoReason() {
    var run = Run()
    #expect(run.arrivals(100e6, seconds: 0.1) == .stay)
    run.now += 2
    #expect(run.arrivals(500e6, seconds: 5) == .stay)
  }

  @Test func timeSpentWaitingForReadersIsNoReason() {
    var run = Run()
    for _ in 0..<20 {
      #expect(run.arrivals(slow, seconds: 0.3) == .stay)
      run.pace.interrupt()
      run.now += 1
    }
  }

  @Test func nothingIsJudgedBeforeTheNewOnesHaveAnswered() {
    var run = Run()
    _ = run.arrivals(slow, seconds: 1)
    run.pace.grew(to: 2)
    #expect(run.arrivals(slow, seconds: 5, isSteady: false) == .stay)
    #expect(run.arrivals(slow * 2, seconds: 1) == .grow(to: 4))
  }

  @Test func settledItStaysSo() {
    var run = Run()
    _ = run.arrivals(slow, seconds: 1)
    run.pace.grew(to: 2)
    run.pace.settle(at: 1)
    #expect(run.pace.connections == 1)
    #expect(run.arrivals(slow, seconds: 5) == .stay)
  }
}

/// Rates between arrivals, and the floor below which a body is cut.
@Suite struct ThroughputTests {
  @Test func burstsAreMeasuredOverTheirPauses() {
    var throughput = Throughput(interval: 0.2)
    #expect(throughput.received(1_000_000, at: 0) == nil)
    #expect(throughput.received(1_000_000, at: 0.01) == nil)
    #expect(throughput.received(2_000_000, at: 1) == 2_000_000)
    #expect(throughput.received(500_000, at: 1.5) == 4_000_000)
    #expect(throughput.average == 3_000_000)
  }

  @Test func anInterruptionIsNoTimeAtAll() {
    var throughput = Throughput(interval: 0.2)
    _ = throughput.received(1000, at: 0)
    throughput.interrupt()
    #expect(throughput.received(1000, at: 100) == nil)
    #expect(throughput.received(1000, at: 101) == 1000)
  }

  @Test func aBodyBelowTheFloorForAWholePeriodIsTooSlow() {
    var floor = MinimumRate(least: 100, period: 10, at: 0)
    floor.received(999)
    #expect(floor.isBroken(at: 9.9) == false)
    #expect(floor.timeLeft(at: 4) == 6)
    #expect(floor.isBroken(at: 10) == true)
  }

  @Test func eachPeriodCountsForItself() {
    var floor = MinimumRate(least: 100, period: 10, at: 0)
    floor.received(1_000_000)
    #expect(floor.isBroken(at: 10) == false)
    floor.received(10)
    #expect(floor.isBroken(at: 19) == false)
    #expect(floor.isBroken(at: 20) == true, "what came before does not help")
  }

  @Test func pausesDoNotCountAndNoFloorIsNeverBroken() {
    var floor = MinimumRate(least: 100, period: 10, at: 0)
    floor.restart(at: 500)
    #expect(floor.isBroken(at: 509) == false)
    #expect(floor.isBroken(at: 510) == true)
    var none = MinimumRate(least: 0, period: 10, at: 0)
    #expect(none.isBroken(at: 1e9) == false)
    #expect(none.timeLeft(at: 5) == .infinity)
  }
}
