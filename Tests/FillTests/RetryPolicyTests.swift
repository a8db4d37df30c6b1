import Testing

@testable import Fill

/// Backoff by table: a pure value, its randomness passed in.
@Suite struct RetryPolicyTests {
  @Test func theFirstAttemptGoesOutAtOnceAndTheOthersDouble() {
    var policy = RetryPolicy(attempts: 5, backoff: 1, longest: 3)
    #expect(policy.failed(jitter: 1) == .again(after: 0))
    #expect(policy.failed(jitter: 1) == .again(after: 1))
    #expect(policy.failed(jitter: 1) == .again(after: 2))
    #expect(policy.failed(jitter: 1) == .again(after: 3), "no delay is longer than the longest")
    #expect(policy.failed(jitter: 1) == .again(after: 3))
    #expect(policy.failed(jitter: 1) == .giveUp)
  }

  @Test func jitterHalvesADelayAtMost() {
    var policy = RetryPolicy(attempts: 5, backoff: 8, longest: 100)
    _ = policy.failed(jitter: 0)
    #expect(policy.failed(jitter: 0) == .again(after: 4))
    #expect(policy.failed(jitter: 0.5) == .again(after: 12))
  }

  @Test func progressBeginsTheCountAnew() {
    var policy = RetryPolicy(attempts: 1, backoff: 1, longest: 1)
    for _ in 0..<10 {
      #expect(policy.failed(jitter: 1) == .again(after: 0))
      policy.progressed()
    }
    #expect(policy.failed(jitter: 1) == .again(after: 0))
    #expect(policy.failed(jitter: 1) == .giveUp)
  }

  /// RFC 9110 §10.2.3.
  @Test func retryAfterIsObeyedWhereWaitingIsOfUse() {
    var policy = RetryPolicy(attempts: 5, backoff: 1, longest: 30)
    #expect(policy.failed(retryAfter: 7, jitter: 0) == .again(after: 7))
    #expect(policy.failed(retryAfter: 31, jitter: 0) == .giveUp)
  }
}
